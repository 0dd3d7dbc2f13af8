/* What M by sampling refuses, and what it cannot decide. */
#include "dynamics/symmetry_call.h"

static void arguments_are_checked(void **state)
{
    (void)state;
    struct call c;
    call_make(&c);
    mark(&c);
    const moeg_contrast *contrast = &c.contrast;
    assert_status(moeg_symmetry_sample(NULL, c.law, c.symmetric, contrast, &c.s, c.M), MOEG_EINVAL, "teacher must not");
    assert_status(moeg_symmetry_sample(c.teacher, NULL, c.symmetric, contrast, &c.s, c.M), MOEG_EINVAL, "law must not");
    assert_status(moeg_symmetry_sample(c.teacher, c.law, c.symmetric, NULL, &c.s, c.M), MOEG_EINVAL, "contrast must");
    assert_status(moeg_symmetry_sample(c.teacher, c.law, c.symmetric, contrast, NULL, c.M), MOEG_EINVAL, "NULL");
    assert_status(moeg_symmetry_sample(c.teacher, c.law, c.symmetric, contrast, &c.s, NULL), MOEG_EINVAL, "M must not");
    assert_status(moeg_symmetry_sample(c.teacher, c.law, (moeg_symmetric)4, contrast, &c.s, c.M), MOEG_EINVAL, "got 4");
    c.contrast.kind = (moeg_contrast_kind)9;
    assert_status(run(&c), MOEG_EINVAL, "got 9");
    c.contrast = moeg_contrast_user(SIZE_MAX / 4, own, NULL);
    assert_status(run(&c), MOEG_ENOMEM, "memory");
    c.contrast = moeg_contrast_linear();
    c.s.n = 0;
    assert_status(run(&c), MOEG_EINVAL, "n must be");
    c.s.n = 2000;
    c.s.method = MOEG_METHOD_LINE;
    assert_status(run(&c), MOEG_EUNSUPPORTED, "got line");
    c.s.method = MOEG_METHOD_MC;
    assert_marked(&c);
    assert_ok(run(&c));
    call_free(&c);
}

static void teachers_and_laws_fit(void **state)
{
    (void)state;
    static struct data data;
    struct call c;
    moeg_law *wide, *gaussian;
    call_make(&c);
    mark(&c);
    data_make(&data, 0);
    assert_ok(moeg_law_gaussian_create(&wide, D + 1, NULL, NULL));
    assert_status(moeg_symmetry_sample(c.teacher, wide, c.symmetric, &c.contrast, &c.s, c.M), MOEG_EINVAL,
                  "the teacher takes dimension 3, the law has 4");
    gaussian = c.law;
    assert_status(moeg_symmetry_sample(data.teacher, gaussian, c.symmetric, &c.contrast, &c.s, c.M), MOEG_EINVAL,
                  "a data teacher of 1500 rows needs an empirical law of as many, got one of 0");
    assert_marked(&c);
    moeg_law_free(wide);
    data_free(&data);
    call_free(&c);
}

/* x_3 = 2 x_1 - x_2 + 1, to rounding. */
static int confine(size_t n, const double *z, double *x, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        x[D * i] = z[2 * i];
        x[D * i + 1] = 0.1 * z[2 * i + 1];
        x[D * i + 2] = 2 * x[D * i] - x[D * i + 1] + 1;
    }
    return 0;
}

static void best_experts_are_unique(void **state)
{
    (void)state;
    struct call c;
    moeg_law *confined, *few;
    const double x[2 * D] = {1, 2, 3, 4, 5, 7}, still[3 * D] = {1, 5, 2, 1, 2, 8, 1, 7, 7};
    call_make(&c);
    mark(&c);
    moeg_law *gaussian = c.law;
    assert_ok(moeg_law_callback_create(&confined, D, 2, MOEG_LATENT_NORMAL, confine, NULL));
    c.law = confined;
    assert_status(run(&c), MOEG_EDOM, "x[2] is an affine function of the coordinates before it");
    c.symmetric = MOEG_SYMMETRIC_LINEAR; /* x_1, x_2 and 1 vary three ways. */
    assert_marked(&c);
    assert_ok(run(&c));
    mark(&c);
    c.symmetric = MOEG_SYMMETRIC_AFFINE;
    assert_ok(moeg_law_empirical_create(&few, 2, D, x, NULL));
    c.law = few;
    assert_status(run(&c), MOEG_EDOM, "it has 4 coefficients, and there are 2 rows");
    moeg_law_free(few);
    assert_ok(moeg_law_empirical_create(&few, 3, D, still, NULL));
    c.law = few;
    assert_status(run(&c), MOEG_EDOM, "4 coefficients, and there are 3 rows");
    moeg_law_free(few);
    const double enough[5 * D] = {1, 5, 2, 1, 2, 8, 1, 7, 7, 1, 0, 3, 1, -2, 4};
    assert_ok(moeg_law_empirical_create(&few, 5, D, enough, NULL));
    c.law = few;
    assert_status(run(&c), MOEG_EDOM, "x[0] is an affine function");
    assert_marked(&c);
    moeg_law_free(few);
    moeg_law_free(confined);
    c.law = gaussian;
    call_free(&c);
}

/* Values are written, with infinite error bars, from one row too few. */
static void few_rows_have_no_error_bars(void **state)
{
    (void)state;
    struct call c;
    call_make(&c);
    for (int kind = 1; kind < 4; kind += 2)
        for (size_t n = 33; n < 36; n++) {
            c.s.n = n;
            c.contrast = make_contrast(kind);
            const size_t q = D * OUTPUTS * moeg_contrast_features(&c.contrast, D);
            if (n >= 34)
                assert_ok(run(&c));
            else
                assert_status(run(&c), MOEG_EUNABLE, "worth 29 beyond the 4 coefficients");
            for (size_t i = 0; i < q; i++) {
                const moeg_estimate *e = &c.M[i];
                assert_true(isfinite(e->value) && e->n == n && e->contributing == n && e->level == 0.95);
                assert_true(n >= 34 ? e->std_error > 0 && e->lo < e->value && e->value < e->hi
                                    : isinf(e->std_error) && e->lo == -INFINITY && e->hi == INFINITY);
            }
        }
    c.s.n = 5;
    assert_status(run(&c), MOEG_EUNABLE, "worth 1 beyond");
    c.s.n = 4;
    assert_status(run(&c), MOEG_EUNABLE, "worth 0 beyond"); /* As many coefficients as rows: r = 0. */
    for (size_t i = 0; i < 2; i++)
        assert_near(c.M[i].value, 0, 1e-9);
    call_free(&c);
}

/* Of 2000 rows a few dozen have all the weight but for a millionth. */
static void weights_are_worth_few_rows(void **state)
{
    (void)state;
    enum { N = 2000 };
    static double x[N * D], w[N];
    struct call c;
    call_make(&c);
    moeg_law_free(c.law);
    assert_ok(moeg_stream_normals((moeg_stream){8, 70}, 0, N, D, x));
    for (int heavy = 30; heavy < 50; heavy += 19) {
        for (size_t i = 0; i < N; i++)
            w[i] = i < (size_t)heavy ? 1 : 1e-9;
        assert_ok(moeg_law_empirical_create(&c.law, N, D, x, w));
        assert_status(run(&c), MOEG_EUNABLE, heavy == 30 ? "worth 26 beyond" : "worth 45 beyond");
        assert_true(isfinite(c.M[0].value) && isinf(c.M[0].std_error) && c.M[0].n == N);
        moeg_law_free(c.law);
    }
    for (size_t i = 0; i < N; i++)
        w[i] = i % 2 == 0 ? 1 : 1e-9;
    assert_ok(moeg_law_empirical_create(&c.law, N, D, x, w));
    assert_ok(run(&c));
    call_free(&c);
}

static void tolerances_are_judged(void **state)
{
    (void)state;
    struct call c;
    call_make(&c);
    c.s.abs_tol = 1e-3;
    assert_status(run(&c), MOEG_EUNABLE, "the tolerance is not reached with n = 2000");
    assert_true(c.M[0].n == 2000 && isfinite(c.M[0].std_error));
    c.s.abs_tol = 10;
    assert_ok(run(&c));
    call_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_checked),      cmocka_unit_test(teachers_and_laws_fit),
        cmocka_unit_test(best_experts_are_unique),    cmocka_unit_test(few_rows_have_no_error_bars),
        cmocka_unit_test(weights_are_worth_few_rows), cmocka_unit_test(tolerances_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
