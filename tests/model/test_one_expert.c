/* K = 1: no second logit, hence infinite margins and gaps, and gates that no temperature moves. */
#include "model/model.h"
#include "model/rows.h"

#include <moegeom/moegeom.h>

enum { D = 3, M = 2, N = 75 };

/* a(x) = 0.7 x_1 - 2.385 x_2 + 0.4, as an affine router has it. */
static int some_logit(size_t n, const double *x, double *logits, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        logits[i] = 0.7 * x[i * D] - 2.385 * x[i * D + 1] + 0.4;
    return 0;
}

/* Of the three kinds. */
static void make_routers(moeg_router *routers[3])
{
    static const double W[D] = {0.7, -2.385, 0}, b[1] = {0.4}, up[2 * D] = {1.5, -1, 0.3, 0.2, 0.9, -0.8},
                        out[2] = {1, -2};
    static const size_t widths[] = {D, 2, 1};
    static const double *const layers[] = {up, out};
    assert_ok(moeg_router_affine_create(&routers[0], 1, D, W, b));
    assert_ok(moeg_router_mlp_create(&routers[1], 2, widths, layers, NULL, MOEG_ACTIVATION_TANH));
    assert_ok(moeg_router_callback_create(&routers[2], 1, D, some_logit, NULL));
}

static void free_routers(moeg_router *routers[3])
{
    for (size_t r = 0; r < 3; r++)
        moeg_router_free(routers[r]);
}

static void assert_all(size_t n, const double *values, double expected)
{
    for (size_t i = 0; i < n; i++)
        assert_near(values[i], expected, 0);
}

static void routers_of_one_have_infinite_gaps(void **state)
{
    (void)state;
    moeg_router *routers[3];
    double x[N * D], a[N], gap[N];
    size_t best[N];
    make_routers(routers);
    fill_values(3, N * D, 2, x);
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(moeg_router_experts(routers[r]), 1);
        assert_ok(moeg_router_logits(routers[r], N, x, a));
        for (size_t i = 0; i < N; i++) {
            const double *v = x + i * D;
            const double exact =
                r == 1 ? tanh(1.5 * v[0] - v[1] + 0.3 * v[2]) - 2 * tanh(0.2 * v[0] + 0.9 * v[1] - 0.8 * v[2])
                       : 0.7 * v[0] - 2.385 * v[1] + 0.4;
            assert_near(a[i], exact, 32 * EPS); /* some sums of numbers below 8, and tanh */
        }
        mark(N, gap);
        assert_ok(moeg_router_margin(routers[r], N, x, gap));
        assert_all(N, gap, INFINITY);
        mark(N, gap);
        assert_ok(moeg_router_gap(routers[r], N, x, moeg_gap_margin(), gap));
        assert_all(N, gap, INFINITY);
        assert_ok(moeg_router_top(routers[r], N, x, 1, best));
        for (size_t i = 0; i < N; i++)
            assert_int_equal(best[i], 0);
        assert_status(moeg_router_top(routers[r], N, x, 2, best), MOEG_EINVAL, "k must be in [1, K = 1], got 2");
        assert_status(moeg_router_gap(routers[r], N, x, moeg_gap_top(2), gap), MOEG_EINVAL,
                      "<= K + 1 = 2, got 2 and 3");
        assert_status(moeg_router_gap(routers[r], N, x, moeg_gap_order(0), gap), MOEG_EINVAL, "got 1 and 1");
    }
    free_routers(routers);
}

/* Rows of one logit: gates 1, a Jacobian of zeros, whatever the logit and the temperature. A masked one is an error. */
static void gates_of_one_are_one(void **state)
{
    (void)state;
    const double logits[] = {0, -0.0, 2.385, -1e300, 1e300, 1e-300, -5e-324, DBL_MAX, -DBL_MAX};
    const double tau[] = {0, 1e-300, 0.1, 1e300};
    enum { ROWS = sizeof logits / sizeof *logits };
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(1), moeg_gate_topk_raw(1),
                               moeg_gate_subset(1)};
    double out[ROWS];
    size_t index[ROWS];
    for (size_t g = 0; g < 4; g++)
        for (size_t t = 0; t < 4; t++) {
            mark(ROWS, out);
            assert_ok(moeg_gates(gates[g], ROWS, 1, logits, tau[t], out));
            assert_all(ROWS, out, 1);
            mark(ROWS, out);
            assert_ok(moeg_gate_jacobian(gates[g], ROWS, 1, logits, tau[t], out));
            assert_all(ROWS, out, 0);
        }
    assert_ok(moeg_margin(ROWS, 1, logits, out));
    assert_all(ROWS, out, INFINITY);
    mark(ROWS, out);
    assert_ok(moeg_logit_gap(ROWS, 1, logits, moeg_gap_margin(), out));
    assert_all(ROWS, out, INFINITY);
    assert_ok(moeg_top(ROWS, 1, logits, 1, index));
    const double masked[] = {1.5, -INFINITY};
    mark(ROWS, out);
    assert_status(moeg_margin(2, 1, masked, out), MOEG_EDOM, "margin: row 1 has 0 finite logits, fewer than 1");
    assert_status(moeg_logit_gap(2, 1, masked, moeg_gap_margin(), out), MOEG_EDOM,
                  "logit_gap: row 1 has 0 finite logits, fewer than 1");
    assert_status(moeg_gates(gates[0], 2, 1, masked, 1, out), MOEG_EDOM, "row 1 has 0 finite logits");
    assert_status(moeg_gate_jacobian(gates[0], 2, 1, masked, 1, out), MOEG_EDOM, "row 1 has 0 finite logits");
    assert_true(is_marked(ROWS, out));
    moeg_router *router = NULL;
    assert_status(moeg_router_affine_create(&router, 1, 1, masked, masked + 1), MOEG_EINVAL,
                  "router_affine: b masks every expert: one at least must be finite");
}

/* Best expert, margin and deciding gap of blocks; deviations of the gates are 0. */
static void blocks_of_one_logit(void **state)
{
    (void)state;
    enum { STRIDE = 72, USED = 67 };
    double a[STRIDE], margin[STRIDE], change[STRIDE], sum[STRIDE], workspace[16];
    uint32_t best[STRIDE];
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(1), moeg_gate_topk_raw(1),
                               moeg_gate_subset(1)};
    fill_values(5, STRIDE, 1e3, a);
    assert_int_equal(moeg_margin_block(1, USED, STRIDE, a, best, margin), USED);
    assert_all(USED, margin, INFINITY);
    for (size_t i = 0; i < USED; i++)
        assert_int_equal(best[i], 0);
    for (size_t g = 0; g < 4; g++) {
        assert_true(moeg_gate_workspace(gates[g], 1) <= 16);
        mark(STRIDE, margin);
        assert_int_equal(moeg_gate_gap_block(gates[g], 1, USED, STRIDE, a, margin), USED);
        assert_all(USED, margin, INFINITY);
        moeg_deviation_block(gates[g], 1, STRIDE, a, 0.3, change, sum, workspace);
        assert_all(STRIDE, change, 0);
        assert_all(STRIDE, sum, 0);
    }
    a[41] = NAN;
    assert_int_equal(moeg_margin_block(1, USED, STRIDE, a, best, margin), 41);
    a[23] = -INFINITY;
    assert_int_equal(moeg_margin_block(1, USED, STRIDE, a, best, margin), 23);
    a[11] = INFINITY;
    assert_int_equal(moeg_margin_block(1, USED, STRIDE, a, best, margin), 11);
    for (size_t g = 0; g < 4; g++)
        assert_int_equal(moeg_gate_gap_block(gates[g], 1, USED, STRIDE, a, margin), 11);
}

/* The mixture is its expert, bit for bit, at every temperature. */
static void a_mixture_of_one_is_its_expert(void **state)
{
    (void)state;
    moeg_router *routers[3];
    double A[M * D], c[M], x[N * D], alone[N * M], mixed[N * M];
    make_routers(routers);
    fill_values(7, M * D, 1, A);
    fill_values(8, M, 1, c);
    fill_values(9, N * D, 2, x);
    moeg_expert *expert;
    assert_ok(moeg_expert_affine_create(&expert, D, M, A, c));
    assert_ok(moeg_expert_forward(expert, N, x, alone));
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(1), moeg_gate_topk_raw(1),
                               moeg_gate_subset(1)};
    const double tau[] = {0, 1e-300, 0.1, 1e300};
    for (size_t r = 0; r < 3; r++)
        for (size_t g = 0; g < 4; g++) {
            moeg_moe *moe;
            assert_ok(moeg_moe_create(&moe, routers[r], gates[g], &expert));
            for (size_t t = 0; t < 4; t++) {
                mark(N * M, mixed);
                assert_ok(moeg_moe_forward(moe, tau[t], N, x, mixed));
                for (size_t i = 0; i < N * M; i++)
                    assert_near(mixed[i], alone[i], 0);
            }
            moeg_moe_free(moe);
        }
    moeg_expert_free(expert);
    free_routers(routers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routers_of_one_have_infinite_gaps),
        cmocka_unit_test(gates_of_one_are_one),
        cmocka_unit_test(blocks_of_one_logit),
        cmocka_unit_test(a_mixture_of_one_is_its_expert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
