#include "model/model.h"
#include "model/rows.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { MOST = 1024 };

/* The sum in twice the precision. */
static double sum_minus_one(size_t n, const double *g)
{
    double sum = -1, lost = 0;
    for (size_t k = 0; k < n; k++) {
        const double next = sum + g[k], part = next - sum;
        lost += (sum - (next - part)) + (g[k] - part);
        sum = next;
    }
    return sum + lost;
}

/* One case of tests/reference/softmax.csv. Returns the largest relative error, in epsilons. */
static double check_case(size_t K, double tau, const double *logits, const long double *expected)
{
    double g[MOST], worst = 0;
    assert_ok(moeg_gates_softmax(1, K, logits, tau, g));
    for (size_t k = 0; k < K; k++) {
        const long double error = fabsl((long double)g[k] - expected[k]);
        /* exp and one rounding for the term, as much for the sum and one more, one for the quotient: 6.1 half-epsilons
         * at most; where the gate is subnormal, it is the quotient's rounding that is half a subnormal unit. */
        const long double unit = expected[k] < DBL_MIN ? 0x1p-1074L : 0;
        const long double allowed = 4 * EPS * expected[k] + unit / 2;
        if (!(error <= allowed))
            fail_msg("tau %g, logit %.17g: gate %.17g is off by %Lg, allowed %Lg", tau, logits[k], g[k], error,
                     allowed);
        if (expected[k] > 2 * DBL_MIN)
            worst = fmax(worst, (double)(error / expected[k]) / EPS);
    }
    assert_near(sum_minus_one(K, g), 0, 2 * EPS);
    return worst;
}

static void gates_match_the_reference(void **state)
{
    (void)state;
    FILE *file = fopen(MOEG_TEST_DATA "/softmax.csv", "r");
    assert_non_null(file);
    static double logits[MOST];
    static long double expected[MOST];
    char line[256];
    size_t K = 0, cases = 0, rows = 0;
    double tau = 0, worst = 0;
    for (long number = -1; fgets(line, sizeof line, file) != NULL;) {
        char *at = line;
        const long next = strtol(line, &at, 10);
        if (at == line)
            continue; /* the two header lines */
        if (next != number && K > 0)
            worst = fmax(worst, check_case(K, tau, logits, expected));
        if (next != number) {
            number = next;
            K = 0;
            cases++;
        }
        tau = strtod(at + 1, &at);
        logits[K] = strtod(at + 1, &at);
        expected[K++] = strtold(at + 1, &at);
        assert_true(K < MOST && *at == '\n');
        rows++;
    }
    worst = fmax(worst, check_case(K, tau, logits, expected));
    fclose(file);
    print_message("%zu cases, %zu gates: largest relative error %.2f epsilon\n", cases, rows, worst);
    assert_true(cases > 120 && rows > 4000);
    assert_true(worst <= 4);
}

static void only_differences_over_tau_count(void **state)
{
    (void)state;
    const double known[2] = {0.26894142136999512, 0.73105857863000488};
    double g[2];
    for (int power = 0; power < 300; power++) {
        const double tau = pow(10, -power), logits[2] = {0, tau};
        assert_ok(moeg_gates_softmax(1, 2, logits, tau, g));
        assert_relative(g[0], known[0], 2 * EPS);
        assert_relative(g[1], known[1], 2 * EPS);
    }
}

static void masks_have_gate_zero(void **state)
{
    (void)state;
    const double logits[3][4] = {
        {-INFINITY, -INFINITY, 0, 0}, {-INFINITY, -INFINITY, 2.385, -INFINITY}, {1, -INFINITY, 1, 1}};
    const double expected[3][4] = {{0, 0, 0.5, 0.5}, {0, 0, 1, 0}, {1.0 / 3, 0, 1.0 / 3, 1.0 / 3}};
    double g[3][4];
    const double taus[] = {1e-300, 0.77, 1e300};
    for (size_t t = 0; t < 3; t++) {
        assert_ok(moeg_gates_softmax(3, 4, logits[0], taus[t], g[0]));
        assert_same_bits(g[0], expected[0], 12);
    }
}

static void hard_gates_break_ties_to_the_lowest_index(void **state)
{
    (void)state;
    const double logits[4][3] = {{1.5, 7.25, 7.25}, {-2, -INFINITY, -2}, {-INFINITY, -1e308, -1e308}, {0, -0.0, 0}};
    const double expected[4][3] = {{0, 1, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 0}};
    double g[4][3];
    assert_ok(moeg_gates_softmax(4, 3, logits[0], 0, g[0]));
    assert_same_bits(g[0], expected[0], 12);
    const double one = -1.7e308;
    assert_ok(moeg_gates_softmax(1, 1, &one, 0, g[0]));
    assert_near(g[0][0], 1, 0);
}

/* Where the gates underflow to equal zeros, the logits still tell the order; 16-bit rounding would make ties. */
static void selection_is_on_logits(void **state)
{
    (void)state;
    const double far[4] = {0, -800, -801, -802};
    double g[4], margin;
    size_t index[2];
    assert_ok(moeg_gates_softmax(1, 4, far, 1, g));
    assert_near(g[1], 0, 0);
    assert_near(g[2], 0, 0);
    assert_ok(moeg_top(1, 4, far, 2, index));
    assert_int_equal(index[0], 0);
    assert_int_equal(index[1], 1);
    const double close[2] = {1 + 1.0 / 512, 1 + 1.0 / 8192};
    assert_ok(moeg_margin(1, 2, close, &margin));
    assert_near(margin, 0.0018310546875, 0);
    assert_ok(moeg_top(1, 2, close, 1, index));
    assert_int_equal(index[0], 0);
}

static void a_row_alone_is_the_row_in_a_batch(void **state)
{
    (void)state;
    enum { N = 67, K = 5 };
    double logits[N * K], together[N * K], alone[K], in_place[N * K];
    fill_values(11, N * K, 9, logits);
    assert_ok(moeg_gates_softmax(N, K, logits, 0.43, together));
    for (size_t i = 0; i < N; i++) {
        assert_ok(moeg_gates_softmax(1, K, logits + i * K, 0.43, alone));
        assert_same_bits(alone, together + i * K, K);
    }
    memcpy(in_place, logits, sizeof logits);
    assert_ok(moeg_gates_softmax(N, K, in_place, 0.43, in_place));
    assert_same_bits(in_place, together, N * K);
}

static void every_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double logits[3 * 2] = {0.5, -1.25, 2.385, 0.1, -INFINITY, 3}, g[3 * 2];
    mark(6, g);
    assert_status(moeg_gates_softmax(3, 0, logits, 1, g), MOEG_EINVAL, "gates_softmax: K must be at least 1, got 0");
    assert_status(moeg_gates_softmax(3, 2, NULL, 1, g), MOEG_EINVAL, "gates_softmax: logits must not be NULL");
    assert_status(moeg_gates_softmax(3, 2, logits, 1, NULL), MOEG_EINVAL, "gates_softmax: gates must not be NULL");
    assert_status(moeg_gates_softmax(SIZE_MAX / 2, 4, logits, 1, g), MOEG_EINVAL, "more values than memory can hold");
    const double bad_tau[] = {-1, 9.9e-301, 1.1e300, NAN, INFINITY, -INFINITY, 5e-324};
    for (size_t t = 0; t < sizeof bad_tau / sizeof *bad_tau; t++)
        assert_status(moeg_gates_softmax(3, 2, logits, bad_tau[t], g), MOEG_EINVAL,
                      "gates_softmax: tau must be 0 or in [1e-300, 1e300], got");
    const double bad[] = {NAN, INFINITY};
    for (size_t i = 0; i < 6; i++)
        for (size_t v = 0; v < 2; v++) {
            const double kept = logits[i];
            char text[80];
            snprintf(text, sizeof text, "logits[%zu, %zu] must be finite or -inf, got", i / 2, i % 2);
            logits[i] = bad[v];
            assert_status(moeg_gates_softmax(3, 2, logits, 1, g), MOEG_EINVAL, text);
            logits[i] = kept;
        }
    logits[5] = -INFINITY;
    assert_status(moeg_gates_softmax(3, 2, logits, 1, g), MOEG_EDOM, "row 2 has 0 finite logits, fewer than 1");
    assert_status(moeg_gates_softmax(3, 2, logits, 0, g), MOEG_EDOM, "row 2");
    assert_true(is_marked(6, g));
    assert_ok(moeg_gates_softmax(0, 2, NULL, 1, NULL));
}

static void tau_is_checked_by_name(void **state)
{
    (void)state;
    assert_ok(moeg_check_tau("f", "tau[3]", 0));
    assert_ok(moeg_check_tau("f", "tau[3]", 1e-300));
    assert_ok(moeg_check_tau("f", "tau[3]", 1e300));
    assert_status(moeg_check_tau("f", "tau[3]", -2.385), MOEG_EINVAL,
                  "f: tau[3] must be 0 or in [1e-300, 1e300], got -2.385");
    assert_status(moeg_check_tau("f", "tau", NAN), MOEG_EINVAL, "got nan");
}

/* Softmax of the k largest only; softmax of all, of which the others lose theirs. */
static void top_gates_are_softmax_gates(void **state)
{
    (void)state;
    enum { N = 60, K = 7 };
    double a[N * K], kept[K], all[K], some[K], g[N * K], alone[K], in_place[N * K];
    fill_values(17, N * K, 4, a);
    for (size_t i = 0; i < N * K; i++)
        a[i] = i % 6 == 0 ? -INFINITY : i % 2 ? ceil(a[i]) : a[i]; /* ties, masks */
    for (size_t k = 1; k < K - 1; k++)
        for (int raw = 0; raw < 2; raw++) {
            const moeg_gate gate = raw ? moeg_gate_topk_raw(k) : moeg_gate_topk_renorm(k);
            assert_ok(moeg_gates(gate, N, K, a, 0.43, g));
            memcpy(in_place, a, sizeof a);
            assert_ok(moeg_gates(gate, N, K, in_place, 0.43, in_place));
            assert_same_bits(in_place, g, N * K);
            for (size_t i = 0; i < N; i++) {
                const double *row = a + i * K;
                size_t index[K];
                assert_ok(moeg_top(1, K, row, k, index));
                for (size_t j = 0; j < K; j++)
                    kept[j] = -INFINITY;
                for (size_t r = 0; r < k; r++)
                    kept[index[r]] = row[index[r]];
                assert_ok(moeg_gates_softmax(1, K, kept, 0.43, some));
                assert_ok(moeg_gates_softmax(1, K, row, 0.43, all));
                for (size_t j = 0; j < K; j++)
                    alone[j] = !raw ? some[j] : kept[j] == -INFINITY ? 0 : all[j];
                assert_same_bits(g + i * K, alone, K);
                assert_true(sum_minus_one(K, alone) <= 2 * EPS);
            }
        }
}

/* Choosing and then softmax is softmax, choosing and renormalising; not without the last, and not on the gates, which
 * underflow to equal zeros. */
static void the_order_of_choosing_and_softmax(void **state)
{
    (void)state;
    const double z[4] = {3, 2, 1, 0}, far[4] = {0, -800, -801, -802};
    double renorm[4], raw[4], g[4];
    assert_ok(moeg_gates(moeg_gate_topk_renorm(2), 1, 4, z, 1, renorm));
    assert_ok(moeg_gates(moeg_gate_topk_raw(2), 1, 4, z, 1, raw));
    for (size_t k = 0; k < 4; k++)
        assert_near(raw[k] / (raw[0] + raw[1]), renorm[k], 8 * EPS);
    assert_near(renorm[0], 0.73105857863000488, 4 * EPS);
    assert_near(raw[0], 0.64391425988797225, 4 * EPS);
    assert_ok(moeg_gates(moeg_gate_subset(2), 1, 4, far, 1, g));
    assert_near(g[0], 0.5, 0);
    assert_relative(g[1], 0.5 / (1 + exp(-1) + exp(-2)), 8 * EPS);
    assert_relative(g[3], 0.5 * exp(-2) / (1 + exp(-1) + exp(-2)), 8 * EPS);
    assert_ok(moeg_gates(moeg_gate_topk_renorm(2), 1, 4, far, 2, g));
    assert_relative(g[1], exp(-400), 8 * EPS);
    assert_near(g[2], 0, 0);
}

/* The same logits over the same temperature, however small: 1/3 more for one of two in 2.385e-300. */
static void small_temperatures_are_temperatures(void **state)
{
    (void)state;
    double expected[4], g[4];
    const moeg_gate gates[] = {moeg_gate_topk_renorm(3), moeg_gate_topk_raw(2), moeg_gate_subset(2),
                               moeg_gate_subset(3)};
    for (size_t v = 0; v < 4; v++) {
        const double unit[4] = {0, 1, -0.25, 0.5};
        assert_ok(moeg_gates(gates[v], 1, 4, unit, 1, expected));
        for (int power = -996; power <= 996; power += 83) { /* exact: powers of two */
            double a[4];
            for (size_t k = 0; k < 4; k++)
                a[k] = ldexp(unit[k], power);
            assert_ok(moeg_gates(gates[v], 1, 4, a, ldexp(1, power), g));
            assert_same_bits(g, expected, 4);
        }
    }
}

static void hard_gates_of_all_kinds(void **state)
{
    (void)state;
    const double z[5] = {1, 2, 5, 4, 5}, best[5] = {0, 0, 1, 0, 0}, two[5] = {0, 0, 0.5, 0, 0.5};
    double g[5];
    for (size_t k = 1; k <= 5; k++) {
        assert_ok(moeg_gates(moeg_gate_topk_renorm(k), 1, 5, z, 0, g));
        assert_same_bits(g, best, 5);
        assert_ok(moeg_gates(moeg_gate_topk_raw(k), 1, 5, z, 0, g));
        assert_same_bits(g, best, 5);
    }
    assert_ok(moeg_gates(moeg_gate_softmax(), 1, 5, z, 0, g));
    assert_same_bits(g, best, 5);
    assert_ok(moeg_gates(moeg_gate_subset(1), 1, 5, z, 0, g));
    assert_same_bits(g, best, 5);
    assert_ok(moeg_gates(moeg_gate_subset(2), 1, 5, z, 0, g));
    assert_same_bits(g, two, 5);
    /* One expert, renormalised, is all there is: at any temperature. */
    assert_ok(moeg_gates(moeg_gate_topk_renorm(1), 1, 5, z, 1e300, g));
    assert_same_bits(g, best, 5);
}

/* Blocks of gates and of what they differ from the hard ones, of every kind, NaN where a unit's logits do not fit. */
static void blocks_are_rows(void **state)
{
    (void)state;
    enum { K = 6, STRIDE = 40 };
    double a[K * STRIDE], g[K * STRIDE], change[K * STRIDE], sums[STRIDE], row[K], soft[K], hard[K], work[512];
    fill_values(29, K * STRIDE, 3, a);
    for (size_t i = 0; i < STRIDE; i += 3)
        a[i % K * STRIDE + i] = -INFINITY;
    a[2 * STRIDE + 7] = NAN;
    a[3 * STRIDE + 8] = INFINITY;
    for (size_t k = 0; k < 4; k++)
        a[k * STRIDE + 11] = -INFINITY;
    const moeg_gate gates[] = {moeg_gate_softmax(),   moeg_gate_topk_renorm(3), moeg_gate_topk_renorm(1),
                               moeg_gate_topk_raw(3), moeg_gate_topk_raw(1),    moeg_gate_subset(3)};
    const double taus[] = {0, 0.02, 0.9, 30};
    for (size_t v = 0; v < 6 * 4; v++) {
        const moeg_gate gate = gates[v / 4];
        const double tau = taus[v % 4];
        assert_true(moeg_gate_workspace(gate, K) <= 512);
        moeg_deviation_block(gate, K, STRIDE, a, tau, change, sums, work);
        memcpy(g, a, sizeof g);
        moeg_gates_block(gate, K, STRIDE, g, tau, g, work);
        for (size_t i = 0; i < STRIDE; i++) {
            const int bad = i == 7 || i == 8 || (i == 11 && gate.k == 3);
            for (size_t k = 0; k < K; k++)
                row[k] = a[k * STRIDE + i];
            if (!bad) {
                assert_ok(moeg_gates(gate, 1, K, row, tau, soft));
                assert_ok(moeg_gates(gate, 1, K, row, 0, hard));
            }
            double sum = 0;
            for (size_t k = 0; k < K; k++) {
                sum += change[k * STRIDE + i];
                if (bad)
                    assert_true(isnan(g[k * STRIDE + i]) && isnan(change[k * STRIDE + i]));
                else
                    assert_near(g[k * STRIDE + i], soft[k], 0);
                if (!bad)
                    assert_near(change[k * STRIDE + i], soft[k] - hard[k], 2 * EPS);
                if (!bad && hard[k] == 0)
                    assert_near(change[k * STRIDE + i], soft[k], 0);
            }
            if (bad) {
                assert_true(isnan(sums[i]));
                continue;
            }
            assert_near(sums[i], sum, 2 * EPS);
            assert_true(gate.kind == MOEG_GATE_TOPK_RAW ? sums[i] <= 0 : sums[i] == 0);
        }
    }
}

/* Where a gate is 1 to rounding, what it lacks is what the others have. */
static void deviations_do_not_cancel(void **state)
{
    (void)state;
    enum { K = 4, STRIDE = 8 };
    double a[K * STRIDE], change[K * STRIDE], sum[STRIDE], work[256];
    const double logits[K] = {-300, 0, -500, -300};
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < STRIDE; i++)
            a[k * STRIDE + i] = logits[k];
    const double e = exp(-300);
    const struct {
        moeg_gate gate;
        double expected[3]; /* of experts 0, 1, 3; expert 2 is far below */
        double sum;
    } cases[] = {
        {{MOEG_GATE_SOFTMAX, 0}, {e, -2 * e, e}, 0},   {{MOEG_GATE_TOPK_RAW, 1}, {0, -2 * e, 0}, -2 * e},
        {{MOEG_GATE_TOPK_RAW, 2}, {e, -2 * e, 0}, -e}, {{MOEG_GATE_TOPK_RAW, 3}, {e, -2 * e, e}, -exp(-500)},
        {{MOEG_GATE_TOPK_RENORM, 1}, {0, 0, 0}, 0},    {{MOEG_GATE_TOPK_RENORM, 2}, {e, -e, 0}, 0},
        {{MOEG_GATE_SUBSET, 1}, {e, -2 * e, e}, 0},    {{MOEG_GATE_SUBSET, 2}, {-0.25, -e / 4, 0.25}, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        moeg_deviation_block(cases[c].gate, K, STRIDE, a, 1, change, sum, work);
        assert_relative(change[0 * STRIDE], cases[c].expected[0], 8 * EPS);
        assert_relative(change[1 * STRIDE], cases[c].expected[1], 8 * EPS);
        assert_relative(change[3 * STRIDE], cases[c].expected[2], 8 * EPS);
        assert_relative(sum[5], cases[c].sum, 8 * EPS);
    }
}

static void every_error_of_all_kinds_is_named(void **state)
{
    (void)state;
    double a[2 * 3] = {0.5, -1.25, 2.385, 0.1, -INFINITY, 3}, g[6];
    mark(6, g);
    const moeg_gate softmax = moeg_gate_softmax(), unknown = {(moeg_gate_kind)4, 1}, stray = {MOEG_GATE_SOFTMAX, 1};
    assert_status(moeg_gates(softmax, 2, 0, a, 1, g), MOEG_EINVAL, "gates: K must be at least 1, got 0");
    assert_status(moeg_gates(unknown, 2, 3, a, 1, g), MOEG_EINVAL,
                  "gates: gate.kind must be one of moeg_gate_kind, got 4");
    assert_status(moeg_gates(stray, 2, 3, a, 1, g), MOEG_EINVAL, "gates: gate.k must be 0 for SOFTMAX, got 1");
    for (int kind = MOEG_GATE_TOPK_RENORM; kind <= MOEG_GATE_SUBSET; kind++) {
        const moeg_gate none = {(moeg_gate_kind)kind, 0}, four = {(moeg_gate_kind)kind, 4}, three = {four.kind, 3};
        assert_status(moeg_gates(none, 2, 3, a, 1, g), MOEG_EINVAL, "gates: gate.k must be in [1, K = 3], got 0");
        assert_status(moeg_gates(four, 2, 3, a, 1, g), MOEG_EINVAL, "gates: gate.k must be in [1, K = 3], got 4");
        assert_status(moeg_gates(three, 2, 3, a, 1, g), MOEG_EDOM, "gates: row 1 has 2 finite logits, fewer than 3");
    }
    assert_status(moeg_gates(softmax, 2, 3, NULL, 1, g), MOEG_EINVAL, "gates: logits must not be NULL");
    assert_status(moeg_gates(softmax, 2, 3, a, 1, NULL), MOEG_EINVAL, "gates: gates must not be NULL");
    assert_status(moeg_gates(softmax, 2, 3, a, NAN, g), MOEG_EINVAL, "gates: tau must be 0 or in [1e-300, 1e300], got");
    for (size_t i = 0; i < 6; i++)
        for (int sign = 0; sign < 2; sign++) {
            char text[80];
            const double kept = a[i];
            a[i] = sign ? INFINITY : NAN;
            snprintf(text, sizeof text, "gates: logits[%zu, %zu] must be finite or -inf, got %g", i / 3, i % 3, a[i]);
            assert_status(moeg_gates(moeg_gate_subset(2), 2, 3, a, 1, g), MOEG_EINVAL, text);
            a[i] = kept;
        }
    assert_true(is_marked(6, g));
    assert_ok(moeg_gates(moeg_gate_subset(2), 0, 3, NULL, 1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_match_the_reference),
        cmocka_unit_test(only_differences_over_tau_count),
        cmocka_unit_test(masks_have_gate_zero),
        cmocka_unit_test(hard_gates_break_ties_to_the_lowest_index),
        cmocka_unit_test(selection_is_on_logits),
        cmocka_unit_test(a_row_alone_is_the_row_in_a_batch),
        cmocka_unit_test(every_error_is_named_and_touches_nothing),
        cmocka_unit_test(tau_is_checked_by_name),
        cmocka_unit_test(top_gates_are_softmax_gates),
        cmocka_unit_test(the_order_of_choosing_and_softmax),
        cmocka_unit_test(small_temperatures_are_temperatures),
        cmocka_unit_test(hard_gates_of_all_kinds),
        cmocka_unit_test(blocks_are_rows),
        cmocka_unit_test(deviations_do_not_cancel),
        cmocka_unit_test(every_error_of_all_kinds_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
