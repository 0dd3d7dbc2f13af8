/* Spectrum and alignment: the reference cases, identities, errors. */
#include "dynamics/symmetry_cases.h"
#include "support/failing_alloc.h"
#include "support/random.h"

/* Singular values to rounding of the largest; the pair to that over the gap. */
static void spectra_equal_the_reference(void **state)
{
    (void)state;
    struct symmetry_case *cases = symmetry_cases();
    size_t pairs = 0;
    for (size_t k = 0; k < CASES; k++) {
        const struct symmetry_case *c = &cases[k];
        const size_t count = c->d < c->q ? c->d : c->q;
        double sigma[CASE_DIM], u[CASE_DIM], w[CASE_COLUMNS];
        size_t multiple, rank = 0;
        assert_ok(moeg_symmetry_spectrum(c->d, c->q, c->M, 1e-12, sigma, u, w, &multiple));
        for (size_t i = 0; i < count; i++) {
            assert_near(sigma[i], c->sigma[i], 10 * EPS * c->sigma[0]);
            rank += sigma[i] > 100 * EPS * sigma[0];
        }
        assert_int_equal(rank, c->rank);
        assert_int_equal(multiple == 1, c->has_pair || count == 1);
        pairs += c->has_pair != 0;
        const double gap = count > 1 ? (c->sigma[0] - c->sigma[1]) / c->sigma[0] : 1;
        for (size_t i = 0; c->has_pair && i < c->d; i++)
            assert_near(u[i], c->u1[i], 20 * EPS / gap);
        for (size_t j = 0; c->has_pair && j < c->q; j++)
            assert_near(w[j], c->c1[j], 20 * EPS / gap);
    }
    assert_int_equal(pairs, CASES - 1); /* all but M = 0 */
    free(cases);
}

/* beta orthogonal to v: sigma_1 = sigma_2, and v in the plane of both: any direction of it grows as fast. */
static void alignment_where_it_is_ambiguous(void **state)
{
    (void)state;
    const double v[] = {0.1, 0.5, -0.5, 0.7}, beta[] = {1.6, -0.3, 0.3, 0.2}, parallel[] = {0.17, 0.85, -0.85, 1.19};
    const double across[] = {0.7, 0.5, 0.5, -0.1}, wide_v[] = {1e299, 5e299, -5e299, 7e299}; /* across v, unit */
    moeg_halves halves = {.d = 4, .outputs = 1, .v = v, .beta = beta};
    const moeg_contrast linear = moeg_contrast_linear();
    moeg_law *law;
    double M[16], sigma[4], least, most;
    size_t multiple;
    assert_ok(moeg_law_gaussian_create(&law, 4, NULL, NULL));
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_AFFINE, &linear, M));
    assert_ok(moeg_symmetry_spectrum(4, 4, M, 1e-12, sigma, NULL, NULL, &multiple));
    assert_int_equal(multiple, 2);
    assert_ok(moeg_symmetry_alignment(4, 4, M, 1e-12, v, &least, &most));
    assert_true(least == 0);
    assert_near(most, 1, 10 * EPS);
    /* v and beta/|beta| span the plane. */
    const double length = sqrt(1.6 * 1.6 + 0.3 * 0.3 + 0.3 * 0.3 + 0.2 * 0.2);
    assert_ok(moeg_symmetry_alignment(4, 4, M, 1e-12, across, &least, &most));
    assert_true(least == 0);
    assert_near(most, 1.1 / length, 10 * EPS);
    halves.beta = parallel;
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_AFFINE, &linear, M));
    assert_ok(moeg_symmetry_alignment(4, 4, M, 1e-12, wide_v, &least, &most));
    assert_true(least == most);
    assert_near(most, 1, 10 * EPS);
    /* Without an intercept 2 : 1 over three others: with that tolerance all are the largest. */
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_LINEAR, &linear, M));
    assert_ok(moeg_symmetry_spectrum(4, 4, M, 0.51, sigma, NULL, NULL, &multiple));
    assert_int_equal(multiple, 4);
    assert_ok(moeg_symmetry_spectrum(4, 4, M, 0.49, sigma, NULL, NULL, &multiple));
    assert_int_equal(multiple, 1);
    memset(M, 0, sizeof M);
    assert_ok(moeg_symmetry_spectrum(4, 4, M, 0, sigma, NULL, NULL, &multiple));
    assert_int_equal(multiple, 4);
    least = most = 7;
    assert_status(moeg_symmetry_alignment(4, 4, M, 0, v, &least, &most), MOEG_EDOM,
                  "symmetry_alignment: M is 0: no direction grows faster than another");
    assert_true(least == 7 && most == 7);
    moeg_law_free(law);
}

/* M = sum_i sigma_i u_i c_i': M c = sigma u and M'u = sigma c of the top pair, tall and wide, of any size of numbers.
 */
static void pairs_are_singular(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{1, 1}, {1, 5}, {5, 1}, {3, 7}, {7, 3}, {40, 41}};
    const double sizes[] = {1e-300, 1, 1e290};
    uint64_t seed = 81;
    for (size_t s = 0; s < 18; s++) {
        const size_t d = shapes[s / 3][0], q = shapes[s / 3][1], k = d < q ? d : q;
        double M[40 * 41], sigma[40], u[40], c[41];
        for (size_t i = 0; i < d * q; i++)
            M[i] = sizes[s % 3] * next_normal(&seed);
        assert_ok(moeg_symmetry_spectrum(d, q, M, 0, sigma, u, c, NULL));
        double top = 0;
        for (size_t i = 0; i < d; i++) {
            double sum = 0;
            for (size_t j = 0; j < q; j++)
                sum += M[i * q + j] * c[j];
            assert_near(sum, sigma[0] * u[i], 100 * EPS * sigma[0]);
            top = fabs(u[i]) > fabs(top) ? u[i] : top;
        }
        assert_true(top > 0);
        for (size_t j = 0; j < q; j++) {
            double sum = 0;
            for (size_t i = 0; i < d; i++)
                sum += M[i * q + j] * u[i];
            assert_near(sum, sigma[0] * c[j], 100 * EPS * sigma[0]);
        }
        for (size_t i = 1; i < k; i++)
            assert_true(sigma[i] <= sigma[i - 1] && sigma[i] >= 0);
    }
}

static void errors(void **state)
{
    (void)state;
    const double M[] = {1, 2, 3, NAN}, v[] = {1, 2}, zero[] = {0, 0};
    double sigma[2] = {5, 5}, least, most;
#define SPECTRUM(d, q, M, tolerance, sigma) moeg_symmetry_spectrum(d, q, M, tolerance, sigma, NULL, NULL, NULL)
    assert_status(SPECTRUM(0, 2, M, 0, sigma), MOEG_EINVAL, "symmetry_spectrum: d must be at least 1, got 0");
    assert_status(SPECTRUM(2, 0, M, 0, sigma), MOEG_EINVAL, "symmetry_spectrum: q must be at least 1, got 0");
    assert_status(SPECTRUM(2, 2, NULL, 0, sigma), MOEG_EINVAL, "symmetry_spectrum: M must not be NULL");
    assert_status(SPECTRUM(2, 2, M, 0, sigma), MOEG_EINVAL, "symmetry_spectrum: M[1, 1] must be finite, got nan");
    assert_status(SPECTRUM(1, 2, M, 1, sigma), MOEG_EINVAL, "symmetry_spectrum: tolerance must be in [0, 1), got 1");
    assert_status(SPECTRUM(1, 2, M, NAN, sigma), MOEG_EINVAL, "tolerance must be in [0, 1), got nan");
    assert_status(SPECTRUM(1, 2, M, 0, NULL), MOEG_EINVAL, "symmetry_spectrum: sigma must not be NULL");
    assert_status(SPECTRUM(SIZE_MAX / 2, 2, M, 0, sigma), MOEG_EINVAL, "has more values than memory can hold");
    assert_true(sigma[0] == 5);
#undef SPECTRUM
#define ALIGNMENT(v, least, most) moeg_symmetry_alignment(2, 1, M, 0, v, least, most)
    assert_status(ALIGNMENT(NULL, &least, &most), MOEG_EINVAL, "symmetry_alignment: v must not be NULL");
    assert_status(ALIGNMENT(zero, &least, &most), MOEG_EINVAL, "symmetry_alignment: v must not be 0");
    assert_status(ALIGNMENT(M + 2, &least, &most), MOEG_EINVAL, "symmetry_alignment: v[1] must be finite, got nan");
    assert_status(ALIGNMENT(v, NULL, &most), MOEG_EINVAL, "symmetry_alignment: least must not be NULL");
    assert_status(ALIGNMENT(v, &least, NULL), MOEG_EINVAL, "symmetry_alignment: most must not be NULL");
    assert_status(moeg_symmetry_alignment(0, 1, M, 0, v, &least, &most), MOEG_EINVAL, "d must be at least 1, got 0");
    assert_status(moeg_symmetry_alignment(2, 1, M, -0.1, v, &least, &most), MOEG_EINVAL, "tolerance must be in [0, 1)");
#undef ALIGNMENT
}

enum { d = 3, m = 2, p = 2 };

static const double matrix[d * m * p] = {1, 2, -0.5, 0.3, 0.9, -1.1, 0.2, 0.8, 1.4, -0.6, 0.7, 0.1};

static moeg_status spectrum_scenario(void *user)
{
    (void)user;
    double sigma[d] = {5, 5, 5};
    const moeg_status status = moeg_symmetry_spectrum(d, m * p, matrix, 0, sigma, NULL, NULL, NULL);
    assert_true((status == MOEG_OK) == (sigma[0] != 5));
    return status;
}

static moeg_status alignment_scenario(void *user)
{
    (void)user;
    double least = 5, most = 5;
    const moeg_status status = moeg_symmetry_alignment(d, m * p, matrix, 0, matrix, &least, &most);
    assert_true((status == MOEG_OK) == (least != 5 && most != 5));
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(spectrum_scenario, NULL), 8);
    assert_int_equal(fail_every_allocation(alignment_scenario, NULL), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectra_equal_the_reference),
        cmocka_unit_test(alignment_where_it_is_ambiguous),
        cmocka_unit_test(pairs_are_singular),
        cmocka_unit_test(errors),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
