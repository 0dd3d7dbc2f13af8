/* M by sampling: sums over data against least squares and sums written out, its error bars against rows one by one,
 * what it does not depend on, and that it draws no more than it says. */
#include "dynamics/symmetry_cases.h"
#include "dynamics/symmetry_data.h"
#include "dynamics/symmetry_sample.h"
#include "support/estimates.h"

/* The reference cases, each with 3 seeds, in intervals that all hold the truth with probability 99.9 %. */
static void reference_cases_are_inside_error_bars(void **state)
{
    (void)state;
    enum { SEEDS = 3, ENTRIES = CASES * CASE_DIM * CASE_COLUMNS * SEEDS };
    struct symmetry_case *cases = symmetry_cases();
    size_t zeros = 0;
    for (size_t k = 0; k < CASES; k++) {
        const struct symmetry_case *c = &cases[k];
        const moeg_halves halves = symmetry_halves(c);
        moeg_law *law = symmetry_law(c);
        moeg_teacher *teacher;
        moeg_estimate M[CASE_DIM * CASE_COLUMNS];
        moeg_sampling s = moeg_sampling_default();
        s.n = 1 << 16;
        s.level = 1 - 0.001 / ENTRIES;
        assert_ok(moeg_halves_teacher_create(&halves, &teacher));
        for (s.seed = 1; s.seed <= SEEDS; s.seed++) {
            assert_ok(moeg_symmetry_sample(teacher, law, c->symmetric, &c->contrast, &s, M));
            for (size_t i = 0; i < c->d * c->q; i++) {
                assert_true(M[i].lo <= c->M[i] && c->M[i] <= M[i].hi);
                assert_true(M[i].std_error < 0.05);
                zeros += M[i].std_error == 0;
            }
        }
        moeg_law_free(law);
        moeg_teacher_free(teacher);
    }
    /* The columns of the feature 1 of three cases. */
    assert_int_equal(zeros, SEEDS * 3 * 2);
    free(cases);
}

/* Sums over rows to the rounding of so many, in whatever order; x_2 lies around -40. Of error bars from some 64 groups
 * the average over all entries is that of the rows to a few parts in a hundred. */
static void sums_over_data_are_exact(void **state)
{
    (void)state;
    static struct data data;
    double ones[ROWS];
    struct sums expected;
    moeg_estimate M[MOST];
    const moeg_sampling s = moeg_sampling_default();
    double logs = 0, count = 0;
    for (size_t i = 0; i < ROWS; i++)
        ones[i] = i % 7 != 3;
    for (int weights = 0; weights < 2; weights++) {
        data_make(&data, 1);
        if (!weights) {
            moeg_law_free(data.law);
            assert_ok(moeg_law_empirical_create(&data.law, ROWS, D, data.x, ones));
        }
        for (size_t c = 0; c < 4; c++)
            for (int kind = 0; kind < 4; kind++) {
                const moeg_contrast contrast = make_contrast(kind);
                const size_t q = D * OUTPUTS * moeg_contrast_features(&contrast, D);
                sum_rows(&data, weights ? data.w : ones, classes[c], kind, &expected);
                assert_ok(moeg_symmetry_sample(data.teacher, data.law, classes[c], &contrast, &s, M));
                for (size_t i = 0; i < q; i++) {
                    assert_near(M[i].value, expected.M[i], 1e-8);
                    assert_int_equal(M[i].n, ROWS - ROWS / 7);
                    assert_int_equal(M[i].contributing, M[i].n);
                    assert_int_equal(M[i].method, MOEG_METHOD_MC);
                    if (M[i].std_error == 0)
                        continue;
                    assert_in_range((int)(100 * M[i].std_error / sqrt(expected.variance[i])), 60, 150);
                    logs += log(M[i].std_error / sqrt(expected.variance[i]));
                    count++;
                }
            }
        data_free(&data);
    }
    assert_near(exp(logs / count), 1, 0.05);
}

static void normal_equations_are_exact(void **state)
{
    (void)state;
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_estimate M[D * MOST_P];
    const moeg_sampling s = moeg_sampling_default();
    oracle_make(&oracle_mixture, &teacher, &law);
    for (size_t c = 2; c < 4; c++)
        for (int kind = 0; kind < 4; kind += 2) {
            const moeg_contrast contrast = make_contrast(kind);
            const size_t p = moeg_contrast_features(&contrast, D);
            assert_ok(moeg_symmetry_sample(teacher, law, classes[c], &contrast, &s, M));
            for (size_t i = 0; i < D; i++) {
                const moeg_estimate *e = &M[i * p];
                assert_true(e->value == 0 && e->std_error == 0 && e->lo == 0 && e->hi == 0);
            }
        }
    moeg_law_free(law);
    moeg_teacher_free(teacher);
}

/* Features of one's own that are (1, x) take another way to the same sums. */
static int one_and_x(size_t n, const double *x, double *psi, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        psi[(1 + D) * i] = 1;
        memcpy(psi + (1 + D) * i + 1, x + D * i, D * sizeof *x);
    }
    return 0;
}

static void known_moments_change_error_bars_little(void **state)
{
    (void)state;
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_estimate known[D * MOST_P], rows[D * MOST_P];
    const moeg_contrast affine = moeg_contrast_affine(), same = moeg_contrast_user(1 + D, one_and_x, NULL);
    const moeg_sampling s = moeg_sampling_default();
    oracle_make(&oracle_gaussian, &teacher, &law);
    for (size_t c = 1; c < 4; c++) {
        assert_ok(moeg_symmetry_sample(teacher, law, classes[c], &affine, &s, known));
        assert_ok(moeg_symmetry_sample(teacher, law, classes[c], &same, &s, rows));
        for (size_t i = 0; i < D * MOST_P; i++) {
            assert_near(rows[i].value, known[i].value, 1e-12);
            assert_near(rows[i].std_error, known[i].std_error, known[i].std_error == 0 ? 1e-12 : 2e-3);
            assert_true(known[i].std_error == 0 || known[i].std_error > 5e-3);
        }
    }
    moeg_law_free(law);
    moeg_teacher_free(teacher);
}

static void noise_does_not_matter(void **state)
{
    (void)state;
    moeg_teacher *teacher, *noisy;
    moeg_law *law;
    moeg_estimate M[D * D], with[D * D];
    const moeg_contrast contrast = moeg_contrast_linear();
    moeg_sampling s = moeg_sampling_default();
    s.n = 3000;
    oracle_make(&oracle_gaussian, &teacher, &law);
    assert_ok(moeg_teacher_noise_create(&noisy, teacher, 7));
    assert_ok(moeg_symmetry_sample(teacher, law, MOEG_SYMMETRIC_AFFINE, &contrast, &s, M));
    assert_ok(moeg_symmetry_sample(noisy, law, MOEG_SYMMETRIC_AFFINE, &contrast, &s, with));
    assert_same_estimates(with, M, D * D);
    moeg_teacher_free(noisy);
    moeg_law_free(law);
    moeg_teacher_free(teacher);
}

/* Far from 0 the sums are about an origin among the rows: shifting x and Y by powers of two that are exact changes
 * nothing but rounding, for a contrast that shifts along. */
static int shifted(size_t n, const double *x, double *psi, void *user)
{
    const double shift = *(const double *)user;
    for (size_t i = 0; i < n; i++)
        psi[i] = x[D * i] - shift;
    return 0;
}

static void shifts_change_rounding_alone(void **state)
{
    (void)state;
    static double x[2][ROWS * D], y[2][ROWS];
    double shifts[2] = {0, 0x1p20};
    moeg_estimate M[2][D];
    moeg_sampling s = moeg_sampling_default();
    assert_ok(moeg_stream_normals((moeg_stream){6, 70}, 0, ROWS, D, x[0]));
    for (size_t i = 0; i < ROWS * D; i++) {
        x[0][i] = ldexp(rint(ldexp(x[0][i], 20)), -20);
        x[1][i] = x[0][i] + shifts[1];
    }
    for (size_t i = 0; i < ROWS; i++) {
        y[0][i] = fabs(x[0][D * i]) + x[0][D * i + 1];
        y[1][i] = y[0][i] + 0x1p20;
    }
    for (size_t t = 0; t < 2; t++) {
        moeg_law *law;
        moeg_teacher *teacher;
        const moeg_contrast contrast = moeg_contrast_user(1, shifted, &shifts[t]);
        assert_ok(moeg_law_empirical_create(&law, ROWS, D, x[t], NULL));
        assert_ok(moeg_teacher_data_create(&teacher, ROWS, 1, y[t]));
        assert_ok(moeg_symmetry_sample(teacher, law, MOEG_SYMMETRIC_AFFINE, &contrast, &s, M[t]));
        moeg_law_free(law);
        moeg_teacher_free(teacher);
    }
    /* E r = 0, so that the shift of the x before r drops out; times 2^20 the rounding of r remains. */
    for (size_t i = 0; i < D; i++)
        assert_near(M[1][i].value, M[0][i].value, 1e-5);
}

static const int threads[] = {1, 2, 5};

static void threads_change_no_bit(void **state)
{
    (void)state;
    static struct data data;
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_estimate first[MOST], other[MOST];
    data_make(&data, 1);
    for (int which = 0; which < 3; which++) {
        if (which < 2)
            oracle_make(which == 0 ? &oracle_gaussian : &oracle_mixture, &teacher, &law);
        for (int kind = 0; kind < 4; kind++)
            for (size_t t = 0; t < 3; t++) {
                const moeg_contrast contrast = make_contrast(kind);
                const size_t q = D * (which < 2 ? 1 : OUTPUTS) * moeg_contrast_features(&contrast, D);
                moeg_sampling s = moeg_sampling_default();
                s.n = 70001;
                s.max_threads = threads[t];
                assert_ok(moeg_symmetry_sample(which < 2 ? teacher : data.teacher, which < 2 ? law : data.law,
                                               MOEG_SYMMETRIC_AFFINE, &contrast, &s, t == 0 ? first : other));
                if (t > 0)
                    assert_same_estimates(other, first, q);
            }
        if (which < 2) {
            moeg_law_free(law);
            moeg_teacher_free(teacher);
        }
    }
    data_free(&data);
}

/* Whether rows are kept or drawn again. */
static void kept_rows_change_no_bit(void **state)
{
    (void)state;
    static struct data data;
    moeg_estimate kept[MOST], drawn[MOST];
    moeg_sampling s = moeg_sampling_default();
    s.n = 50021;
    data_make(&data, 1);
    for (int law = 0; law < 3; law++)
        for (size_t c = 0; c < 4; c++)
            for (int kind = 0; kind < 4; kind++) {
                moeg_teacher *teacher = data.teacher;
                moeg_law *drawn_from = data.law;
                const moeg_contrast contrast = make_contrast(kind);
                const size_t q = D * (law < 2 ? 1 : OUTPUTS) * moeg_contrast_features(&contrast, D);
                if (law < 2)
                    oracle_make(law == 0 ? &oracle_gaussian : &oracle_mixture, &teacher, &drawn_from);
                assert_ok(moeg_symmetry_sample(teacher, drawn_from, classes[c], &contrast, &s, kept));
                assert_ok(moeg_symmetry_sample_within(0, teacher, drawn_from, classes[c], &contrast, &s, drawn));
                assert_same_estimates(drawn, kept, q);
                if (law < 2) {
                    moeg_law_free(drawn_from);
                    moeg_teacher_free(teacher);
                }
            }
    data_free(&data);
}

/* x_1 .. x_d as features of one's own. */
static int just_x(size_t n, const double *x, double *psi, void *user)
{
    memcpy(psi, x, n * *(const size_t *)user * sizeof *x);
    return 0;
}

/* Third moments of fewer rows than all, and in more than one pass: error bars are those of the known ones, a little
 * longer. */
static void some_rows_are_enough(void **state)
{
    (void)state;
    enum { WIDE = 104 };
    const size_t dims[] = {7, WIDE}, rows[] = {4000, 9000};
    for (size_t t = 0; t < 2; t++) {
        size_t d = dims[t];
        double direction[WIDE] = {0.6, 0.8}, slopes[WIDE] = {-1, 2, 0.5};
        const moeg_halves halves = {.d = d, .outputs = 1, .v = direction, .beta = slopes};
        const moeg_contrast linear = moeg_contrast_linear(), same = moeg_contrast_user(d, just_x, &d);
        moeg_estimate *M = calloc(2 * d * d, sizeof *M);
        moeg_teacher *teacher;
        moeg_law *law;
        moeg_sampling s = moeg_sampling_default();
        double logs = 0;
        assert_non_null(M);
        s.n = rows[t];
        assert_ok(moeg_halves_teacher_create(&halves, &teacher));
        assert_ok(moeg_law_gaussian_create(&law, d, NULL, NULL));
        assert_ok(moeg_symmetry_sample(teacher, law, MOEG_SYMMETRIC_AFFINE, &linear, &s, M));
        assert_ok(moeg_symmetry_sample(teacher, law, MOEG_SYMMETRIC_AFFINE, &same, &s, M + d * d));
        for (size_t i = 0; i < d * d; i++) {
            const moeg_estimate *known = &M[i], *sampled = known + d * d;
            assert_near(sampled->value, known->value, 1e-12);
            assert_near(sampled->std_error / known->std_error, 1, 0.15);
            logs += log(sampled->std_error / known->std_error) / (double)(d * d);
        }
        print_message("d = %zu: error bars %.4f times as long\n", d, exp(logs));
        assert_near(exp(logs), 1.01, 0.02);
        moeg_law_free(law);
        moeg_teacher_free(teacher);
        free(M);
    }
}

/* A coordinate that one row in ten thousand has, which third moments of fewer rows may not see. */
static void rare_coordinates(void **state)
{
    (void)state;
    enum { DIM = 8, N = 10000 };
    double *x = calloc(N, DIM * sizeof *x);
    moeg_law *law;
    moeg_teacher *teacher;
    moeg_estimate M[DIM * DIM];
    const moeg_sampling s = moeg_sampling_default();
    const moeg_contrast linear = moeg_contrast_linear();
    assert_non_null(x);
    assert_ok(moeg_stream_normals((moeg_stream){9, 70}, 0, N, DIM, x));
    const double along[DIM] = {1}, slopes[DIM] = {1, 1};
    const moeg_halves halves = {.d = DIM, .outputs = 1, .v = along, .beta = slopes};
    assert_ok(moeg_halves_teacher_create(&halves, &teacher));
    for (size_t rare = 0; rare < 10; rare++) {
        for (size_t i = 0; i < N; i++)
            x[DIM * i + DIM - 1] = i == 997 * rare;
        assert_ok(moeg_law_empirical_create(&law, N, DIM, x, NULL));
        assert_ok(moeg_symmetry_sample(teacher, law, MOEG_SYMMETRIC_AFFINE, &linear, &s, M));
        for (size_t i = 0; i < DIM * DIM; i++)
            assert_true(isfinite(M[i].value) && isfinite(M[i].std_error) && M[i].std_error < 0.1);
        moeg_law_free(law);
    }
    moeg_teacher_free(teacher);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_cases_are_inside_error_bars),
        cmocka_unit_test(sums_over_data_are_exact),
        cmocka_unit_test(normal_equations_are_exact),
        cmocka_unit_test(known_moments_change_error_bars_little),
        cmocka_unit_test(noise_does_not_matter),
        cmocka_unit_test(shifts_change_rounding_alone),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(kept_rows_change_no_bit),
        cmocka_unit_test(some_rows_are_enough),
        cmocka_unit_test(rare_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
