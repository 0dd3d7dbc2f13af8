/* Derivatives of gates with respect to the temperature: enumeration, differences, Jacobians, and the edges. */
#include "model/model.h"
#include "model/rows.h"
#include "model/subsets.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { K = 6, KINDS = 4 };

static const double least = 0x1p-1074;

static moeg_gate gate_of(int kind, size_t k)
{
    return (moeg_gate){(moeg_gate_kind)kind, kind == MOEG_GATE_SOFTMAX ? 0 : k};
}

/* Subsets of `size` with their costs: E[U 1{i in S}] and P(i in S) of what is not hard, in long double. For the softmax
 * kinds the subsets are single experts. */
struct wide {
    long double first[K], inside[K], mean;
    unsigned winners;
};

static struct wide enumerate(moeg_gate gate, const double *a, double tau)
{
    const size_t size = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    const unsigned seen = gate.kind == MOEG_GATE_TOPK_RENORM ? top_set(K, a, gate.k) : ~0u;
    struct wide w = {.winners = top_set(K, a, size)};
    long double total = 0;
    for (unsigned set = 0; set < 1u << K; set++) {
        long double cost = 0;
        int masked = (set & seen) == 0;
        if ((size_t)__builtin_popcount(set) != size)
            continue;
        double pivot = NAN; /* exchange by exchange: differences to one logit */
        for (size_t i = 0; i < K; i++) {
            masked |= (set >> i & 1) && a[i] == -INFINITY;
            if (((set ^ w.winners) >> i & 1) && !masked) {
                pivot = isnan(pivot) ? a[i] : pivot;
                cost += ((set >> i & 1) ? -1 : 1) * ((long double)a[i] - pivot);
            }
        }
        if (masked)
            continue;
        const long double weight = expl(-cost / tau);
        total += weight;
        w.mean += weight * (cost / tau);
        for (size_t i = 0; i < K; i++)
            if ((set ^ w.winners) >> i & 1) {
                w.inside[i] += weight;
                w.first[i] += weight * (cost / tau);
            }
    }
    w.mean /= total;
    for (size_t i = 0; i < K; i++) {
        w.first[i] /= total;
        w.inside[i] /= total;
    }
    return w;
}

/* tau dg_i/dtau, and the larger of its two terms. */
static long double expected_slope(moeg_gate gate, const double *a, double tau, size_t i, long double *larger)
{
    const struct wide w = enumerate(gate, a, tau);
    const long double share = gate.kind == MOEG_GATE_SUBSET ? (long double)gate.k : 1;
    const long double from = w.first[i] / share, less = w.inside[i] * w.mean / share;
    *larger = from > less ? from : less;
    if (gate.kind == MOEG_GATE_TOPK_RAW && !(top_set(K, a, gate.k) >> i & 1))
        return *larger = 0;
    return (w.winners >> i & 1) ? less - from : from - less;
}

/* Every kind over 580 decades of tau, from warm to far colder than the gates can show. */
static void slopes_match_enumeration(void **state)
{
    (void)state;
    if (LDBL_MAX_EXP <= DBL_MAX_EXP)
        skip();
    double worst = 0;
    for (size_t number = 0; number < 4000; number++) {
        double a[K], u[2], slope[K];
        fill_values(number, K, 1, a);
        fill_values(number + 7000, 2, 1, u);
        const moeg_gate gate = gate_of((int)(number % KINDS), 1 + number / KINDS % K);
        const double tau = pow(10, 290 * u[0]), spread = pow(10, 1 + 1.6 * u[1]);
        for (size_t i = 0; i < K; i++)
            a[i] *= tau * spread;
        if (number % 5 == 0 && gate.k < K)
            a[1] = -INFINITY;
        if (number % 5 == 1)
            a[2] = a[5] = a[0];
        assert_ok(moeg_gates_derivative(gate, 1, K, a, tau, slope));
        for (size_t i = 0; i < K; i++) {
            long double larger;
            const long double expected = expected_slope(gate, a, tau, i, &larger) / tau;
            const long double error = fabsl(slope[i] - expected);
            const long double floor = 1000 * least * (1 + 1 / (long double)tau);
            if (!(error <= 8 * EPS * larger / tau + floor))
                fail_msg("case %zu, gate %d of %zu, expert %zu: got %.17g, expected %.20Lg, terms %Lg", number,
                         (int)gate.kind, gate.k, i, slope[i], expected, larger / tau);
            if (larger / tau > floor / EPS)
                worst = fmax(worst, (double)(error * tau / larger) / EPS);
        }
    }
    print_message("largest error: %.2f epsilon of the larger term\n", worst);
}

/* Sums of a function of the logits over tau alone: dg/dtau = -sum_j (dg/da_j) a_j/tau. */
static void slopes_match_jacobians(void **state)
{
    (void)state;
    for (size_t number = 0; number < 200; number++)
        for (int kind = 0; kind < KINDS; kind++) {
            double a[K], slope[K], J[K * K];
            const double tau = 0.37;
            const moeg_gate gate = gate_of(kind, 1 + number % K);
            fill_values(number, K, 1.5, a);
            assert_ok(moeg_gates_derivative(gate, 1, K, a, tau, slope));
            assert_ok(moeg_gate_jacobian(gate, 1, K, a, tau, J));
            for (size_t i = 0; i < K; i++) {
                double sum = 0;
                for (size_t j = 0; j < K; j++)
                    sum -= J[i * K + j] * a[j] / tau;
                /* Entries of up to 0.25/tau times logits of 1.5/tau, K of them, cancel. */
                assert_near(slope[i], sum, 100 * EPS);
            }
        }
}

/* Of the gates themselves: differences of steps h and h/2, extrapolated; errors h^4 and epsilon/h. */
static void slopes_match_differences_of_the_gates(void **state)
{
    (void)state;
    const double tau = 0.43, h = 2e-3 * tau;
    for (size_t number = 0; number < 100; number++)
        for (int kind = 0; kind < KINDS; kind++) {
            double a[K], slope[K], g[4][K];
            const moeg_gate gate = gate_of(kind, 1 + number % K);
            fill_values(number + 300, K, 1, a);
            assert_ok(moeg_gates_derivative(gate, 1, K, a, tau, slope));
            const double at[4] = {tau - h, tau + h, tau - h / 2, tau + h / 2};
            for (size_t t = 0; t < 4; t++)
                assert_ok(moeg_gates(gate, 1, K, a, at[t], g[t]));
            for (size_t i = 0; i < K; i++) {
                const double wide = (g[1][i] - g[0][i]) / (2 * h), narrow = (g[3][i] - g[2][i]) / h;
                assert_near(slope[i], (4 * narrow - wide) / 3, 1e-10);
            }
        }
}

/* Many experts: errors do not grow with their number. Equal logits but the best: in closed form. */
static void many_experts(void **state)
{
    (void)state;
    enum { MANY = 4001 };
    static double a[MANY], slope[MANY];
    const double gap = 9.5, tau = 1;
    for (size_t k = 0; k < MANY; k++)
        a[k] = k == 17 ? gap : 0;
    assert_ok(moeg_gates_derivative(moeg_gate_softmax(), 1, MANY, a, tau, slope));
    const double v = exp(-gap), others = (MANY - 1) * v;
    const double expected = gap * others / (1 + others) / (1 + others);
    assert_relative(slope[17], -expected, 16 * EPS);
    assert_relative(slope[18], expected / (MANY - 1), 16 * EPS);
}

static void frozen_gates_and_the_limit(void **state)
{
    (void)state;
    const double a[K] = {0.3, 2.385, 2.385, -1.1, -INFINITY, 0.2}, b[K] = {0.3, 2.385, 1.2, -1.1, -INFINITY, 0.2};
    double slope[K];
    const struct {
        moeg_gate gate;
        double tau;
    } zero[] = {{moeg_gate_topk_renorm(1), 0.4},
                {moeg_gate_topk_renorm(1), 0},
                {moeg_gate_subset(5), 0.4},
                {moeg_gate_subset(5), 0},
                {moeg_gate_subset(2), 0}};
    for (size_t z = 0; z < sizeof zero / sizeof *zero; z++) {
        mark(K, slope);
        assert_ok(moeg_gates_derivative(zero[z].gate, 1, K, a, zero[z].tau, slope));
        for (size_t k = 0; k < K; k++)
            assert_near(slope[k], 0, 0);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        mark(K, slope);
        assert_ok(moeg_gates_derivative(gate_of(kind, 3), 1, K, b, 0, slope));
        for (size_t k = 0; k < K; k++)
            assert_near(slope[k], 0, 0);
    }
    /* Logits as far apart as doubles go. */
    const double far[3] = {1.7e308, -1.7e308, 1.7e308};
    assert_ok(moeg_gates_derivative(moeg_gate_softmax(), 1, 3, far, 1e-300, slope));
    for (size_t k = 0; k < 3; k++)
        assert_near(slope[k], 0, 0);
}

static void blocks_are_rows(void **state)
{
    (void)state;
    enum { STRIDE = 40 };
    double a[K * STRIDE], slope[K * STRIDE], sum[STRIDE], row[K], expected[K], work[1024];
    fill_values(29, K * STRIDE, 3, a);
    a[2 * STRIDE + 7] = NAN;
    for (size_t k = 0; k < 4; k++)
        a[k * STRIDE + 11] = -INFINITY;
    for (int kind = 0; kind < KINDS; kind++) {
        const moeg_gate gate = gate_of(kind, 3);
        assert_true(moeg_slope_workspace(gate, K) <= 1024);
        moeg_slope_block(gate, K, STRIDE, a, 0.7, slope, sum, work);
        for (size_t i = 0; i < STRIDE; i++) {
            for (size_t k = 0; k < K; k++)
                row[k] = a[k * STRIDE + i];
            if (i == 7 || (i == 11 && gate.k == 3)) {
                assert_true(isnan(slope[i]) && isnan(sum[i]));
                continue;
            }
            assert_ok(moeg_gates_derivative(gate, 1, K, row, 0.7, expected));
            double total = 0;
            for (size_t k = 0; k < K; k++) {
                assert_relative(slope[k * STRIDE + i], expected[k] * 0.7, 2 * EPS);
                total += slope[k * STRIDE + i];
            }
            assert_near(sum[i], total, 4 * EPS);
            assert_true(gate.kind == MOEG_GATE_TOPK_RAW || sum[i] == 0);
        }
    }
}

static void every_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double a[2 * 3] = {0.5, -1.25, 2.385, 0.1, -INFINITY, 0.1}, slope[6];
    mark(6, slope);
    assert_status(moeg_gates_derivative(moeg_gate_softmax(), 2, 3, NULL, 1, slope), MOEG_EINVAL,
                  "gates_derivative: logits must not be NULL");
    assert_status(moeg_gates_derivative(moeg_gate_softmax(), 2, 3, a, 1, NULL), MOEG_EINVAL,
                  "gates_derivative: derivative must not be NULL");
    assert_status(moeg_gates_derivative(moeg_gate_softmax(), 2, 0, a, 1, slope), MOEG_EINVAL, "K must be at least 1");
    assert_status(moeg_gates_derivative(moeg_gate_subset(4), 2, 3, a, 1, slope), MOEG_EINVAL, "gate.k must be in");
    assert_status(moeg_gates_derivative(moeg_gate_softmax(), 2, 3, a, -1, slope), MOEG_EINVAL, "tau must be 0 or in");
    assert_status(moeg_gates_derivative(moeg_gate_subset(3), 2, 3, a, 1, slope), MOEG_EDOM,
                  "row 1 has 2 finite logits, fewer than 3");
    assert_status(moeg_gates_derivative(moeg_gate_softmax(), 2, 3, a, 0, slope), MOEG_EDOM,
                  "the logits of ranks 1 and 2 of row 1 tie, where the gates jump at tau = 0");
    a[5] = NAN;
    assert_status(moeg_gates_derivative(moeg_gate_softmax(), 2, 3, a, 1, slope), MOEG_EINVAL, "[1, 2]");
    assert_true(is_marked(6, slope));
    a[5] = a[2] = 0.5;
    assert_status(moeg_gates_derivative(moeg_gate_subset(1), 1, 3, a, 0, slope), MOEG_EDOM, "ranks 1 and 2 of row 0");
    assert_ok(moeg_gates_derivative(moeg_gate_subset(2), 1, 3, a, 0, slope));
    assert_ok(moeg_gates_derivative(moeg_gate_softmax(), 0, 3, NULL, 1, NULL));
}

static moeg_status derive(void *user)
{
    double slope[6];
    mark(6, slope);
    const moeg_status status = moeg_gates_derivative(moeg_gate_subset(2), 2, 3, user, 1, slope);
    assert_true(status == MOEG_OK || is_marked(6, slope));
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    double a[2 * 3] = {0.5, -1.25, 2.385, 0.1, 0.7, -0.1};
    assert_int_equal(fail_every_allocation(derive, a), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_match_enumeration),
        cmocka_unit_test(slopes_match_jacobians),
        cmocka_unit_test(slopes_match_differences_of_the_gates),
        cmocka_unit_test(many_experts),
        cmocka_unit_test(frozen_gates_and_the_limit),
        cmocka_unit_test(blocks_are_rows),
        cmocka_unit_test(every_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
