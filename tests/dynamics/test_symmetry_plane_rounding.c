/* Where the numbers of a plane have lost digits, in means that cancel and covariances that are nearly singular, the
 * errors of M by quadrature know. */
#include "dynamics/symmetry_cases.h"

static int hard(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)b, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = copysign(1, a[i]);
    return 0;
}

/* v.mean = 0.1 (1e5 - (1e5 + 0.7)) is rounded in its terms, which the error knows: X - mean = s v/|v|, E s sign(v.X) =
 * 2 phi(v.mean/|v|). */
static void means_that_cancel(void **state)
{
    (void)state;
    const double v[] = {0.1, -0.1, 0.1}, w[] = {0, 0, 0}, covariance[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const moeg_contrast one = moeg_contrast_constant();
    double furthest = 0;
    for (size_t k = 0; k < 20; k++) {
        const double mean[] = {1e5 + 0.37 * (double)k, 1e5 + 0.7, 0.01 * (double)k}, length = sqrt(3) * 0.1;
        const long double h = 0.1L * ((long double)mean[0] - mean[1] + mean[2]) / (sqrtl(3) * 0.1L);
        const double expected = (double)(2 * expl(-h * h / 2) / sqrtl(2 * acosl(-1)));
        moeg_law *law;
        double M[3], error[3];
        assert_ok(moeg_law_gaussian_create(&law, 3, mean, covariance));
        assert_ok(moeg_symmetry_plane(law, v, w, 1, hard, NULL, MOEG_SYMMETRIC_CONSTANT, &one, M, error));
        for (size_t i = 0; i < 3; i++) {
            assert_near(M[i], expected * v[i] / length, error[i]);
            furthest = fmax(furthest, fabs(M[i] - expected * v[i] / length));
        }
        moeg_law_free(law);
    }
    assert_true(furthest > 1e-12);
}

static int hard_b(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = copysign(1, a[i]) * b[i];
    return 0;
}

static int constant(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)a, (void)b, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = 1;
    return 0;
}

/* x_2 = x_1 but for some 1e-4, Y = sign(x_1) (x_1 - x_2), f affine: M = sqrt(2/pi) (g b' + b g' - (v'b) g g'), g = S v,
 * b = S (1, -1), v = (1, 0). */
static void planes_that_are_nearly_lines(void **state)
{
    (void)state;
    const double v[] = {1, 0}, w[] = {1, -1};
    const long double root = sqrtl(2 / acosl(-1));
    const moeg_contrast linear = moeg_contrast_linear();
    for (size_t k = 0; k < 20; k++) {
        const double r = 1 - 1.37e-8 * (double)(k + 1), S[] = {1, r, r, 1};
        const long double g[] = {1, r}, b[] = {1 - (long double)r, (long double)r - 1};
        moeg_law *law;
        double M[4], error[4];
        assert_ok(moeg_law_gaussian_create(&law, 2, NULL, S));
        assert_status(moeg_symmetry_plane(law, v, w, 1, hard_b, NULL, MOEG_SYMMETRIC_AFFINE, &linear, M, error),
                      MOEG_EUNABLE, "v.x or w.x is rounded by too much");
        for (size_t i = 0; i < 4; i++) {
            const long double terms = g[i / 2] * b[i % 2] + b[i / 2] * g[i % 2] - b[0] * g[i / 2] * g[i % 2];
            assert_near(M[i], (double)(root * terms), error[i]);
        }
        moeg_law_free(law);
    }
}

/* Y = 1, f linear, mean c (1, -1)/2, c half a deviation of x_1 - x_2, which is some 1e-4: M = (S - mean mean')/(1 +
 * mean' S^-1 mean), of which mean' S^-1 mean = 1/4 has lost nine digits. */
static void means_in_a_narrow_direction(void **state)
{
    (void)state;
    const double v[] = {1, 0}, zero[] = {0, 0};
    const moeg_contrast linear = moeg_contrast_linear();
    double furthest = 0;
    for (size_t k = 0; k < 20; k++) {
        const double r = 1 - 1.37e-8 * (double)(k + 1), S[] = {1, r, r, 1}, c = sqrt(2 * (1 - r)) / 2;
        const double mean[] = {c / 2, -c / 2};
        const long double squares = (long double)c * c / (2 * (1 - (long double)r));
        moeg_law *law;
        double M[4], error[4];
        assert_ok(moeg_law_gaussian_create(&law, 2, mean, S));
        const moeg_status status =
            moeg_symmetry_plane(law, v, zero, 1, constant, NULL, MOEG_SYMMETRIC_LINEAR, &linear, M, error);
        assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
        for (size_t i = 0; i < 4; i++) {
            const double expected = (double)((S[i] - (long double)mean[i / 2] * mean[i % 2]) / (1 + squares));
            assert_near(M[i], expected, error[i]);
            furthest = fmax(furthest, fabs(M[i] - expected));
        }
        moeg_law_free(law);
    }
    assert_true(furthest > 1e-11);
}

/* Cov(x_1, v.x) = 0 but for rounding: M_1 of psi = 1 is what is left of 0.1 + 0.3/3 - 0.2, with an error of that size.
 */
static void entries_that_cancel(void **state)
{
    (void)state;
    const double S[] = {1, 0.1, 0.3, 0.1, 1, 0.2, 0.3, 0.2, 1}, zero[] = {0, 0, 0};
    const moeg_contrast one = moeg_contrast_constant();
    double furthest = 0;
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, S));
    for (size_t k = 1; k < 20; k++) {
        const double c = 1.1 * (double)k / 7, v[] = {-0.1 - 0.3 * c, 1, c};
        long double g[3] = {0}, spread = 0;
        double M[3], error[3];
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3; j++)
                g[i] += (long double)S[3 * i + j] * v[j];
        for (size_t i = 0; i < 3; i++)
            spread += g[i] * v[i];
        assert_ok(moeg_symmetry_plane(law, v, zero, 1, hard, NULL, MOEG_SYMMETRIC_CONSTANT, &one, M, error));
        for (size_t i = 0; i < 3; i++) {
            const double expected = (double)(sqrtl(2 / acosl(-1)) * g[i] / sqrtl(spread));
            assert_near(M[i], expected, error[i]);
            assert_true(error[i] < 1e-13);
            furthest = i == 0 ? fmax(furthest, fabs(M[0] - expected)) : furthest;
        }
    }
    assert_true(furthest > 1e-18);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_that_cancel),
        cmocka_unit_test(planes_that_are_nearly_lines),
        cmocka_unit_test(means_in_a_narrow_direction),
        cmocka_unit_test(entries_that_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
