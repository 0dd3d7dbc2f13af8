/* Error bars of sampled M, against the truth: where the fit matters, with third moments that are known, that are not 0,
 * and that are features' of one's own; of data with weights. */
#include "dynamics/symmetry_oracle.h"
#include "support/coverage.h"

enum { D = ORACLE_D, RUNS = 1000, MOST = D * ORACLE_PHI };

typedef struct problem {
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_symmetric symmetric;
    moeg_contrast contrast;
    uint64_t n;
} problem;

static moeg_status estimate(uint64_t seed, void *user, moeg_estimate *M)
{
    const problem *p = user;
    moeg_sampling s = moeg_sampling_default();
    s.seed = seed;
    s.n = p->n;
    s.max_threads = 1;
    return moeg_symmetry_sample(p->teacher, p->law, p->symmetric, &p->contrast, &s, M);
}

/* The columns of the contrast (1, x) that are those of `contrast`. */
static size_t choose(const double *all, moeg_contrast_kind contrast, double *truths)
{
    const size_t from = contrast == MOEG_CONTRAST_LINEAR, to = contrast == MOEG_CONTRAST_CONSTANT ? 1 : ORACLE_PHI;
    size_t count = 0;
    for (size_t i = 0; i < D; i++)
        for (size_t k = from; k < to; k++)
            truths[count++] = all[i * ORACLE_PHI + k];
    return count;
}

static void check(const oracle *o, moeg_symmetric symmetric, moeg_contrast contrast, uint64_t n)
{
    problem p = {.symmetric = symmetric, .contrast = contrast, .n = n};
    double all[MOST], truths[MOST];
    oracle_make(o, &p.teacher, &p.law);
    oracle_find(o, symmetric, all);
    const size_t count = choose(all, contrast.kind, truths);
    assert_coverage(estimate, &p, count, truths, 0.95, RUNS, COVERAGE_EXACT);
    moeg_law_free(p.law);
    moeg_teacher_free(p.teacher);
}

static void third_moments_are_known(void **state)
{
    (void)state;
    check(&oracle_gaussian, MOEG_SYMMETRIC_AFFINE, moeg_contrast_linear(), 3000);
    check(&oracle_gaussian, MOEG_SYMMETRIC_LINEAR, moeg_contrast_linear(), 3000);
    check(&oracle_gaussian, MOEG_SYMMETRIC_CONSTANT, moeg_contrast_affine(), 3000);
    check(&oracle_gaussian, MOEG_SYMMETRIC_ZERO, moeg_contrast_affine(), 3000);
}

/* Means that are many deviations from 0, where x x' is all but a function of phi. */
static void the_law_is_far_away(void **state)
{
    (void)state;
    oracle far = oracle_gaussian;
    const double mean[D] = {40, -18, -24};
    memcpy(far.part[0].mean, mean, sizeof mean);
    check(&far, MOEG_SYMMETRIC_AFFINE, moeg_contrast_linear(), 3000);
    check(&far, MOEG_SYMMETRIC_LINEAR, moeg_contrast_linear(), 3000);
}

static void third_moments_are_not(void **state)
{
    (void)state;
    check(&oracle_mixture, MOEG_SYMMETRIC_AFFINE, moeg_contrast_linear(), 3000);
    check(&oracle_mixture, MOEG_SYMMETRIC_LINEAR, moeg_contrast_linear(), 3000);
    check(&oracle_mixture, MOEG_SYMMETRIC_CONSTANT, moeg_contrast_affine(), 3000);
}

/* x_1 and x_2 - 2 x_3. */
static int own(size_t n, const double *x, double *psi, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        psi[2 * i] = x[D * i];
        psi[2 * i + 1] = x[D * i + 1] - 2 * x[D * i + 2];
    }
    return 0;
}

static void features_are_the_users(void **state)
{
    (void)state;
    problem p = {.symmetric = MOEG_SYMMETRIC_AFFINE, .contrast = moeg_contrast_user(2, own, NULL), .n = 3000};
    double all[MOST], truths[2 * D];
    oracle_make(&oracle_gaussian, &p.teacher, &p.law);
    oracle_find(&oracle_gaussian, p.symmetric, all);
    for (size_t i = 0; i < D; i++) {
        truths[2 * i] = all[i * ORACLE_PHI + 1];
        truths[2 * i + 1] = all[i * ORACLE_PHI + 2] - 2 * all[i * ORACLE_PHI + 3];
    }
    assert_coverage(estimate, &p, 2 * D, truths, 0.95, RUNS, COVERAGE_EXACT);
    moeg_law_free(p.law);
    moeg_teacher_free(p.teacher);
}

/* Rows of N(0, I) with the weights e^(a.x): for the population they are N(a, I). Sorted by x_1. */
static const double tilt[D] = {0.45, -0.2, 0.15};

static int by_first(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static moeg_status estimate_data(uint64_t seed, void *user, moeg_estimate *M)
{
    enum { ROWS = 4000 };
    const problem *p = user;
    static double x[ROWS * D], w[ROWS];
    moeg_law *law;
    assert_ok(moeg_law_sample(p->law, seed, 0, ROWS, x));
    qsort(x, ROWS, D * sizeof *x, by_first);
    for (size_t i = 0; i < ROWS; i++)
        w[i] = exp(tilt[0] * x[D * i] + tilt[1] * x[D * i + 1] + tilt[2] * x[D * i + 2]);
    assert_ok(moeg_law_empirical_create(&law, ROWS, D, x, w));
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = 1;
    const moeg_status status = moeg_symmetry_sample(p->teacher, law, p->symmetric, &p->contrast, &s, M);
    moeg_law_free(law);
    return status;
}

static void rows_are_data_with_weights(void **state)
{
    (void)state;
    const oracle standard = {.v = {0.6, 0.48, 0.64},
                             .beta = {0.5, -1.25, 2.1},
                             .mu = 0.4,
                             .parts = 1,
                             .part = {{1, {0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}}};
    oracle tilted = standard;
    memcpy(tilted.part[0].mean, tilt, sizeof tilt);
    problem p = {.symmetric = MOEG_SYMMETRIC_AFFINE, .contrast = moeg_contrast_linear()};
    double all[MOST], truths[MOST];
    oracle_make(&standard, &p.teacher, &p.law);
    oracle_find(&tilted, p.symmetric, all);
    const size_t count = choose(all, MOEG_CONTRAST_LINEAR, truths);
    assert_coverage(estimate_data, &p, count, truths, 0.95, RUNS, COVERAGE_EXACT);
    moeg_law_free(p.law);
    moeg_teacher_free(p.teacher);
}

enum { DIM = 89 };

/* The first entries of M. */
static moeg_status estimate_first(uint64_t seed, void *user, moeg_estimate *first)
{
    moeg_estimate M[DIM * DIM];
    const moeg_status status = estimate(seed, user, M);
    memcpy(first, M, 3 * sizeof *M);
    return status;
}

/* As many coefficients as a tenth of the rows: without what is said of n less the coefficients M would be a tenth too
 * small, and so would its error bars. */
static void many_coefficients(void **state)
{
    (void)state;
    const double unit[DIM] = {1}, along[DIM] = {4}, truths[3] = {4 * sqrt(2 / acos(-1))};
    const moeg_halves halves = {.d = DIM, .outputs = 1, .v = unit, .beta = along};
    problem p = {.symmetric = MOEG_SYMMETRIC_AFFINE, .contrast = moeg_contrast_linear(), .n = 900};
    assert_ok(moeg_halves_teacher_create(&halves, &p.teacher));
    assert_ok(moeg_law_gaussian_create(&p.law, DIM, NULL, NULL));
    assert_coverage(estimate_first, &p, 3, truths, 0.95, RUNS, COVERAGE_EXACT);
    moeg_law_free(p.law);
    moeg_teacher_free(p.teacher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(third_moments_are_known),    cmocka_unit_test(the_law_is_far_away),
        cmocka_unit_test(third_moments_are_not),      cmocka_unit_test(features_are_the_users),
        cmocka_unit_test(rows_are_data_with_weights), cmocka_unit_test(many_coefficients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
