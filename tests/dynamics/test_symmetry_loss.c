/* Growth rates and thresholds of loss mixing, E psi psi': the reference cases, identities, errors. */
#include "dynamics/symmetry_cases.h"
#include "support/failing_alloc.h"
#include "support/random.h"

static void rates_equal_the_reference(void **state)
{
    (void)state;
    struct symmetry_case *cases = symmetry_cases();
    const moeg_symmetry_rates plain = moeg_symmetry_rates_default();
    size_t count = 0;
    for (size_t k = 0; k < CASES; k++) {
        const struct symmetry_case *c = &cases[k];
        moeg_law *law = symmetry_law(c);
        double Psi[25], growth;
        assert_ok(moeg_symmetry_feature_gram(law, &c->contrast, Psi));
        for (size_t t = 0; t < c->taus; t++, count++) {
            assert_ok(moeg_symmetry_growth_loss(c->d, c->outputs, c->p, c->M, Psi, c->rate_tau[t], &plain, &growth));
            assert_near(growth, c->growth_loss[t], 20 * EPS * (c->growth[t] + 4));
        }
        moeg_law_free(law);
    }
    assert_int_equal(count, 31 * CASE_TAUS);
    free(cases);
}

static double growth_at(double sigma, double tau, const moeg_symmetry_rates *rates)
{
    double growth;
    assert_ok(moeg_symmetry_growth(sigma, tau, rates, &growth));
    return growth;
}

/* With Psi = psi I: -(lambda_u + l)/2 + sqrt(((lambda_u - l)/2)^2 + eta_u eta_c sigma^2/tau^2), l = lambda_c +
 * 2 eta_c psi, two outputs. */
static void loss_mixing_decays_the_contrast(void **state)
{
    (void)state;
    enum { d = 3, m = 2, p = 2, q = m * p };
    const moeg_symmetry_rates rates = {0.8, 1.5, 0.3, 0.07}, harder = {0.8, 1.5, 0.3, 0.07 + 2 * 1.5 * 0.6};
    const double Psi[] = {0.6, 0, 0, 0.6}, taus[] = {0.01, 0.3, 1, 20};
    double M[d * q], sigma[d], growth, tau, expected;
    uint64_t seed = 82;
    for (size_t i = 0; i < d * q; i++)
        M[i] = next_normal(&seed);
    assert_ok(moeg_symmetry_spectrum(d, q, M, 0, sigma, NULL, NULL, NULL));
    for (size_t t = 0; t < 4; t++) {
        assert_ok(moeg_symmetry_growth_loss(d, m, p, M, Psi, taus[t], &rates, &growth));
        assert_near(growth, growth_at(sigma[0], taus[t], &harder), 20 * EPS * (sigma[0] / taus[t] + 2));
    }
    assert_ok(moeg_symmetry_threshold_loss(d, m, p, M, Psi, &rates, &tau));
    assert_ok(moeg_symmetry_threshold(sigma[0], &harder, &expected));
    assert_relative(tau, expected, 10 * EPS);
}

/* The growth rate of loss mixing changes sign at its threshold, Psi any, singular or not. */
static void loss_threshold_is_where_growth_is_zero(void **state)
{
    (void)state;
    enum { d = 3, m = 2, p = 3, q = m * p };
    const moeg_symmetry_rates rates = {0.8, 1.5, 0.3, 0.07};
    uint64_t seed = 83;
    for (size_t k = 0; k < 12; k++) {
        double B[p * p], Psi[p * p] = {0}, M[d * q], tau, growth;
        for (size_t i = 0; i < p * p; i++)
            B[i] = k % 3 == 2 && i % p == 0 ? 0 : next_normal(&seed);
        for (size_t i = 0; i < p; i++)
            for (size_t j = 0; j < p; j++)
                for (size_t l = 0; l < p; l++)
                    Psi[i * p + j] += B[i * p + l] * B[j * p + l];
        for (size_t i = 0; i < d * q; i++)
            M[i] = next_normal(&seed);
        assert_ok(moeg_symmetry_threshold_loss(d, m, p, M, Psi, &rates, &tau));
        assert_ok(moeg_symmetry_growth_loss(d, m, p, M, Psi, tau, &rates, &growth));
        assert_near(growth, 0, 1e-13);
        assert_ok(moeg_symmetry_growth_loss(d, m, p, M, Psi, tau * 0.999, &rates, &growth));
        assert_true(growth > 1e-6);
        assert_ok(moeg_symmetry_growth_loss(d, m, p, M, Psi, tau * 1.001, &rates, &growth));
        assert_true(growth < -1e-6);
    }
}

static void loss_thresholds_at_their_ends(void **state)
{
    (void)state;
    const double Psi[] = {1, 1, 1, 1}, along[] = {1, 1}, across[] = {1, -1}, zero[] = {0, 0};
    moeg_symmetry_rates rates = {1, 1, 0, 0};
    double tau;
    assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, along, Psi, &rates, &tau));
    assert_true(tau == INFINITY);
    assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, zero, Psi, &rates, &tau));
    assert_true(tau == 0);
    rates.lambda_u = 0.5;
    /* Along (1, 1)/sqrt 2 Psi is 2 and M is sqrt 2: sqrt 2/sqrt(2 2)/sqrt(0.5) = 1; across it Psi is 0. */
    assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, along, Psi, &rates, &tau));
    assert_relative(tau, 1.0, 10 * EPS);
    assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, across, Psi, &rates, &tau));
    assert_true(tau == INFINITY);
    rates.lambda_c = 0.25;
    assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, across, Psi, &rates, &tau));
    assert_relative(tau, 4.0, 10 * EPS); /* sqrt 2/sqrt(0.25)/sqrt(0.5) */
}

/* Features in units u_k: M u and u Psi u have the threshold of M and Psi where contrasts do not decay, that of the
 * singular values of M/sqrt 2. Where they do, that of a part where Psi is 0 is by lambda_c alone. */
static void loss_thresholds_do_not_know_units(void **state)
{
    (void)state;
    const moeg_symmetry_rates plain = {1, 1, 1, 0}, rates = {1, 1, 1, 1e-3}, slow = {1, 1, 1, 1e-30};
    const double M[] = {1, 0.5, 0.25, 2}, units[] = {1e9, 1e-9, 1e40, 1e-40, 1e150}, alone[] = {0, 1, 0, 0};
    double tau, sum = 0, squares = 0;
    for (size_t i = 0; i < 4; i++)
        squares += M[i] * M[i] / 2;
    sum = squares / 2 + sqrt(squares * squares / 4 - pow((M[0] * M[3] - M[1] * M[2]) / 2, 2));
    for (size_t k = 0; k < 5; k++) {
        const double u = units[k], Psi[] = {1, 0, 0, u * u}, scaled[] = {M[0], u * M[1], M[2], u * M[3]};
        const double mixed[] = {1, 0.5 * u, 0.5 * u, u * u}, degenerate[] = {1, u, u, u * u}, across[] = {u, -1};
        double expected;
        assert_ok(moeg_symmetry_threshold_loss(2, 1, 2, scaled, Psi, &plain, &tau));
        assert_relative(tau, sqrt(sum), 10 * EPS);
        /* 2 Psi = (2, 1; 1, 2), its inverse (2, -1; -1, 2)/3: of M = (1, 0) it is 2/3. */
        assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, (double[]){1, 0}, mixed, &plain, &expected));
        assert_relative(expected, sqrt(2.0 / 3), 20 * EPS);
        assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, across, degenerate, &plain, &tau));
        assert_true(tau == INFINITY);
        /* One feature, of which the other knows nothing. */
        assert_ok(moeg_symmetry_threshold_loss(1, 1, 2, (double[]){1, 0}, Psi, &rates, &tau));
        assert_relative(tau, sqrt(1 / 2.001), 10 * EPS);
        assert_ok(moeg_symmetry_threshold_loss(2, 1, 2, alone, (double[]){u * u, 0, 0, 0}, &slow, &tau));
        assert_relative(tau, 1e15, 10 * EPS);
    }
}

/* E psi psi' of N(mean, S). */
static void gram_of_features(void **state)
{
    (void)state;
    const double mean[] = {0.5, -2}, S[] = {1.7, 0.6, 0.6, 0.9}, far[] = {1e200, 0};
    const double expected[] = {1, 0.5, -2, 0.5, 1.95, -0.4, -2, -0.4, 4.9};
    const moeg_contrast one = moeg_contrast_constant(), linear = moeg_contrast_linear(), both = moeg_contrast_affine();
    moeg_contrast own = moeg_contrast_user(1, NULL, NULL);
    moeg_law *law, *box, *wide;
    double Psi[9];
    assert_ok(moeg_law_gaussian_create(&law, 2, mean, S));
    assert_ok(moeg_law_gaussian_create(&wide, 2, far, NULL));
    assert_ok(moeg_law_box_create(&box, 2, mean, S));
    assert_ok(moeg_symmetry_feature_gram(law, &both, Psi));
    for (size_t i = 0; i < 9; i++)
        assert_near(Psi[i], expected[i], 4 * EPS);
    assert_ok(moeg_symmetry_feature_gram(law, &linear, Psi));
    for (size_t i = 0; i < 4; i++)
        assert_near(Psi[i], expected[4 + i / 2 * 3 + i % 2], 4 * EPS);
    assert_ok(moeg_symmetry_feature_gram(law, &one, Psi));
    assert_true(Psi[0] == 1);
    Psi[0] = 5;
    assert_status(moeg_symmetry_feature_gram(NULL, &one, Psi), MOEG_EINVAL,
                  "symmetry_feature_gram: law must not be NULL");
    assert_status(moeg_symmetry_feature_gram(law, NULL, Psi), MOEG_EINVAL, "contrast must not be NULL");
    assert_status(moeg_symmetry_feature_gram(law, &one, NULL), MOEG_EINVAL, "Psi must not be NULL");
    assert_status(moeg_symmetry_feature_gram(law, &own, Psi), MOEG_EINVAL, "contrast->function must not be NULL");
    assert_status(moeg_symmetry_feature_gram(box, &one, Psi), MOEG_EUNSUPPORTED, "the law must be Gaussian");
    assert_status(moeg_symmetry_feature_gram(wide, &linear, Psi), MOEG_ERANGE,
                  "the moment of features 0 and 0 overflows");
    assert_true(Psi[0] == 5);
    moeg_law_free(wide);
    moeg_law_free(box);
    moeg_law_free(law);
}

static void errors(void **state)
{
    (void)state;
    const moeg_symmetry_rates good = moeg_symmetry_rates_default(), bad = {1, 1, -1, 0};
    const double M[] = {1, 2}, Psi[] = {1, 0, 0, 1}, skew[] = {1, 0.5, 0, 1}, indefinite[] = {1, 2, 2, 1};
    const double big[] = {1e308, 0}, bad_Psi[] = {1, 0, 0, NAN};
    double value = 5;
    assert_status(moeg_symmetry_growth_loss(1, 1, 2, M, Psi, 1, &bad, &value), MOEG_EINVAL,
                  "symmetry_growth_loss: rates->lambda_u must be finite and at least 0, got -1");
    assert_status(moeg_symmetry_threshold_loss(1, 1, 2, M, Psi, &bad, &value), MOEG_EINVAL,
                  "symmetry_threshold_loss: rates->lambda_u must be finite and at least 0, got -1");
#define LOSS(d, m, p, M, Psi, tau, out) moeg_symmetry_growth_loss(d, m, p, M, Psi, tau, &good, out)
    assert_status(LOSS(0, 1, 2, M, Psi, 1, &value), MOEG_EINVAL, "symmetry_growth_loss: d must be at least 1, got 0");
    assert_status(LOSS(1, 0, 2, M, Psi, 1, &value), MOEG_EINVAL, "symmetry_growth_loss: m must be at least 1, got 0");
    assert_status(LOSS(1, 1, 0, M, Psi, 1, &value), MOEG_EINVAL, "symmetry_growth_loss: p must be at least 1, got 0");
    assert_status(LOSS(1, SIZE_MAX / 2, 3, M, Psi, 1, &value), MOEG_EINVAL, "more than memory can hold");
    assert_status(LOSS(1, 1, 2, NULL, Psi, 1, &value), MOEG_EINVAL, "M must not be NULL");
    assert_status(LOSS(1, 1, 2, M, NULL, 1, &value), MOEG_EINVAL, "Psi must not be NULL");
    assert_status(LOSS(1, 1, 2, M, bad_Psi, 1, &value), MOEG_EINVAL, "Psi[1, 1] must be finite, got nan");
    assert_status(LOSS(1, 1, 2, M, skew, 1, &value), MOEG_EINVAL,
                  "Psi must be symmetric, got 0 at [1, 0] and 0.5 at [0, 1]");
    assert_status(LOSS(1, 1, 2, M, indefinite, 1, &value), MOEG_EINVAL,
                  "Psi must be positive semidefinite, got an eigenvalue of -1");
    assert_status(LOSS(1, 1, 2, M, Psi, 0, &value), MOEG_EINVAL, "tau must be in [1e-300, 1e300], got 0");
    assert_status(LOSS(1, 1, 2, M, Psi, 1, NULL), MOEG_EINVAL, "growth must not be NULL");
    assert_status(LOSS(1, 1, 2, big, Psi, 1e-300, &value), MOEG_ERANGE, "the matrix of the growth rates overflows");
#undef LOSS
    assert_status(moeg_symmetry_threshold_loss(1, 1, 2, M, skew, &good, &value), MOEG_EINVAL, "Psi must be symmetric");
    assert_status(moeg_symmetry_threshold_loss(1, 1, 2, M, Psi, &good, NULL), MOEG_EINVAL, "tau must not be NULL");
    const moeg_symmetry_rates slow = {1e308, 1e308, 1e-308, 1e-308};
    assert_status(moeg_symmetry_threshold_loss(1, 1, 2, big, Psi, &slow, &value), MOEG_ERANGE, "threshold overflows");
    assert_true(value == 5);
}

enum { d = 3, m = 2, p = 2 };

static const double matrix[d * m * p] = {1, 2, -0.5, 0.3, 0.9, -1.1, 0.2, 0.8, 1.4, -0.6, 0.7, 0.1};
static const double identity[p * p] = {1, 0, 0, 1};

static moeg_status growth_scenario(void *user)
{
    (void)user;
    const moeg_symmetry_rates rates = moeg_symmetry_rates_default();
    double growth = 5;
    const moeg_status status = moeg_symmetry_growth_loss(d, m, p, matrix, identity, 0.5, &rates, &growth);
    assert_true((status == MOEG_OK) == (growth != 5));
    return status;
}

static moeg_status threshold_scenario(void *user)
{
    (void)user;
    const moeg_symmetry_rates rates = {1, 1, 1, 1};
    double tau = 5;
    const moeg_status status = moeg_symmetry_threshold_loss(d, m, p, matrix, identity, &rates, &tau);
    assert_true((status == MOEG_OK) == (tau != 5));
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(growth_scenario, NULL), 6);
    assert_int_equal(fail_every_allocation(threshold_scenario, NULL), 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_equal_the_reference),
        cmocka_unit_test(loss_mixing_decays_the_contrast),
        cmocka_unit_test(loss_threshold_is_where_growth_is_zero),
        cmocka_unit_test(loss_thresholds_at_their_ends),
        cmocka_unit_test(loss_thresholds_do_not_know_units),
        cmocka_unit_test(gram_of_features),
        cmocka_unit_test(errors),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
