/* How M by sampling stops: what fails on the way, cancellations, memory. */
#include "dynamics/symmetry_call.h"
#include "support/failing_alloc.h"

/* Fails in its call number `left`, counted down. */
struct failing {
    int left, how;
};

static int failing_features(size_t n, const double *x, double *psi, void *user)
{
    struct failing *f = user;
    own(n, x, psi, NULL);
    if (f->left-- != 0)
        return 0;
    if (f->how == 1)
        psi[1] = INFINITY;
    else if (f->how == 2)
        psi[FEATURES * n - 1] = NAN;
    return f->how == 0 ? 23 : 0;
}

static void features_that_fail(void **state)
{
    (void)state;
    struct call c;
    struct failing f;
    call_make(&c);
    mark(&c);
    c.s.max_threads = 1;
    c.contrast = moeg_contrast_user(FEATURES, failing_features, &f);
    /* Groups of 31 rows: 65 calls for third moments, and as many for M. */
    for (int call = 0; call < 130; call += 64) {
        f = (struct failing){call, 0};
        assert_status(run(&c), MOEG_ECALLBACK, "the features returned 23 at samples");
        f = (struct failing){call, 1};
        assert_status(run(&c), MOEG_ERANGE, "feature 1 at sample");
        f = (struct failing){call, 2};
        assert_status(run(&c), MOEG_ERANGE, "must be finite, got nan");
    }
    assert_marked(&c);
    f = (struct failing){130, 0};
    assert_ok(run(&c));
    assert_int_equal(f.left, 0);
    call_free(&c);
}

static int failing_law(size_t n, const double *z, double *x, void *user)
{
    struct failing *f = user;
    memcpy(x, z, n * D * sizeof *x);
    return f->left-- == 0 ? 7 : 0;
}

static void laws_that_fail(void **state)
{
    (void)state;
    struct call c;
    struct failing f;
    call_make(&c);
    mark(&c);
    moeg_law_free(c.law);
    c.s.max_threads = 1;
    assert_ok(moeg_law_callback_create(&c.law, D, D, MOEG_LATENT_NORMAL, failing_law, &f));
    /* One call for the origin, and then 65 groups, whose rows are kept. */
    for (int call = 0; call < 66; call += 13) {
        f = (struct failing){call, 0};
        assert_status(run(&c), MOEG_ECALLBACK, "7");
    }
    assert_marked(&c);
    f = (struct failing){66, 0};
    assert_ok(run(&c));
    assert_int_equal(f.left, 0);
    call_free(&c);
}

/* Teachers whose outputs overflow, and M that does. */
static void overflows_are_reported(void **state)
{
    (void)state;
    struct call c;
    const double steep[OUTPUTS * D] = {1e308, 1e308, 1e308, 1, 1, 1},
                                 covariance[D * D] = {1e250, 0, 0, 0, 1, 0, 0, 0, 1};
    const moeg_halves large = {.d = D, .outputs = OUTPUTS, .v = v, .beta = steep};
    call_make(&c);
    mark(&c);
    moeg_teacher_free(c.teacher);
    assert_ok(moeg_halves_teacher_create(&large, &c.teacher));
    assert_status(run(&c), MOEG_ERANGE, "output of the teacher, number 0 at sample");
    moeg_teacher_free(c.teacher);
    assert_ok(moeg_halves_teacher_create(&halves, &c.teacher));
    moeg_law_free(c.law);
    assert_ok(moeg_law_gaussian_create(&c.law, D, NULL, covariance));
    c.symmetric = MOEG_SYMMETRIC_ZERO;
    assert_status(run(&c), MOEG_ERANGE, "x r psi' overflows in samples 0 .. 30");
    moeg_law_free(c.law);
    const double wider[D * D] = {1e307, 0, 0, 0, 1, 0, 0, 0, 1};
    assert_ok(moeg_law_gaussian_create(&c.law, D, NULL, wider));
    c.symmetric = MOEG_SYMMETRIC_AFFINE;
    assert_status(run(&c), MOEG_ERANGE, "the second moments of x and Y overflow");
    assert_marked(&c);
    call_free(&c);
}

/* Cancels in its call number `left`. */
static int stop(uint64_t done, uint64_t total, void *user)
{
    int *left = user;
    assert_true(done <= total);
    return (*left)-- == 0;
}

static void cancellations(void **state)
{
    (void)state;
    struct call c;
    int left = -1;
    moeg_law *gaussian;
    call_make(&c);
    gaussian = c.law;
    c.s.max_threads = 1;
    c.s.progress = stop;
    c.s.progress_user = &left;
    for (int mixture = 0; mixture < 2; mixture++) {
        moeg_teacher *unused;
        if (mixture) {
            oracle_make(&oracle_mixture, &unused, &c.law);
            moeg_teacher_free(unused);
        }
        left = 1 << 20;
        assert_ok(run(&c));
        const int calls = (1 << 20) - left;
        assert_in_range(calls, 2, 1000);
        /* The first call of all, and the last but one. */
        left = 0;
        assert_status(run(&c), MOEG_ECANCELED, "canceled");
        for (size_t i = 0; i < D * OUTPUTS * D; i++)
            assert_true(isnan(c.M[i].value) && isinf(c.M[i].std_error) && c.M[i].n == 0);
        left = calls - 2;
        assert_status(run(&c), MOEG_ECANCELED, "canceled");
        assert_true(isfinite(c.M[0].value) && c.M[0].n > 1000 && c.M[0].n < 2000);
    }
    moeg_law_free(c.law);
    c.law = gaussian;
    call_free(&c);
}

static moeg_status allocate(void *user)
{
    struct call *c = user;
    mark(c);
    const moeg_status status = run(c);
    if (status != MOEG_OK)
        assert_marked(c);
    return status;
}

static void allocations_that_fail(void **state)
{
    (void)state;
    static struct data data;
    struct call c;
    call_make(&c);
    assert_true(fail_every_allocation(allocate, &c) >= 10);
    c.contrast = make_contrast(MOEG_CONTRAST_USER);
    assert_true(fail_every_allocation(allocate, &c) >= 12);
    data_make(&data, 1);
    moeg_law *gaussian = c.law;
    moeg_teacher *teacher = c.teacher;
    c.law = data.law;
    c.teacher = data.teacher;
    assert_true(fail_every_allocation(allocate, &c) >= 12);
    c.law = gaussian;
    c.teacher = teacher;
    data_free(&data);
    call_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_that_fail),     cmocka_unit_test(laws_that_fail),
        cmocka_unit_test(overflows_are_reported), cmocka_unit_test(cancellations),
        cmocka_unit_test(allocations_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
