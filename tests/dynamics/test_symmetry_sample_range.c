/* M by sampling where x is far from 0, or so small that squares underflow. */
#include "support/check.h"

#include <moegeom/moegeom.h>

enum { D = 2 };

static const double v[D] = {1, -1}, beta[D] = {1, 0.5};

static int just_x(size_t n, const double *x, double *psi, void *user)
{
    (void)user;
    memcpy(psi, x, n * D * sizeof *x);
    return 0;
}

/* Under N((mean, mean), variance I). */
static moeg_status sample(double mean, double variance, const double *slopes, const moeg_contrast *contrast,
                          moeg_estimate *M)
{
    const double means[D] = {mean, mean}, covariance[D * D] = {variance, 0, 0, variance};
    const moeg_halves halves = {.d = D, .outputs = 1, .v = v, .beta = slopes};
    moeg_sampling s = moeg_sampling_default();
    moeg_teacher *teacher;
    moeg_law *law;
    s.n = 20000;
    assert_ok(moeg_halves_teacher_create(&halves, &teacher));
    assert_ok(moeg_law_gaussian_create(&law, D, means, covariance));
    const moeg_status status = moeg_symmetry_sample(teacher, law, MOEG_SYMMETRIC_AFFINE, contrast, &s, M);
    moeg_law_free(law);
    moeg_teacher_free(teacher);
    return status;
}

/* The residual of an affine fit is orthogonal to 1 and x, so that M of the features x is that of x - E[x]. A product
 * x r x is of size mean^3, to rounding; M is known to mean/sqrt(n). */
static void features_of_ones_own_far_away(void **state)
{
    (void)state;
    const moeg_contrast linear = moeg_contrast_linear(), same = moeg_contrast_user(D, just_x, NULL);
    const double slopes[D] = {1, 0};
    for (double mean = 1; mean < 2e6; mean *= 10) {
        moeg_estimate expected[D * D], M[D * D];
        double worst = 0;
        assert_ok(sample(mean, 1, slopes, &linear, expected));
        assert_ok(sample(mean, 1, slopes, &same, M));
        for (size_t i = 0; i < D * D; i++) {
            worst = fmax(worst, fabs(M[i].value - expected[i].value) / expected[i].std_error);
            assert_near(M[i].std_error / expected[i].std_error, 1, 0.05);
        }
        print_message("mean %g: off by %.2g error bars\n", mean, worst);
        assert_true(worst < 2e-14 * mean * mean + 1e-12);
    }
}

/* M scales as the cube of x; an error bar of which the square underflows is none, and not 0. */
static void squares_that_underflow(void **state)
{
    (void)state;
    const moeg_contrast linear = moeg_contrast_linear();
    moeg_estimate unit[D * D], M[D * D];
    assert_ok(sample(0, 1, beta, &linear, unit));
    assert_ok(sample(0, 0x1p-200, beta, &linear, M));
    for (size_t i = 0; i < D * D; i++) {
        assert_relative(ldexp(M[i].value, 300), unit[i].value, 1e-9);
        assert_relative(ldexp(M[i].std_error, 300), unit[i].std_error, 1e-9);
    }
    assert_status(sample(0, 1e-110, beta, &linear, M), MOEG_EUNABLE,
                  "the variance of M[3] leaves the range of doubles");
    for (size_t i = 0; i < D * D; i++) {
        assert_true(M[i].value != 0);
        assert_true(M[i].std_error == INFINITY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_of_ones_own_far_away),
        cmocka_unit_test(squares_that_underflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
