/* Exponent and constant of a power law: their error bars over many seeds, at widths near and far from 1 and with few
 * rows; constants out of the range of a double. */
#include "limit/boundary.h"
#include "support/coverage.h"

#include <float.h>

enum { RUNS = 1000, MOST_WIDTHS = 3 };
static const double level = 0.95;

/* P(Delta <= t) = C t^alpha, with alpha and C at each width estimated from `rows` rows. */
struct power_law {
    double alpha, C;
    size_t rows, nw;
    double w[MOST_WIDTHS];
    const moeg_router *router; /* of a law with a known exponent, or NULL: the power law itself, as data */
    const moeg_law *law;
};

static moeg_law *make_data(const struct power_law *p, uint64_t seed)
{
    double *x = malloc(p->rows * sizeof *x);
    moeg_law *data;
    assert_non_null(x);
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 99}, 0, p->rows, 1, x));
    for (size_t i = 0; i < p->rows; i++)
        x[i] = pow(x[i] / p->C, 1 / p->alpha);
    assert_ok(moeg_law_empirical_create(&data, p->rows, 1, x, NULL));
    free(x);
    return data;
}

/* Of few rows the caveat is not of interest here. */
static moeg_status estimate(uint64_t seed, void *user, moeg_estimate *e)
{
    const struct power_law *p = user;
    moeg_sampling s = options(MOEG_METHOD_MC, p->rows, seed);
    s.max_threads = 1;
    s.level = level;
    moeg_law *data = p->law == NULL ? make_data(p, seed) : NULL;
    const moeg_status status = moeg_boundary_exponent(p->router, moeg_gap_margin(), p->law == NULL ? data : p->law,
                                                      p->nw, p->w, &s, e, e + p->nw, NULL);
    moeg_law_free(data);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

/* Coverage, and the size of standard errors of alpha and, where it is not 0, of the constants: those of the delta
 * method are of log C, and say little of C where they are not small beside it. */
static void check(struct power_law p, int constants)
{
    double truths[2 * MOST_WIDTHS];
    coverage verdicts[2 * MOST_WIDTHS];
    for (size_t j = 0; j < p.nw; j++) {
        truths[j] = p.alpha;
        truths[p.nw + j] = p.C;
    }
    coverage_run(estimate, &p, 2 * p.nw, truths, level, RUNS, COVERAGE_MAY_BIAS, verdicts);
    for (size_t j = 0; j < 2 * p.nw; j++) {
        const coverage *c = &verdicts[j];
        /* Clopper-Pearson intervals, a part of C's, are longer than nominal. */
        assert_true(c->finite && c->covered >= c->least && (c->covered <= c->most || j >= p.nw));
        assert_true((j >= p.nw && !constants) || fabs(c->ratio - 1) <= 4 * c->ratio_sd);
    }
}

static void exact_power_laws(void **state)
{
    (void)state;
    const double W[2] = {1, 0};
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    check((struct power_law){1.7, 1, 300, 2, {0.5, 0.8}, router, NULL}, 1);
    check((struct power_law){1, 0.8, 300, 3, {0.3, 0.7, 1}, router, NULL}, 1);
    check((struct power_law){2, 2e6, 1000, 2, {3e-4, 5e-4}, router, NULL}, 0);  /* far below 1 */
    check((struct power_law){0.5, 3e-4, 1000, 2, {1e5, 1e6}, router, NULL}, 0); /* far above 1 */
    /* A handful of rows below w. */
    check((struct power_law){1, 1, 200, 2, {0.05, 0.1}, router, NULL}, 0);
    check((struct power_law){2, 2e6, 200, 2, {1.6e-4, 2e-4}, router, NULL}, 0);
    moeg_router_free(router);
}

/* At widths where P(Delta <= t) is C t^alpha but for a hundredth of the error bars. */
static void laws_with_known_exponents(void **state)
{
    (void)state;
    static const double root = 0.79788456080286535588; /* sqrt(2/pi) */
    static const struct {
        double scale;
        moeg_margin_family family;
        double parameter, alpha, C, w[2];
    } cases[] = {
        {1, MOEG_MARGIN_POWER, 1, 1, 0.79788456080286535588, {0.1, 0.15}},
        {1, MOEG_MARGIN_POWER, 2, 0.5, 0.79788456080286535588, {0.01, 0.0225}},
        {1e6, MOEG_MARGIN_POWER, 3, 1.0 / 3, 0.79788456080286535588e-2, {1e3, 3.375e3}},
        {1, MOEG_MARGIN_POWER, 5, 0.2, 0.79788456080286535588, {1e-5, 7.6e-5}},
        {1, MOEG_MARGIN_RAYLEIGH, 0, 2, 0.5, {0.3, 0.4}},
    };
    assert_near(root, sqrt(2 / acos(-1)), 2 * EPS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        moeg_router *router;
        moeg_law *law;
        make_family(cases[i].scale, cases[i].family, cases[i].parameter, &router, &law);
        struct power_law p = {cases[i].alpha, cases[i].C, 600, 2, {cases[i].w[0], cases[i].w[1]}, router, law};
        check(p, p.alpha <= 1);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

/* At w = 1 the interval of C is that of the mass. */
static void the_constant_at_one_is_the_mass(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 71, 3, 2, 1);
    const moeg_sampling s = options(MOEG_METHOD_MC, 500, 3);
    const double one = 1;
    moeg_estimate mass, alpha, C;
    assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_order(2), p.law, 1, &one, &s, &mass));
    assert_ok(moeg_boundary_exponent(p.router, moeg_gap_order(2), p.law, 1, &one, &s, &alpha, &C, NULL));
    /* A logarithm and its exponential. */
    assert_relative(C.value, mass.value, 4 * EPS);
    assert_relative(C.lo, mass.lo, 16 * EPS);
    assert_relative(C.hi, mass.hi, 16 * EPS);
    assert_relative(C.std_error, mass.std_error, 8 * EPS);
    assert_near(C.level, s.level, 0);
    assert_int_equal(C.n, 500);
    problem_free(&p);
}

/* w^alpha past the range of a double, in either direction. */
static void constants_out_of_range(void **state)
{
    (void)state;
    static const double scales[] = {1e-250, 1e250};
    for (size_t i = 0; i < 2; i++) {
        moeg_router *router;
        moeg_law *law;
        make_family(scales[i], MOEG_MARGIN_RAYLEIGH, 0, &router, &law);
        const double w = scales[i] / 2;
        const moeg_sampling s = options(MOEG_METHOD_MC, 1000, 3);
        moeg_estimate alpha, C;
        assert_ok(moeg_boundary_exponent(router, moeg_gap_margin(), law, 1, &w, &s, &alpha, NULL, NULL));
        assert_true(fabs(alpha.value - 2) < 1);
        assert_status(moeg_boundary_exponent(router, moeg_gap_margin(), law, 1, &w, &s, &alpha, &C, NULL), MOEG_EUNABLE,
                      "boundary_exponent: C at w[0] = ");
        assert_non_null(strstr(moeg_last_error(), "is out of the range of a double"));
        assert_near(C.value, i == 0 ? INFINITY : 0, 0);
        assert_true(C.lo == 0 && C.hi == INFINITY && C.std_error == INFINITY);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_power_laws),
        cmocka_unit_test(laws_with_known_exponents),
        cmocka_unit_test(the_constant_at_one_is_the_mass),
        cmocka_unit_test(constants_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
