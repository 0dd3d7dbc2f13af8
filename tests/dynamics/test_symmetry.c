/* Contrasts, and teachers in halves against their formula. */
#include "support/check.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { d = 3, m = 2, n = 64 };

static const double v[d] = {0.75, -1.25, 0.4}, beta[m * d] = {0.7, -1.3, 0.2, 0.1, 0.45, -2.1}, mu[m] = {0.35, -0.8};

static const moeg_halves halves = {.d = d, .outputs = m, .v = v, .beta = beta, .mu = mu};

static int two_features(size_t rows, const double *x, double *psi, void *user)
{
    (void)user;
    for (size_t i = 0; i < rows; i++) {
        psi[2 * i] = x[i * d] * x[i * d + 1];
        psi[2 * i + 1] = x[i * d + 2];
    }
    return 0;
}

static void contrasts(void **state)
{
    (void)state;
    const moeg_contrast constant = moeg_contrast_constant(), linear = moeg_contrast_linear();
    const moeg_contrast affine = moeg_contrast_affine(), none = {.kind = (moeg_contrast_kind)4};
    int something;
    const moeg_contrast own = moeg_contrast_user(2, two_features, &something);
    assert_int_equal(moeg_contrast_features(&constant, 7), 1);
    assert_int_equal(moeg_contrast_features(&linear, 7), 7);
    assert_int_equal(moeg_contrast_features(&affine, 7), 8);
    assert_int_equal(moeg_contrast_features(&own, 7), 2);
    assert_int_equal(moeg_contrast_features(&none, 7), 0);
    assert_int_equal(moeg_contrast_features(NULL, 7), 0);
    assert_int_equal(own.kind, MOEG_CONTRAST_USER);
    assert_true(own.function == two_features);
    assert_ptr_equal(own.user, &something);
}

static double scalar(const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += a[j] * b[j];
    return sum;
}

/* Soft, hard, and without mu: t(v.x) (beta.x + mu). */
static void is_what_its_formula_says(void **state)
{
    (void)state;
    const double taus[] = {0, 1e-3, 0.7, 1e3};
    double x[n * d], y[n * m];
    assert_ok(moeg_stream_normals((moeg_stream){3, 91}, 0, n, d, x));
    for (size_t t = 0; t < 4; t++)
        for (int with_mu = 0; with_mu < 2; with_mu++) {
            moeg_halves h = halves;
            moeg_teacher *teacher;
            h.tau = taus[t];
            h.mu = with_mu ? mu : NULL;
            assert_ok(moeg_halves_teacher_create(&h, &teacher));
            assert_int_equal(moeg_teacher_outputs(teacher), m);
            assert_ok(moeg_teacher_mean(teacher, 0, n, x, y));
            for (size_t i = 0; i < n; i++)
                for (size_t o = 0; o < m; o++) {
                    const double s = scalar(v, x + i * d), factor = h.tau > 0 ? tanh(s / (2 * h.tau)) : copysign(1, s);
                    /* 1 - 2 g of a softmax has the rounding of 1. */
                    assert_near(y[i * m + o], factor * (scalar(beta + o * d, x + i * d) + with_mu * mu[o]), 100 * EPS);
                }
            moeg_teacher_free(teacher);
        }
}

static void assert_refused(const moeg_halves *h, const char *text)
{
    moeg_teacher *teacher = NULL;
    assert_status(moeg_halves_teacher_create(h, &teacher), MOEG_EINVAL, text);
    assert_null(teacher);
}

static void errors(void **state)
{
    (void)state;
    const double zero[d] = {0}, bad[m * d] = {0.7, -1.3, 0.2, NAN, 0.45, -2.1};
    moeg_halves h = halves;
    assert_refused(NULL, "halves_teacher: halves must not be NULL");
    assert_status(moeg_halves_teacher_create(&h, NULL), MOEG_EINVAL, "halves_teacher: teacher must not be NULL");
    h.d = 0;
    assert_refused(&h, "halves_teacher: halves->d must be at least 1, got 0");
    h = halves, h.outputs = 0;
    assert_refused(&h, "halves_teacher: halves->outputs must be at least 1, got 0");
    h = halves, h.v = NULL;
    assert_refused(&h, "halves_teacher: halves->v must not be NULL");
    h = halves, h.v = zero;
    assert_refused(&h, "halves_teacher: halves->v must not be 0");
    h = halves, h.v = bad + 1;
    assert_refused(&h, "halves_teacher: halves->v[2] must be finite, got nan");
    h = halves, h.beta = NULL;
    assert_refused(&h, "halves_teacher: halves->beta must not be NULL");
    h = halves, h.beta = bad;
    assert_refused(&h, "halves_teacher: halves->beta[1, 0] must be finite, got nan");
    h = halves, h.d = SIZE_MAX / 2;
    assert_refused(&h, "halves_teacher: halves->v (9223372036854775807 x 1) has more values than memory can hold");
    h = halves, h.outputs = SIZE_MAX / 2;
    assert_refused(&h, "halves_teacher: halves->beta (9223372036854775807 x 3) has more values than memory can hold");
    h = halves, h.mu = bad + 2;
    assert_refused(&h, "halves_teacher: halves->mu[1] must be finite, got nan");
    const double taus[] = {-1, NAN, INFINITY, 1e-301, 1e301};
    for (size_t t = 0; t < 5; t++) {
        h = halves, h.tau = taus[t];
        assert_refused(&h, "halves_teacher: halves->tau must be 0 or in [1e-300, 1e300], got");
    }
}

static moeg_status scenario(void *user)
{
    (void)user;
    moeg_teacher *teacher = NULL;
    const moeg_status status = moeg_halves_teacher_create(&halves, &teacher);
    assert_true((status == MOEG_OK) == (teacher != NULL));
    moeg_teacher_free(teacher);
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(scenario, NULL) >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contrasts),
        cmocka_unit_test(is_what_its_formula_says),
        cmocka_unit_test(errors),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
