/* M in closed form: the reference cases, by brute force (symmetry_brute.h), what it is invariant under, errors. */
#include "dynamics/symmetry_brute.h"
#include "dynamics/symmetry_cases.h"
#include "support/failing_alloc.h"
#include "support/random.h"

/* The entries of 32 cases, to rounding of the largest. */
static void equals_the_reference(void **state)
{
    (void)state;
    struct symmetry_case *cases = symmetry_cases();
    double worst = 0;
    for (size_t k = 0; k < CASES; k++) {
        const struct symmetry_case *c = &cases[k];
        const moeg_halves halves = symmetry_halves(c);
        moeg_law *law = symmetry_law(c);
        double M[CASE_DIM * CASE_COLUMNS];
        assert_int_equal(moeg_contrast_features(&c->contrast, c->d), c->p);
        assert_ok(moeg_symmetry_closed(&halves, law, c->symmetric, &c->contrast, M));
        const double scale = largest_entry(c->d * c->q, c->M);
        for (size_t i = 0; i < c->d * c->q; i++) {
            assert_near(M[i], c->M[i], 20 * EPS * scale);
            worst = fmax(worst, scale > 0 ? fabs(M[i] - c->M[i]) / scale : fabs(M[i]));
        }
        moeg_law_free(law);
    }
    print_message("worst: %.2g epsilon of the largest entry\n", worst / EPS);
    free(cases);
}

/* Any v, beta, mu, covariance (some singular), class and contrast, in d = 1 to 4. */
static void equals_brute_force(void **state)
{
    (void)state;
    const double taus[] = {0, 0.013, 0.7, 40};
    const moeg_contrast contrasts[] = {moeg_contrast_constant(), moeg_contrast_linear(), moeg_contrast_affine()};
    uint64_t seed = 20261201;
    double worst = 0;
    for (size_t k = 0; k < 96; k++) {
        struct random_problem r;
        double M[CASE_DIM * CASE_COLUMNS], brute[CASE_DIM * CASE_COLUMNS];
        make_random_problem(&r, 1 + k % 4, taus[k / 4 % 4], 0, k % 5 == 4, &seed);
        const moeg_symmetric symmetric = (moeg_symmetric)(k / 16 % 4);
        const moeg_contrast *contrast = &contrasts[k % 3];
        const size_t size = r.d * r.m * moeg_contrast_features(contrast, r.d);
        const moeg_halves halves = random_halves(&r);
        assert_ok(moeg_symmetry_closed(&halves, r.law, symmetric, contrast, M));
        brute_operator(&r, symmetric, contrast, brute);
        const double scale = random_scale(&r);
        for (size_t i = 0; i < size; i++) {
            assert_near(M[i], brute[i], 1e-13 * scale);
            worst = fmax(worst, fabs(M[i] - brute[i]) / scale);
        }
        moeg_law_free(r.law);
    }
    print_message("worst: %.2g of the scale\n", worst);
}

/* Y = sign(v.x), f affine, psi = 1: M = 0, exactly. So are all columns of the feature 1 where E[x r] is fitted. */
static void is_zero_where_it_should_be(void **state)
{
    (void)state;
    const double v[] = {0.6, -0.8}, beta[] = {0, 0}, mu[] = {1.35};
    const moeg_halves halves = {.d = 2, .outputs = 1, .v = v, .beta = beta, .mu = mu};
    const moeg_contrast one = moeg_contrast_constant(), both = moeg_contrast_affine();
    moeg_law *law;
    double M[2 * 3] = {5, 5, 5, 5, 5, 5};
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_AFFINE, &one, M));
    assert_true(M[0] == 0 && M[1] == 0);
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_LINEAR, &both, M));
    assert_true(largest_entry(6, M) == 0);
    moeg_law_free(law);
}

/* Of v and tau alike M does not depend at all, of beta and mu it is a multiple, over more than the range of doubles of
 * any of the squares on the way. */
static void scales_with_its_arguments(void **state)
{
    (void)state;
    const double covariance[] = {1.7, 0.6, 0.6, 0.9}, v[] = {0.6, -0.8}, beta[] = {0.7, -1.3}, mu = 0.45;
    const moeg_halves halves = {.d = 2, .outputs = 1, .v = v, .beta = beta, .mu = &mu, .tau = 0.25};
    const moeg_contrast contrast = moeg_contrast_affine();
    moeg_law *law;
    double M[6], scaled[6];
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, covariance));
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_ZERO, &contrast, M));
    const int powers[] = {-900, -3, 7, 900};
    for (size_t k = 0; k < 4; k++) {
        const double by = ldexp(1, powers[k]), by_v[] = {by * v[0], by * v[1]}, by_beta[] = {by * 0.7, by * -1.3};
        const double by_mu = by * mu;
        const moeg_halves wide = {.d = 2, .outputs = 1, .v = by_v, .beta = beta, .mu = &mu, .tau = by * halves.tau};
        const moeg_halves steep = {.d = 2, .outputs = 1, .v = v, .beta = by_beta, .mu = &by_mu, .tau = halves.tau};
        assert_ok(moeg_symmetry_closed(&wide, law, MOEG_SYMMETRIC_ZERO, &contrast, scaled));
        for (size_t i = 0; i < 6; i++)
            assert_true(scaled[i] == M[i]);
        assert_ok(moeg_symmetry_closed(&steep, law, MOEG_SYMMETRIC_ZERO, &contrast, scaled));
        for (size_t i = 0; i < 6; i++)
            assert_relative(scaled[i], by * M[i], 8 * EPS);
    }
    moeg_law_free(law);
}

/* tau/spread overflows before v's own power of 2: tanh(x/2) is x/2 of x ~ N(0, 1e-20), and M = E[x^3 tanh(x/2)]
 * = 1.5e-40. */
static void large_v_and_tau_of_small_x(void **state)
{
    (void)state;
    const double variance = 1e-20, large = 1e300, one = 1;
    const moeg_halves halves = {.d = 1, .outputs = 1, .v = &large, .beta = &one, .tau = large};
    const moeg_contrast linear = moeg_contrast_linear();
    moeg_law *law;
    double M;
    assert_ok(moeg_law_gaussian_create(&law, 1, NULL, &variance));
    assert_ok(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_ZERO, &linear, &M));
    assert_relative(M, 1.5e-40, 20 * EPS);
    moeg_law_free(law);
}

/* M of x -> Q x is Q M Q' (linear contrast), under any covariance. */
static void turns_with_x(void **state)
{
    (void)state;
    enum { d = 3 };
    const double Q[d * d] = {2.0 / 3, -1.0 / 3, 2.0 / 3, 2.0 / 3, 2.0 / 3, -1.0 / 3, -1.0 / 3, 2.0 / 3, 2.0 / 3};
    const double S[d * d] = {1.7, 0.6, -0.2, 0.6, 0.9, 0.1, -0.2, 0.1, 1.3}, v[d] = {0.6, -0.8, 1.1};
    const double beta[d] = {0.7, -1.3, 0.2};
    double QS[d * d] = {0}, turned[d * d] = {0}, Qv[d] = {0}, Qbeta[d] = {0}, M[d * d], T[d * d], QM[d * d] = {0};
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            Qv[i] += Q[i * d + j] * v[j];
            Qbeta[i] += Q[i * d + j] * beta[j];
            for (size_t k = 0; k < d; k++)
                QS[i * d + j] += Q[i * d + k] * S[k * d + j];
        }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k < d; k++)
                turned[i * d + j] += QS[i * d + k] * Q[j * d + k];
    const moeg_halves halves = {.d = d, .outputs = 1, .v = v, .beta = beta, .tau = 0.3};
    const moeg_halves other = {.d = d, .outputs = 1, .v = Qv, .beta = Qbeta, .tau = 0.3};
    const moeg_contrast linear = moeg_contrast_linear();
    moeg_law *law, *turned_law;
    assert_ok(moeg_law_gaussian_create(&law, d, NULL, S));
    assert_ok(moeg_law_gaussian_create(&turned_law, d, NULL, turned));
    for (int symmetric = 0; symmetric < 4; symmetric++) {
        assert_ok(moeg_symmetry_closed(&halves, law, (moeg_symmetric)symmetric, &linear, M));
        assert_ok(moeg_symmetry_closed(&other, turned_law, (moeg_symmetric)symmetric, &linear, T));
        memset(QM, 0, sizeof QM);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++)
                for (size_t k = 0; k < d; k++)
                    QM[i * d + j] += Q[i * d + k] * M[k * d + j];
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                double expected = 0;
                for (size_t k = 0; k < d; k++)
                    expected += QM[i * d + k] * Q[j * d + k];
                assert_near(T[i * d + j], expected, 1e-14 * largest_entry(d * d, T));
            }
    }
    moeg_law_free(turned_law);
    moeg_law_free(law);
}

static int no_features(size_t n, const double *x, double *psi, void *user)
{
    (void)n, (void)x, (void)psi, (void)user;
    return 1;
}

static void errors(void **state)
{
    (void)state;
    const double v[] = {0.6, 0.8}, beta[] = {0.7, -1.3}, mean[] = {0, 0.25}, flat[] = {0.64, -0.48, -0.48, 0.36};
    const double steep[] = {1e300, 1e300}, wide[] = {1e300, 0, 0, 1e300}, bad[] = {0, NAN};
    moeg_halves halves = {.d = 2, .outputs = 1, .v = v, .beta = beta};
    const moeg_contrast linear = moeg_contrast_linear(), own = moeg_contrast_user(3, no_features, NULL);
    const moeg_contrast empty = moeg_contrast_user(0, no_features, NULL), none = moeg_contrast_user(3, NULL, NULL);
    const moeg_contrast unknown = {.kind = (moeg_contrast_kind)9};
    moeg_law *law, *shifted, *singular, *far, *box, *three;
    double M[4] = {5, 5, 5, 5};
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_law_gaussian_create(&shifted, 2, mean, flat));
    assert_ok(moeg_law_gaussian_create(&singular, 2, NULL, flat));
    assert_ok(moeg_law_gaussian_create(&far, 2, NULL, wide));
    assert_ok(moeg_law_gaussian_create(&three, 3, NULL, NULL));
    assert_ok(moeg_law_box_create(&box, 2, mean, v));
#define CLOSED(halves, law, symmetric, contrast) moeg_symmetry_closed(halves, law, symmetric, contrast, M)
    assert_status(CLOSED(NULL, law, MOEG_SYMMETRIC_ZERO, &linear), MOEG_EINVAL,
                  "symmetry_closed: halves must not be NULL");
    assert_status(CLOSED(&halves, NULL, MOEG_SYMMETRIC_ZERO, &linear), MOEG_EINVAL,
                  "symmetry_closed: law must not be NULL");
    assert_status(CLOSED(&halves, law, MOEG_SYMMETRIC_ZERO, NULL), MOEG_EINVAL,
                  "symmetry_closed: contrast must not be NULL");
    assert_status(moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_ZERO, &linear, NULL), MOEG_EINVAL,
                  "symmetry_closed: M must not be NULL");
    assert_status(CLOSED(&halves, law, (moeg_symmetric)4, &linear), MOEG_EINVAL,
                  "the symmetric expert must be zero (0), constant (1), linear (2) or affine (3), got 4");
    assert_status(CLOSED(&halves, law, MOEG_SYMMETRIC_ZERO, &unknown), MOEG_EINVAL,
                  "contrast->kind must be constant (0), linear (1), affine (2) or user (3), got 9");
    assert_status(CLOSED(&halves, law, MOEG_SYMMETRIC_ZERO, &empty), MOEG_EINVAL,
                  "a contrast must have at least 1 feature, got 0");
    assert_status(CLOSED(&halves, law, MOEG_SYMMETRIC_ZERO, &none), MOEG_EINVAL, "contrast->function must not be NULL");
    assert_status(CLOSED(&halves, law, MOEG_SYMMETRIC_ZERO, &own), MOEG_EUNSUPPORTED,
                  "symmetry_closed: the contrast must be constant, linear or affine");
    assert_status(CLOSED(&halves, three, MOEG_SYMMETRIC_ZERO, &linear), MOEG_EINVAL,
                  "symmetry_closed: v has dimension 2, the law 3");
    assert_status(CLOSED(&halves, box, MOEG_SYMMETRIC_ZERO, &linear), MOEG_EUNSUPPORTED,
                  "symmetry_closed: the law must be Gaussian");
    assert_status(CLOSED(&halves, shifted, MOEG_SYMMETRIC_LINEAR, &linear), MOEG_EUNSUPPORTED,
                  "symmetry_closed: the mean of the law must be 0, got mean[1] = 0.25");
    assert_status(CLOSED(&halves, singular, MOEG_SYMMETRIC_ZERO, &linear), MOEG_EDOM,
                  "symmetry_closed: v.x does not vary under the law");
    halves.beta = steep;
    assert_status(CLOSED(&halves, far, MOEG_SYMMETRIC_ZERO, &linear), MOEG_ERANGE,
                  "symmetry_closed: M[0, 0] overflows");
    halves.beta = bad;
    assert_status(CLOSED(&halves, law, MOEG_SYMMETRIC_ZERO, &linear), MOEG_EINVAL,
                  "symmetry_closed: halves->beta[0, 1] must be finite, got nan");
#undef CLOSED
    for (size_t i = 0; i < 4; i++)
        assert_true(M[i] == 5);
    moeg_law_free(three);
    moeg_law_free(box);
    moeg_law_free(far);
    moeg_law_free(singular);
    moeg_law_free(shifted);
    moeg_law_free(law);
}

static moeg_status scenario(void *law)
{
    const double v[] = {0.6, 0.8}, beta[] = {0.7, -1.3};
    const moeg_halves halves = {.d = 2, .outputs = 1, .v = v, .beta = beta};
    const moeg_contrast linear = moeg_contrast_linear();
    double M[4] = {5, 5, 5, 5};
    const moeg_status status = moeg_symmetry_closed(&halves, law, MOEG_SYMMETRIC_AFFINE, &linear, M);
    for (size_t i = 0; i < 4; i++)
        assert_true(status == MOEG_OK || M[i] == 5);
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_int_equal(fail_every_allocation(scenario, law), 3);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_reference),
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(is_zero_where_it_should_be),
        cmocka_unit_test(scales_with_its_arguments),
        cmocka_unit_test(large_v_and_tau_of_small_x),
        cmocka_unit_test(turns_with_x),
        cmocka_unit_test(errors),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
