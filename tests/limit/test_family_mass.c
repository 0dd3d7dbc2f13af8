/* Laws with a known margin exponent: masses against closed forms, and margin conditions against masses. */
#include "limit/margin_laws.h"

static double mass_of(const struct member *m, double c, double w)
{
    moeg_law *law;
    moeg_router *router = make_router(c);
    const moeg_sampling s = by(MOEG_METHOD_AUTO);
    moeg_estimate mass;
    assert_ok(moeg_law_margin_create(&law, D, m->family, m->parameter));
    assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &mass));
    assert_int_equal(mass.method, MOEG_METHOD_LINE);
    assert_true(mass.lo == mass.value && mass.hi == mass.value && mass.quad_error == 0);
    moeg_router_free(router);
    moeg_law_free(law);
    return mass.value;
}

static void masses(void **state)
{
    (void)state;
    const double c = -2.5, root = 0.70710678118654752440;
    for (double w = 1e-300; w < 1e300; w *= 1234.5) {
        for (size_t i = 0; i < MEMBERS; i++)
            if (members[i].family == MOEG_MARGIN_POWER)
                assert_relative(mass_of(&members[i], c, w),
                                (double)erfl(expl((logl(w) - logl(2.5L)) / members[i].parameter) * root), 8 * EPS);
        assert_relative(mass_of(&members[7], c, w), (double)-expm1l(-(w / 2.5L) * (w / 2.5L) / 2), 8 * EPS);
    }
    /* Next to Delta_0 = 0.731 c, no digit is lost: w - c Delta_0 is exact. */
    const struct member *bounded = &members[9];
    const double edge = 0.731 * 2.5, above = nextafter(edge, 2), far = edge * (1 + 1e-9);
    for (int k = 0; k < 2; k++) {
        const double w = k == 0 ? nextafter(above, 2) : far;
        const long double excess = ((long double)w - edge) - (long double)fma(0.731, 2.5, -edge);
        assert_relative(mass_of(bounded, c, w), (double)erfl(excess / 2.5L * root), 4 * EPS);
    }
    /* Nor where roots are of a high order: all that has mass is within some p of the scale. */
    for (double p = 1e-3; p > 1e-17; p *= 1e-2) {
        const struct member steep = {MOEG_MARGIN_POWER, p};
        const double w = 0.7 * (1 + 2 * p) == 0.7 ? nextafter(0.7, 1) : 0.7 * (1 + 2 * p);
        const long double z = expl(log1pl(((long double)w - 0.7) / 0.7) / p);
        assert_relative(mass_of(&steep, 0.7, w), (double)erfl(z * root), 8 * EPS);
    }
    assert_near(mass_of(bounded, c, nextafter(edge, 0)), 0, 0);
    assert_near(mass_of(bounded, c, 0), 0, 0);
    assert_near(mass_of(bounded, c, 1e300), 1, 0);
}

/* P(|s| <= t) <= C t^alpha for every t <= t0, and C is the limit of the ratio where it is not 0. */
static void conditions(void **state)
{
    (void)state;
    static const double scales[] = {1, -0.37, 1e3};
    for (size_t i = 1; i < MEMBERS; i++)
        for (size_t k = 0; k < 3; k++) {
            moeg_law *law;
            moeg_router *router = make_router(scales[k]);
            moeg_margin_condition condition;
            assert_ok(moeg_law_margin_create(&law, D, members[i].family, members[i].parameter));
            assert_ok(moeg_bound_margin_condition(router, law, &condition));
            const double alpha = members[i].family == MOEG_MARGIN_RAYLEIGH ? 2
                                 : members[i].family == MOEG_MARGIN_POWER  ? 1 / members[i].parameter
                                                                           : 1;
            assert_relative(condition.alpha, alpha, EPS);
            const double c = fabs(0.25 + scales[k] - 0.25);
            if (members[i].family == MOEG_MARGIN_BOUNDED && members[i].parameter > 0) {
                assert_near(condition.C, 0, 0);
                assert_relative(condition.t0, c * members[i].parameter, 4 * EPS);
                assert_true(mass_of(&members[i], scales[k], condition.t0) == 0);
            } else {
                assert_true(isinf(condition.t0));
                const double first = members[i].family == MOEG_MARGIN_RAYLEIGH ? 0.5 : 0.79788456080286535588;
                assert_relative(condition.C, first * pow(c, -alpha), (8 + 2 * alpha * fabs(log(c))) * EPS);
                for (double t = 1e-100; t < 1e100; t *= 1.37) {
                    const double mass = mass_of(&members[i], scales[k], t);
                    const long double bound = condition.C * powl(t, condition.alpha);
                    assert_true(mass <= bound * (1 + EPS));
                }
            }
            moeg_router_free(router);
            moeg_law_free(law);
        }
}

/* Where C is subnormal it is rounded up too. */
static void conditions_of_huge_scales(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        const struct member root = {MOEG_MARGIN_POWER, 0.5 - 1e-4 * i};
        const double scale = 4e154 * pow(1.01, i), t = 1e144;
        moeg_law *law;
        moeg_router *router = make_router(scale);
        moeg_margin_condition condition;
        assert_ok(moeg_law_margin_create(&law, D, root.family, root.parameter));
        assert_ok(moeg_bound_margin_condition(router, law, &condition));
        assert_true(condition.C < DBL_MIN);
        assert_true(mass_of(&root, scale, t) <= condition.C * powl(t, condition.alpha) * (1 + EPS));
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

/* Gaussian: at several means, on a dense grid; tight at 0 for |mean| <= sigma. */
static void gaussian_conditions(void **state)
{
    (void)state;
    static const double means[] = {0, 0.5, -1, 1.01, 3, -20};
    const double W[2] = {1.7, -0.8}, b[2] = {0, 0}, sigma = 2.5;
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, b));
    for (size_t i = 0; i < 6; i++) {
        moeg_law *law;
        moeg_margin_condition condition;
        const moeg_sampling s = by(MOEG_METHOD_LINE);
        const double z = fabs(means[i]);
        double largest = 0;
        assert_ok(moeg_law_gaussian_create(&law, 1, &means[i], NULL));
        assert_ok(moeg_bound_margin_condition(router, law, &condition));
        assert_true(condition.alpha == 1 && isinf(condition.t0));
        assert_relative(condition.C,
                        z <= 1 ? 2 * exp(-z * z / 2) / (2.5066282746310005 * sigma)
                               : (1 + exp(-z * z / 2)) / (2.5066282746310005 * sigma),
                        8 * EPS);
        for (double t = 1e-9; t < 1e3; t *= 1.007) {
            moeg_estimate mass;
            assert_ok(moeg_boundary_mass(router, law, 1, &t, &s, &mass));
            assert_true(mass.value <= condition.C * t * (1 + EPS));
            largest = fmax(largest, mass.value / (condition.C * t));
        }
        assert_true(z <= 1 ? largest > 1 - 1e-12 : largest > 0.1);
        moeg_law_free(law);
    }
    moeg_router_free(router);
    /* Constant differences: no mass below them. */
    const double same[2] = {0.5, 0.5}, bias[2] = {0.3, -0.2}, masked[2] = {0.3, -INFINITY}, mean = 2.385;
    moeg_law *law;
    moeg_margin_condition condition = {42, 42, 42};
    assert_ok(moeg_law_gaussian_create(&law, 1, &mean, NULL));
    assert_ok(moeg_router_affine_create(&router, 2, 1, same, bias));
    assert_ok(moeg_bound_margin_condition(router, law, &condition));
    assert_true(condition.C == 0 && condition.t0 < 0.5 && condition.t0 > 0.5 * (1 - 8 * EPS));
    moeg_router_free(router);
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, masked));
    assert_ok(moeg_bound_margin_condition(router, law, &condition));
    assert_true(condition.C == 0 && isinf(condition.t0));
    moeg_router_free(router);
    assert_ok(moeg_router_affine_create(&router, 2, 1, same, b));
    condition.C = 42;
    assert_status(moeg_bound_margin_condition(router, law, &condition), MOEG_EDOM, "the logits tie everywhere");
    moeg_router_free(router);
    const double narrow[2] = {1e-310, 0};
    assert_ok(moeg_router_affine_create(&router, 2, 1, narrow, b));
    assert_status(moeg_bound_margin_condition(router, law, &condition), MOEG_ERANGE, "C overflows");
    moeg_router_free(router);
    assert_near(condition.C, 42, 0);
    moeg_law_free(law);
}

static void condition_errors(void **state)
{
    (void)state;
    moeg_law *law, *wide, *data;
    moeg_router *router = make_router(1e-4), *three;
    moeg_margin_condition condition = {42, 42, 42};
    const double W[3 * D] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, b[3] = {0};
    assert_ok(moeg_law_margin_create(&law, D, MOEG_MARGIN_POWER, 0.01));
    assert_ok(moeg_law_margin_create(&wide, D + 1, MOEG_MARGIN_RAYLEIGH, 0));
    assert_ok(moeg_law_empirical_create(&data, 3, D, W, NULL));
    assert_ok(moeg_router_affine_create(&three, 3, D, W, b));
#define CONDITION(router, law, out) moeg_bound_margin_condition(router, law, out)
    assert_status(CONDITION(NULL, law, &condition), MOEG_EINVAL, "bound_margin_condition: router must not be NULL");
    assert_status(CONDITION(router, NULL, &condition), MOEG_EINVAL, "law must not be NULL");
    assert_status(CONDITION(router, law, NULL), MOEG_EINVAL, "condition must not be NULL");
    assert_status(CONDITION(router, wide, &condition), MOEG_EINVAL, "takes dimension 3, the law has 4");
    assert_status(CONDITION(router, data, &condition), MOEG_EUNSUPPORTED, "the law is not Gaussian");
    assert_status(CONDITION(three, law, &condition), MOEG_EUNSUPPORTED, "more than two experts");
    assert_status(CONDITION(router, law, &condition), MOEG_ERANGE, "overflows: alpha = 100");
    moeg_law *sharp;
    assert_ok(moeg_law_margin_create(&sharp, D, MOEG_MARGIN_POWER, 1e-310));
    assert_status(CONDITION(router, sharp, &condition), MOEG_ERANGE, "overflows: alpha = inf");
    moeg_law_free(sharp);
    assert_near(condition.C + condition.alpha + condition.t0, 126, 0);
    moeg_router_free(router);
    moeg_router_free(three);
    moeg_law_free(law);
    moeg_law_free(wide);
    moeg_law_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses),
        cmocka_unit_test(conditions),
        cmocka_unit_test(conditions_of_huge_scales),
        cmocka_unit_test(gaussian_conditions),
        cmocka_unit_test(condition_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
