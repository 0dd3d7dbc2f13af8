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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
