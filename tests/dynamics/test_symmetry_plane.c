/* M by quadrature over a plane: the reference cases, brute force at any mean, closed forms of curved functions, and
 * whether the error is one. */
#include "dynamics/symmetry_brute.h"
#include "dynamics/symmetry_cases.h"
#include "support/failing_alloc.h"

#include <stdlib.h>

/* Y = t(a) (b + mu) of one output of teachers in halves, b = beta.x. */
struct half {
    double tau, mu;
};

static int half_of(size_t n, const double *a, const double *b, double *y, void *user)
{
    const struct half *h = user;
    for (size_t i = 0; i < n; i++)
        y[i] = (h->tau > 0 ? tanh(a[i] / (2 * h->tau)) : copysign(1, a[i])) * (b[i] + h->mu);
    return 0;
}

/* One output after another, each in its own plane: the block of output o of M (d x m p), and of the errors. */
static void by_planes(const moeg_halves *halves, const moeg_law *law, moeg_symmetric symmetric,
                      const moeg_contrast *contrast, double *M, double *error)
{
    const size_t d = halves->d, p = moeg_contrast_features(contrast, d), q = halves->outputs * p;
    for (size_t o = 0; o < halves->outputs; o++) {
        struct half h = {halves->tau, halves->mu != NULL ? halves->mu[o] : 0};
        double block[CASE_DIM * 5], errors[CASE_DIM * 5];
        assert_ok(moeg_symmetry_plane(law, halves->v, halves->beta + o * d, 1, half_of, &h, symmetric, contrast, block,
                                      errors));
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < p; j++) {
                M[i * q + o * p + j] = block[i * p + j];
                error[i * q + o * p + j] = errors[i * p + j];
            }
    }
}

static void equals_the_reference(void **state)
{
    (void)state;
    struct symmetry_case *cases = symmetry_cases();
    double worst = 0, widest = 0, share = 0;
    for (size_t k = 0; k < CASES; k++) {
        const struct symmetry_case *c = &cases[k];
        const moeg_halves halves = symmetry_halves(c);
        moeg_law *law = symmetry_law(c);
        double M[CASE_DIM * CASE_COLUMNS], error[CASE_DIM * CASE_COLUMNS];
        by_planes(&halves, law, c->symmetric, &c->contrast, M, error);
        const double scale = fmax(largest_entry(c->d * c->q, c->M), 0.1);
        for (size_t i = 0; i < c->d * c->q; i++) {
            assert_near(M[i], c->M[i], 1e-13 * scale);
            assert_near(M[i], c->M[i], error[i]);
            worst = fmax(worst, fabs(M[i] - c->M[i]) / scale);
            widest = fmax(widest, error[i] / scale);
            share = error[i] > 0 ? fmax(share, fabs(M[i] - c->M[i]) / error[i]) : share;
        }
        moeg_law_free(law);
    }
    print_message("worst: %.2g of the largest entry; errors up to %.2g; worst of its own error %.2g\n", worst, widest,
                  share);
    assert_true(widest < 1e-12);
    free(cases);
}

/* Means away from 0, up to where v.x = 0 is out of reach, singular covariances, every class and contrast. */
static void equals_brute_force(void **state)
{
    (void)state;
    const double taus[] = {0, 0.013, 0.7}, means[] = {0, 1, 8, 40};
    const moeg_contrast contrasts[] = {moeg_contrast_constant(), moeg_contrast_linear(), moeg_contrast_affine()};
    uint64_t seed = 20261202;
    double share = 0, widest = 0;
    size_t compared = 0;
    for (size_t k = 0; k < 96; k++) {
        struct random_problem r;
        double M[CASE_DIM * CASE_COLUMNS], error[CASE_DIM * CASE_COLUMNS], brute[CASE_DIM * CASE_COLUMNS];
        const moeg_symmetric symmetric = (moeg_symmetric)(k / 4 % 4);
        const moeg_contrast *contrast = &contrasts[k % 3];
        const int singular = k % 5 == 4 && symmetric != MOEG_SYMMETRIC_LINEAR;
        make_random_problem(&r, 1 + k % 4, taus[k / 16 % 3], means[k / 24], singular, &seed);
        const moeg_halves halves = random_halves(&r);
        by_planes(&halves, r.law, symmetric, contrast, M, error);
        brute_operator(&r, symmetric, contrast, brute);
        const double scale = random_scale(&r), slack = 1e-15 * scale; /* of brute force */
        for (size_t i = 0; i < r.d * r.m * moeg_contrast_features(contrast, r.d); i++, compared++) {
            assert_near(M[i], brute[i], 1e-12 * scale);
            assert_near(M[i], brute[i], error[i] + slack);
            share = fmax(share, fabs(M[i] - brute[i]) / (error[i] + slack));
            widest = fmax(widest, error[i] / scale);
        }
        moeg_law_free(r.law);
    }
    assert_true(compared > 700);
    print_message("%zu entries; worst of its own error %.2g; errors up to %.2g of the scale\n", compared, share,
                  widest);
}

/* A layer of any width at v.x = 0. */
static void layers_of_any_width(void **state)
{
    (void)state;
    const double v[] = {0.6, -0.8, 1.1}, beta[] = {0.7, -1.3, 0.2}, mu = 0.45;
    const double taus[] = {1e-300, 1e-20, 1e-16, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 1, 30, 1e300};
    const moeg_contrast contrast = moeg_contrast_affine();
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, NULL));
    for (size_t t = 0; t < sizeof taus / sizeof *taus; t++) {
        const moeg_halves halves = {.d = 3, .outputs = 1, .v = v, .beta = beta, .mu = &mu, .tau = taus[t]};
        double M[12], error[12], closed[12];
        by_planes(&halves, law, MOEG_SYMMETRIC_ZERO, &contrast, M, error);
        assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_ZERO, &contrast, closed));
        for (size_t i = 0; i < 12; i++) {
            assert_near(M[i], closed[i], error[i]);
            assert_near(M[i], closed[i], 20 * EPS * largest_entry(12, closed));
        }
    }
    moeg_law_free(law);
}

/* Three outputs, curved along both: sign(s) e^(t/2), |s| t^2, cos 2t, in x = (s, t). */
static int curved(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        y[3 * i] = copysign(1, a[i]) * exp(b[i] / 2);
        y[3 * i + 1] = fabs(a[i]) * b[i] * b[i];
        y[3 * i + 2] = cos(2 * b[i]);
    }
    return 0;
}

static void curved_functions(void **state)
{
    (void)state;
    const double v[] = {1, 0}, w[] = {0, 1}, k = sqrt(2 / acos(-1)), e = exp(0.125), c = exp(-2);
    const moeg_contrast linear = moeg_contrast_linear();
    /* E[x y x'], y less its mean (k, and e^-2) where f is constant: E|s|^3 = 2 k, E t^4 = 3, E t^2 cos 2t = -3 e^-2. */
    const double expected[] = {0, k * e / 2, k, 0, 0, 0, k * e / 2, 0, 0, 2 * k, 0, -4 * c};
    moeg_law *law;
    double M[12], error[12];
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_symmetry_plane(law, v, w, 3, curved, NULL, MOEG_SYMMETRIC_CONSTANT, &linear, M, error));
    for (size_t i = 0; i < 12; i++) {
        assert_near(M[i], expected[i], error[i]);
        assert_near(M[i], expected[i], 1e-14);
        assert_true(error[i] < 1e-12);
    }
    moeg_law_free(law);
}

/* Functions that are not what they should be, in x = (s, t): jumps at 0.3 along either, a frequency that panels do not
 * resolve (E t sin 60 t = 60 e^-1800), a tail that reaches too far (E t^2 e^(0.4 t^2) = 0.2^(-3/2)). */
static int jumps(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)a, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = b[i] > 0.3 ? 1 : -1;
    return 0;
}

static int jumps_along(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)b, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] > 0.3 ? 1 : -1;
    return 0;
}

static int waves(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)a, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = sin(60 * b[i]);
    return 0;
}

static int tails(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)a, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = b[i] * exp(0.4 * b[i] * b[i]);
    return 0;
}

static int tails_along(size_t n, const double *a, const double *b, double *y, void *user)
{
    return tails(n, b, a, y, user);
}

/* The error is above the true one, and the status says that it is large. */
static void errors_own_up(void **state)
{
    (void)state;
    const double v[] = {1, 0}, w[] = {0, 1}, density = exp(-0.045) / sqrt(2 * acos(-1));
    const moeg_contrast one = moeg_contrast_constant();
    const struct {
        moeg_plane_function y;
        double expected[2];
    } cases[] = {{jumps, {0, 2 * density}},
                 {jumps_along, {2 * density, 0}},
                 {waves, {0, 0}},
                 {tails, {0, pow(0.2, -1.5)}},
                 {tails_along, {pow(0.2, -1.5), 0}}};
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double M[2], error[2] = {0, 0};
        assert_status(moeg_symmetry_plane(law, v, w, 1, cases[k].y, NULL, MOEG_SYMMETRIC_ZERO, &one, M, error),
                      MOEG_EUNABLE,
                      "symmetry_plane: an error is above 1e-8 of the terms of M: y is not smooth away from v.x = 0");
        for (size_t i = 0; i < 2; i++)
            assert_near(M[i], cases[k].expected[i], error[i]);
    }
    moeg_law_free(law);
}

/* w = 0, a multiple of v, nearly one, and d = 1: in all of them Y = sign(a) (a + 0.45). */
static int along_only(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)b, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = copysign(1, a[i]) * (a[i] + 0.45);
    return 0;
}

static int of_b(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = copysign(1, a[i]) * (-b[i] / 2 + 0.45);
    return 0;
}

static void planes_that_are_lines(void **state)
{
    (void)state;
    const double v[] = {0.6, -0.8, 1.1}, covariance[] = {1.7, 0.6, -0.2, 0.6, 0.9, 0.1, -0.2, 0.1, 1.3}, mu = 0.45;
    const double zero[] = {0, 0, 0}, multiple[] = {-1.2, 1.6, -2.2}, near[] = {-1.2, 1.6 + 1e-9, -2.2};
    const moeg_halves halves = {.d = 3, .outputs = 1, .v = v, .beta = v, .mu = &mu};
    const moeg_contrast contrast = moeg_contrast_affine();
    moeg_law *law, *line;
    double M[12], error[12], closed[12];
    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, covariance));
    assert_ok(moeg_law_gaussian_create(&line, 1, NULL, NULL));
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_ZERO, &contrast, closed));
    const struct {
        const double *w;
        moeg_plane_function y;
    } cases[] = {{zero, along_only}, {multiple, of_b}, {multiple, along_only}, {near, along_only}};
    for (size_t k = 0; k < 4; k++) {
        assert_ok(
            moeg_symmetry_plane(law, v, cases[k].w, 1, cases[k].y, NULL, MOEG_SYMMETRIC_ZERO, &contrast, M, error));
        for (size_t i = 0; i < 12; i++) {
            assert_near(M[i], closed[i], error[i]);
            assert_near(M[i], closed[i], 1e-14 * largest_entry(12, closed));
        }
    }
    const double one = 1;
    const moeg_halves halves_1 = {.d = 1, .outputs = 1, .v = &one, .beta = &one, .mu = &mu};
    assert_ok(moeg_symmetry_closed(&halves_1, line, MOEG_SYMMETRIC_CONSTANT, &contrast, closed));
    assert_ok(moeg_symmetry_plane(line, &one, &mu, 1, along_only, NULL, MOEG_SYMMETRIC_CONSTANT, &contrast, M, NULL));
    for (size_t i = 0; i < 2; i++)
        assert_near(M[i], closed[i], 10 * EPS);
    moeg_law_free(line);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_reference), cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(layers_of_any_width),  cmocka_unit_test(curved_functions),
        cmocka_unit_test(errors_own_up),        cmocka_unit_test(planes_that_are_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
