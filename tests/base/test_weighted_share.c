/* Weighted shares: against Clopper and Pearson's intervals, against those of real numbers of units, and their coverage
 * where weights have to do with the event. */
#include "support/coverage.h"
#include "support/estimates.h"
#include "support/random.h"

#include <moegeom/moegeom.h>

enum { DRAWN = 400 };

/* How often the event is drawn, and what weight it then has on average, with the logarithms' spread. */
struct event {
    double often, weight, spread;
};

static moeg_status estimate_share(uint64_t seed, void *user, moeg_estimate *out)
{
    const struct event *e = user;
    double sums[2][2] = {{0}};
    uint64_t count = 0;
    for (size_t i = 0; i < DRAWN; i++) {
        const int event = 0.5 + 0.5 * next_uniform(&seed) <= e->often;
        const double w = (event ? e->weight : 1) * exp(e->spread * next_normal(&seed));
        sums[event][0] += w;
        sums[event][1] += w * w;
        count += (uint64_t)event;
    }
    return moeg_estimate_weighted_proportion(count, DRAWN, sums[1], sums[0], 0.95, MOEG_METHOD_MC, out);
}

/* Weights that have nothing to do with the event, and events that weigh more or less than the rest: intervals that see
 * the weights alone hold the truth 0.70 of the time in the fourth case. */
static void shares_are_covered(void **state)
{
    (void)state;
    struct event events[] = {{0.3, 1, 0.8}, {0.03, 1, 0.8}, {0.05, 10, 0},
                             {0.02, 10, 0}, {0.1, 5, 0.4},  {0.05, 0.1, 0}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        const double q = events[i].often, p = q * events[i].weight / (q * events[i].weight + 1 - q);
        assert_coverage(estimate_share, &events[i], 1, &p, 0.95, 1000, COVERAGE_AT_LEAST | COVERAGE_MAY_BIAS);
    }
}

/* X ~ N(0, 1) judged as N(1, 1): the event {x > 1.5} is drawn seldom, and has the largest weights. */
static moeg_status estimate_tail(uint64_t seed, void *user, moeg_estimate *out)
{
    (void)user;
    double sums[2][2] = {{0}};
    uint64_t count = 0;
    for (size_t i = 0; i < DRAWN; i++) {
        const double x = next_normal(&seed), w = exp(x - 0.5);
        sums[x > 1.5][0] += w;
        sums[x > 1.5][1] += w * w;
        count += x > 1.5;
    }
    return moeg_estimate_weighted_proportion(count, DRAWN, sums[1], sums[0], 0.95, MOEG_METHOD_MC, out);
}

static void importance_weights_are_covered(void **state)
{
    (void)state;
    const double p = 0.5 * erfc(0.5 / sqrt(2));
    assert_coverage(estimate_tail, NULL, 1, &p, 0.95, 1000, COVERAGE_AT_LEAST | COVERAGE_MAY_BIAS);
}

/* {sum w, sum w^2} of `count` weights w. */
static void sum_equal(uint64_t count, double w, double *sums)
{
    sums[0] = (double)count * w;
    sums[1] = (double)count * w * w;
}

static void equal_weights_are_counts(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 18, 1000, (uint64_t)1 << 40};
    for (size_t k = 0; k < 4; k++)
        for (uint64_t step = 0; step <= (k == 0 ? 1 : 18); step++) {
            const uint64_t n = sizes[k], count = k == 0 ? step : n / 18 * step + (step == 18 ? n % 18 : 0);
            double inside[2], outside[2];
            moeg_estimate a, b;
            sum_equal(count, k < 2 ? 1 : 0.2385, inside);
            sum_equal(n - count, k < 2 ? 1 : 0.2385, outside);
            /* Without the event, or without the rest, nobody looks at the sums. */
            assert_ok(moeg_estimate_weighted_proportion(count, n, count > 0 ? inside : NULL, count < n ? outside : NULL,
                                                        0.99, MOEG_METHOD_LINE, &a));
            assert_ok(moeg_estimate_proportion(count, n, 0.99, MOEG_METHOD_LINE, &b));
            assert_near(a.value, b.value, 4 * EPS * b.value);
            /* Of so many units the limits are near the share, and their distance from it loses digits. */
            assert_near(a.lo, b.lo, 1e-12 * b.lo);
            assert_near(a.hi, b.hi, 1e-12 * b.hi);
            assert_near(a.std_error, b.std_error, 16 * EPS * b.std_error);
            assert_true(a.n == n && a.contributing == count && a.level == 0.99 && a.method == MOEG_METHOD_LINE);
        }
}

/* scipy.stats.beta.ppf(0.025, x, y + 1), ppf(0.975, x + 1, y) of x = share * units, y = (1 - share) * units. */
static void shares_between_whole_numbers(void **state)
{
    (void)state;
    static const struct {
        uint64_t count, n;
        double inside[2], outside[2], lo, hi;
    } cases[] = {
        {3, 40, {2.5, 2.25}, {11, 9.5}, 0.0369188061534462173, 0.463272527031443577},
        {7, 400, {70, 700}, {393, 393}, 0.0680363462711342254, 0.275367121876441208},
        {2, 50, {0.0625, 0.00390625}, {48, 60}, 1.49413800592781323e-34, 0.0938947649997008833},
        {30, 33, {29.5, 31}, {0.75, 0.25}, 0.83862792452335037, 0.99981288768765651},
        {1, 2, {1, 1}, {0.25, 0.0625}, 0.0342220556306201609, 0.999998653825523811},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        moeg_estimate e, other;
        const double *in = cases[i].inside, *out = cases[i].outside;
        assert_ok(moeg_estimate_weighted_proportion(cases[i].count, cases[i].n, in, out, 0.95, MOEG_METHOD_MC, &e));
        assert_relative(e.lo, cases[i].lo, 1e-11);
        assert_relative(e.hi, cases[i].hi, 1e-11);
        assert_relative(e.value, in[0] / (in[0] + out[0]), 4 * EPS);
        assert_true(e.lo <= e.value && e.value <= e.hi);
        /* The event that the others make has the rest of the probability. */
        assert_ok(moeg_estimate_weighted_proportion(cases[i].n - cases[i].count, cases[i].n, out, in, 0.95,
                                                    MOEG_METHOD_MC, &other));
        assert_near(other.lo, 1 - e.hi, EPS);
        assert_near(other.hi, 1 - e.lo, EPS);
        assert_relative(other.std_error, e.std_error, 8 * EPS);
    }
}

/* One unit of hardly any weight among 400 is a share of hardly anything, and tells nothing from below. */
static void the_lightest_units_are_seen(void **state)
{
    (void)state;
    double outside[2], lo, most;
    sum_equal(399, 1, outside);
    assert_ok(moeg_clopper_pearson(1, 399, 0.95, &lo, &most));
    for (int k = 0; k < 1060; k++) {
        const double w = ldexp(1, -k), inside[2] = {w, w * w};
        moeg_estimate e;
        assert_ok(moeg_estimate_weighted_proportion(1, 400, inside, outside, 0.95, MOEG_METHOD_MC, &e));
        assert_true(e.lo >= 0 && e.lo <= e.value && e.value > 0 && e.hi <= most);
        /* Not under what no unit at all would leave open. */
        assert_true(e.hi >= -expm1(log(0.025) / 400));
    }
}

static void bad_shares_are_refused(void **state)
{
    (void)state;
    const char name[] = "estimate_weighted_proportion";
    moeg_estimate e = {.value = 0.1}, before = e;
    double in[2] = {3, 3.5}, out[2] = {7, 8};
    char text[100];
    assert_status(moeg_estimate_weighted_proportion(4, 11, in, out, 0.9, MOEG_METHOD_MC, NULL), MOEG_EINVAL,
                  "estimate_weighted_proportion: out must not be NULL");
    assert_status(moeg_estimate_weighted_proportion(4, 11, NULL, out, 0.9, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "inside must not be NULL");
    assert_status(moeg_estimate_weighted_proportion(4, 11, in, NULL, 0.9, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "outside must not be NULL");
    assert_status(moeg_estimate_weighted_proportion(0, 0, in, out, 0.9, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_weighted_proportion: n must be at least 1");
    assert_status(moeg_estimate_weighted_proportion(12, 11, in, out, 0.9, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "count must be at most n = 11, got 12");
    assert_status(moeg_estimate_weighted_proportion(4, 11, in, out, 1, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_weighted_proportion: level must be in (0, 1), got 1");
    const double bad[] = {NAN, INFINITY, -1e-300};
    for (size_t i = 0; i < 4; i++)
        for (size_t v = 0; v < 3; v++) {
            double *at = i < 2 ? &in[i] : &out[i - 2], kept = *at;
            *at = bad[v];
            snprintf(text, sizeof text, "%s: %s[%zu] must be finite and at least 0", name, i < 2 ? "inside" : "outside",
                     i % 2);
            assert_status(moeg_estimate_weighted_proportion(4, 11, in, out, 0.9, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                          text);
            *at = kept;
        }
    /* Sums of other than 11 weights: they would be worth 14, or 0.9, or their squares have underflowed. */
    const double wrong[][2] = {{5, 4.5}, {5, 250}, {-3, 0}};
    for (size_t v = 0; v < 3; v++) {
        const double few[2] = {3 + wrong[v][0], 3.5 + wrong[v][1]}, none[2] = {1e-200, 0};
        assert_status(
            moeg_estimate_weighted_proportion(4, 11, v < 2 ? few : none, v < 2 ? out : none, 0.9, MOEG_METHOD_MC, &e),
            MOEG_EINVAL, "must be sums of weights and of their squares of n = 11 units");
    }
    assert_same_estimates(&e, &before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_covered),          cmocka_unit_test(importance_weights_are_covered),
        cmocka_unit_test(equal_weights_are_counts),    cmocka_unit_test(shares_between_whole_numbers),
        cmocka_unit_test(the_lightest_units_are_seen), cmocka_unit_test(bad_shares_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
