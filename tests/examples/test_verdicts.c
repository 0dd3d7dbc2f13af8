/* Each claim that the examples check is broken in turn, in what was measured or in what theory says: the verdict names
 * it, and the status is that of a program that disagrees. */
#include "support/check.h"

#include "../../examples/support/breaking.h"
#include "../../examples/support/cooling.h"
#include "../../examples/support/nearties.h"
#include "../../examples/support/routed.h"
#include "../../examples/support/scaling.h"

#include <stdlib.h>

static char *said;
static size_t said_size;

static FILE *listen(void)
{
    free(said);
    return open_memstream(&said, &said_size);
}

/* No claim fails (NULL), or this one: a line begins with "FAILS" and the claim, and the last one repeats it. */
static void assert_verdict(int status, FILE *out, const char *claim)
{
    char line[256];
    fclose(out);
    if (claim == NULL) {
        if (status != EXIT_SUCCESS || strstr(said, "FAILS") != NULL || strstr(said, "\nagrees with theory: ") == NULL)
            fail_msg("expected agreement:%s", said);
        return;
    }
    snprintf(line, sizeof line, "\n  FAILS %s", claim);
    const char *last = strstr(said, "\nDISAGREES: ");
    if (status != EXIT_DISAGREES || strstr(said, line) == NULL || last == NULL || strstr(last, claim) == NULL)
        fail_msg("expected status %d and that this fails: %s, got %d:%s", EXIT_DISAGREES, claim, status, said);
}

/* Measures, does something to it, and judges: `name` is what the measurement is called in there. */
#define VERDICT(type, name, measure, broken, claim)                                                                    \
    do {                                                                                                               \
        type name = measure;                                                                                           \
        broken;                                                                                                        \
        FILE *out = listen();                                                                                          \
        const int status = type##_judge(&name, out);                                                                   \
        assert_verdict(status, out, claim);                                                                            \
        type##_free(&name);                                                                                            \
    } while (0)
#define AS_IT_IS (void)0

/* An interval of no width, elsewhere than the value. */
static void displace(moeg_estimate *e)
{
    e->lo = e->hi = 1.3 * e->value;
}

static scaling measure_scaling(const scaling_family *family)
{
    moeg_sampling s = moeg_sampling_default();
    s.n = 1 << 16;
    return scaling_measure(family, (grid){family->lowest, 1, 25}, &s);
}

static void scaling_claims(void **state)
{
    (void)state;
    scaling_family f = *scaling_find("affine");
    VERDICT(scaling, c, measure_scaling(&f), AS_IT_IS, NULL);
    VERDICT(scaling, c, measure_scaling(&f), c.leading[3] *= 0.999, "0 <= 1 - gap/leading <= next term");
    VERDICT(scaling, c, measure_scaling(&f), c.leading[3] *= 1.001, "0 <= 1 - gap/leading <= next term");
    VERDICT(scaling, c, measure_scaling(&f), c.bound[7] = 0.99 * fabs(c.line[7].value), "|gap| <= certified bound");
    VERDICT(scaling, c, measure_scaling(&f), displace(&c.sampled[24]), "quadrature inside the sampled interval");
    VERDICT(scaling, c, measure_scaling(&f), f.alpha = 1.011, "the order alpha is 1.011");
    VERDICT(scaling, c, measure_scaling(&f), f.alpha = 1.2, "fitted to");
    f = *scaling_find("bounded");
    VERDICT(scaling, c, measure_scaling(&f), AS_IT_IS, NULL);
    VERDICT(scaling, c, measure_scaling(&f), c.term.rate = 0.511, "the rate of exponential decay in 1/tau is 0.511");
}

static nearties measure_nearties(nearties_problem problem)
{
    moeg_sampling s = moeg_sampling_default();
    s.n = 1 << 17;
    return nearties_measure(problem, (grid){1e-6, 10, 15}, &s);
}

/* Every width is given an exponent that is wrong. */
static void wrong_exponents(nearties *t)
{
    for (size_t i = 0; i < t->n; i++)
        displace(&t->exponent[i]);
}

static void wrong_leading(nearties *t, double factor)
{
    for (size_t i = 0; i < t->n; i++)
        t->leading[i] *= factor;
}

static void claims_of_two_experts(void **state)
{
    (void)state;
    VERDICT(nearties, t, measure_nearties(nearties_two()), AS_IT_IS, NULL);
    VERDICT(nearties, t, measure_nearties(nearties_two()), t.leading[4] *= 1.001, "mass/(slope w) -> 1");
    VERDICT(nearties, t, measure_nearties(nearties_two()), displace(&t.sampled[9]),
            "exact mass inside the sampled interval");
    VERDICT(nearties, t, measure_nearties(nearties_two()), t.bound[3] *= 1.0001,
            "the pairwise bound of one pair is the mass");
    VERDICT(nearties, t, measure_nearties(nearties_two()), wrong_exponents(&t), "alpha = 1 inside Hill's interval");
    VERDICT(nearties, t, measure_nearties(nearties_two()), displace(&t.quantile[2]),
            "widths of given masses inside their intervals");
}

static void claims_of_five_experts(void **state)
{
    (void)state;
    VERDICT(nearties, t, measure_nearties(nearties_five_order(2)), AS_IT_IS, NULL);
    VERDICT(nearties, t, measure_nearties(nearties_five_order(2)), wrong_exponents(&t),
            "alpha = 2 inside Hill's interval");
    VERDICT(nearties, t, measure_nearties(nearties_five_order(2)), wrong_leading(&t, 1.5), "mass/w^2 is C");
    VERDICT(nearties, t, measure_nearties(nearties_five_order(1)), wrong_leading(&t, 0.7), "mass/w^1 is C");
    VERDICT(nearties, t, measure_nearties(nearties_five_order(1)), t.bound[12] = 0.9 * t.sampled[12].lo,
            "the pairwise bound holds");
    VERDICT(nearties, t, measure_nearties(nearties_five_top(2)), t.slope = 0.99 * t.problem.constant,
            "its slope is above that of the mass");
    VERDICT(nearties, t, measure_nearties(nearties_five_top(3)), displace(&t.quantile[1]),
            "widths of given masses inside their intervals");
}

static void cooling_claims(void **state)
{
    (void)state;
    cooling_options o = {.data = {.path = MOEG_EXAMPLE_DATA "/diabetes.csv", .target = "progression", .standardize = 1},
                         .gate = moeg_gate_softmax(),
                         .centroids = 4,
                         .quick = 1};
    VERDICT(cooling, c, cooling_measure(&o), AS_IT_IS, NULL);
    VERDICT(cooling, c, cooling_measure(&o), c.mass[5].value += 1.0 / 442, "BM(w) is the share of rows");
    VERDICT(cooling, c, cooling_measure(&o), displace(&c.mass[9]), "BM(w) is the share of rows");
    VERDICT(cooling, c, cooling_measure(&o), c.soft[2].value *= 1 + 1e-9, "L_tau - L_0 is the gap summed row by row");
    VERDICT(cooling, c, cooling_measure(&o), c.fit[1].residual *= 1 + 1e-6,
            "L_0 is the residual of the fitted experts");
    VERDICT(cooling, c, cooling_measure(&o), c.moment[6] = 0.99 * fabs(c.gap[6].value),
            "|gap| <= mu mean of Q exp(-margin/tau)");
    VERDICT(cooling, c, cooling_measure(&o), c.bounded[6] = 0.99 * fabs(c.gap[6].value),
            "|gap| <= 4 B (B + M) mu C tau");
    o.gate = (moeg_gate){MOEG_GATE_TOPK_RENORM, 1};
    VERDICT(cooling, c, cooling_measure(&o), c.gap[6].value = 1e-300,
            "one expert renormalised to 1 is the hard router");
}

/* The curve of one order more or less. */
static void tilt(routed_curve *c, double order)
{
    for (size_t i = 0; i < c->n; i++) {
        const double factor = pow(c->x[i], order);
        c->line[i].value *= factor;
        c->line[i].std_error *= factor;
        c->line[i].lo *= factor;
        c->line[i].hi *= factor;
        for (size_t j = 0; j < c->n && c->covariance != NULL; j++)
            c->covariance[i * c->n + j] *= factor * pow(c->x[j], order);
    }
}

static void claims_of_a_router(const routed *r, const char *experts)
{
    moeg_sampling s = moeg_sampling_default();
    const grid x = {1e-12, 1, 13};
    s.n = 4096;
#define GAP(broken, claim) VERDICT(routed_curve, c, routed_gap(r, experts, x, &s), broken, claim)
#define MASS(broken, claim) VERDICT(routed_curve, c, routed_mass(r, moeg_gap_margin(), 1, x, &s), broken, claim)
    GAP(AS_IT_IS, NULL);
    MASS(AS_IT_IS, NULL);
    GAP(displace(&c.line[12]), "the intervals of");
    MASS(displace(&c.sampled[12]), "the intervals of");
    GAP(c.bound[2] = 0.5 * fabs(c.line[2].value), "|gap| <= ");
    MASS(c.bound[12] = 0.5 * c.sampled[12].value, "|mass| <= ");
    GAP(tilt(&c, 0.011), "the order in tau is 1");
    MASS(tilt(&c, -0.02), "the order in w is 1");
    GAP(displace(&c.constant), "gap/leading -> 1");
    MASS(displace(&c.line[0]), "mass/leading -> 1");
}

static void routed_claims(void **state)
{
    (void)state;
    const routed_options lines = {.K = 4, .d = 6}, plane = {.K = 3, .d = 7};
    routed r = routed_read(&lines, 1);
    claims_of_a_router(&r, "affine");
    routed_free(&r);
    r = routed_read(&plane, 1);
    claims_of_a_router(&r, "constant");
    routed_free(&r);
}

/* Judged with one number replaced by another. */
static void break_symmetry(const breaking *b, double *number, double value, const char *claim)
{
    const double saved = *number;
    FILE *out = listen();
    *number = value;
    assert_verdict(breaking_judge(b, out), out, claim);
    *number = saved;
}

/* Growth that is a power p of |u| becomes one of p + more. */
static void steepen(breaking_course *c, double more)
{
    for (size_t i = 0; i < c->n; i++)
        c->rate[i] *= pow(c->size[i], more);
}

static void breaking_claims(void **state)
{
    (void)state;
    breaking_options o = {.d = 3, .tau = {0.1, 0.5, 2}, .s = moeg_sampling_default(), .quick = 1};
    o.s.n = 1000;
    breaking b = breaking_measure(&o);
    breaking_operator *m = &b.operator[1];
    breaking_growth *plane = &b.growth[0], *sampled = &b.growth[b.taus], *cell = &b.phase[3];
    breaking_course *last = &b.course[b.courses - 1];
    assert_true(plane->d == 0 && sampled->d == 3);
    break_symmetry(&b, &m->sigma, m->sigma, NULL);
    break_symmetry(&b, &m->plane[5], m->plane[5] + 1e-6, "M in closed form is that of the plane");
    break_symmetry(&b, &m->sampled[4].lo, m->closed[4] + 1e-6, "M in closed form is inside the sampled intervals");
    break_symmetry(&b, &m->sampled[4].hi, m->closed[4] - 1e-6, "M in closed form is inside the sampled intervals");
    break_symmetry(&b, &plane->measured.value, 1.011 * plane->predicted,
                   "growth is sigma1/tau to 1 %, flow of the population");
    break_symmetry(&b, &sampled->measured.value, 0.989 * sampled->predicted,
                   "growth is sigma1/tau to 1 %, flow of the sample");
    break_symmetry(&b, &plane->with_v, 0.98, "where beta is along v, u ends along v");
    break_symmetry(&b, &sampled->with_top, 0.98, "u ends in the directions that grow fastest");
    break_symmetry(&b, &b.threshold[2].below.measured.value, -1e-3, "the critical tau with decay");
    break_symmetry(&b, &b.threshold[0].above.measured.value, 1e-3, "the critical tau with decay");
    break_symmetry(&b, &cell->measured.value, -cell->measured.value, "the flow parts where sigma1/tau > lambda");
    break_symmetry(&b, &last->size[last->n - 1], 0.5 * last->tau, "where M = 0, u leaves algebraically");
    for (size_t i = 0; i < last->n; i++)
        last->rate[i] *= 1.08;
    break_symmetry(&b, &m->sigma, m->sigma, "where M = 0, u leaves algebraically");
    for (size_t i = 0; i < last->n; i++)
        last->rate[i] /= 1.08;
    steepen(last, -0.15);
    break_symmetry(&b, &m->sigma, m->sigma, "where M = 0, u leaves algebraically");
    breaking_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaling_claims),         cmocka_unit_test(claims_of_two_experts),
        cmocka_unit_test(claims_of_five_experts), cmocka_unit_test(cooling_claims),
        cmocka_unit_test(routed_claims),          cmocka_unit_test(breaking_claims),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(said);
    return failed;
}
