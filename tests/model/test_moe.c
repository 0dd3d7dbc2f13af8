#include "model/model.h"
#include "model/rows.h"
#include "support/check.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { K = 3, D = 2, M = 2, N = 131 };

static const double W[K * D] = {0.8, -1.3, 0.21, 0.77, -0.46, 0.09};
static const double b[K] = {0.12, -0.33, 0.05};
static const double A0[M * D] = {1.25, -0.7, 0.3, 2.385}, c0[M] = {0.4, -1.1};
static const double A1[M * D] = {-0.55, 0.9, 1.7, 0.14};
static const double c2[M] = {-2.2, 0.65};

typedef struct parts {
    moeg_router *router;
    moeg_expert *experts[K];
    moeg_moe *moe;
} parts;

static parts make_parts(void)
{
    parts p;
    assert_ok(moeg_router_affine_create(&p.router, K, D, W, b));
    assert_ok(moeg_expert_affine_create(&p.experts[0], D, M, A0, c0));
    assert_ok(moeg_expert_affine_create(&p.experts[1], D, M, A1, NULL));
    assert_ok(moeg_expert_constant_create(&p.experts[2], D, M, c2));
    assert_ok(moeg_moe_create(&p.moe, p.router, moeg_gate_softmax(), p.experts));
    return p;
}

static void free_parts(parts *p)
{
    moeg_moe_free(p->moe);
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(p->experts[k]);
    moeg_router_free(p->router);
}

/* The slow obvious way. */
static void mixture(const double *x, double tau, double *y)
{
    double a[K], g[K], f[K][M], sum = 0;
    size_t best = 0;
    for (size_t k = 0; k < K; k++) {
        a[k] = b[k] + W[k * D] * x[0] + W[k * D + 1] * x[1];
        best = a[k] > a[best] ? k : best;
    }
    for (size_t k = 0; k < K; k++)
        sum += g[k] = tau == 0 ? k == best : exp((a[k] - a[best]) / tau);
    for (size_t j = 0; j < M; j++) {
        f[0][j] = c0[j] + A0[j * D] * x[0] + A0[j * D + 1] * x[1];
        f[1][j] = A1[j * D] * x[0] + A1[j * D + 1] * x[1];
        f[2][j] = c2[j];
        y[j] = 0;
        for (size_t k = 0; k < K; k++)
            y[j] += g[k] / sum * f[k][j];
    }
}

static void outputs_are_the_gated_sum(void **state)
{
    (void)state;
    parts p = make_parts();
    double x[N * D], y[N * M], expected[M];
    fill_values(1, N * D, 2, x);
    const double taus[] = {0, 1e-3, 0.37, 1, 1e300};
    for (size_t t = 0; t < sizeof taus / sizeof *taus; t++) {
        assert_ok(moeg_moe_forward(p.moe, taus[t], N, x, y));
        for (size_t i = 0; i < N; i++) {
            mixture(x + i * D, taus[t], expected);
            /* Logits of size 5 carry an error of 5 epsilon, which the gates see divided by tau. */
            const double tolerance = 40 * EPS * (taus[t] == 0 ? 1 : fmax(1, 1 / taus[t]));
            for (size_t j = 0; j < M; j++)
                assert_near(y[i * M + j], expected[j], tolerance);
        }
    }
    free_parts(&p);
}

/* Every gate, hard and soft, at the router's logits: sum_k g_k f_k, the experts by themselves. */
static void all_gates_mix(void **state)
{
    (void)state;
    parts p = make_parts();
    double x[N * D], y[N * M], a[N * K], g[N * K], f[K][N * M];
    fill_values(6, N * D, 2, x);
    assert_ok(moeg_router_logits(p.router, N, x, a));
    for (size_t k = 0; k < K; k++)
        assert_ok(moeg_expert_forward(p.experts[k], N, x, f[k]));
    const moeg_gate gates[] = {moeg_gate_topk_renorm(1), moeg_gate_topk_renorm(2), moeg_gate_topk_raw(1),
                               moeg_gate_topk_raw(2),    moeg_gate_subset(2),      moeg_gate_subset(3)};
    const double taus[] = {0, 0.37, 1e300};
    for (size_t v = 0; v < sizeof gates / sizeof *gates; v++) {
        moeg_moe *moe;
        assert_ok(moeg_moe_create(&moe, p.router, gates[v], p.experts));
        assert_int_equal(moeg_moe_gate(moe).kind, gates[v].kind);
        assert_int_equal(moeg_moe_gate(moe).k, gates[v].k);
        for (size_t t = 0; t < 3; t++) {
            assert_ok(moeg_moe_forward(moe, taus[t], N, x, y));
            assert_ok(moeg_gates(gates[v], N, K, a, taus[t], g));
            for (size_t i = 0; i < N; i++)
                for (size_t j = 0; j < M; j++) {
                    double sum = 0;
                    for (size_t k = 0; k < K; k++)
                        sum += g[i * K + k] * f[k][i * M + j];
                    assert_near(y[i * M + j], sum, 20 * EPS); /* outputs of size 10 */
                }
        }
        moeg_moe_free(moe);
    }
    assert_int_equal(moeg_moe_gate(NULL).kind, MOEG_GATE_SOFTMAX);
    assert_int_equal(moeg_moe_gate(p.moe).k, 0);
    free_parts(&p);
}

static void a_row_alone_is_the_row_in_a_batch(void **state)
{
    (void)state;
    parts p = make_parts();
    double x[N * D], y[N * M], alone[M];
    fill_values(2, N * D, 2, x);
    const double taus[] = {0, 0.37};
    for (size_t t = 0; t < 2; t++) {
        assert_ok(moeg_moe_forward(p.moe, taus[t], N, x, y));
        for (size_t i = 0; i < N; i++) {
            assert_ok(moeg_moe_forward(p.moe, taus[t], 1, x + i * D, alone));
            assert_same_bits(alone, y + i * M, M);
        }
    }
    free_parts(&p);
}

/* One expert overflows where another is chosen: 0 times infinity must not enter the sum, alone or beside rows that do
 * need that expert; where it is chosen, the overflow is reported. */
static void an_expert_with_gate_zero_is_left_out(void **state)
{
    (void)state;
    const double weights[2] = {1, -1}, steep[1] = {1e308}, gentle[1] = {0.25};
    double x[3] = {-10, -20, 0.5}, y[3];
    moeg_router *router;
    moeg_expert *experts[2];
    moeg_moe *moe;
    assert_ok(moeg_router_affine_create(&router, 2, 1, weights, NULL));
    assert_ok(moeg_expert_affine_create(&experts[0], 1, 1, steep, NULL));
    assert_ok(moeg_expert_affine_create(&experts[1], 1, 1, gentle, NULL));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    const double taus[] = {0, 0.02}; /* exp(-20/0.02) is 0 */
    for (size_t t = 0; t < 2; t++) {
        assert_ok(moeg_moe_forward(moe, taus[t], 2, x, y));
        assert_near(y[0], -2.5, 0);
        assert_near(y[1], -5, 0);
        assert_ok(moeg_moe_forward(moe, taus[t], 3, x, y));
        assert_near(y[0], -2.5, 0);
        assert_near(y[2], 0.5e308, 4 * EPS * 0.5e308);
    }
    mark(3, y);
    assert_status(moeg_moe_forward(moe, 1, 3, x, y), MOEG_ERANGE, "row 0, output 0, overflows");
    x[1] = 2;
    assert_status(moeg_moe_forward(moe, 0, 3, x, y), MOEG_ERANGE, "row 1, output 0, overflows");
    assert_true(is_marked(3, y));
    moeg_moe_free(moe);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    moeg_router_free(router);
}

/* Ties go to the lowest index, in a block of rows with a mask as in one without. */
static void hard_gates_take_the_first_of_ties(void **state)
{
    (void)state;
    enum { EXPERTS = 4, ROWS = 9 };
    const double slopes[EXPERTS] = {1, 1, -1, -1}, x[ROWS] = {2, -2, 0, 1, -1, 0, 3, -3, 0};
    for (int mask = 0; mask < 3; mask++) {
        const double bias[EXPERTS] = {mask == 1 ? -INFINITY : 0, 0, mask == 2 ? -INFINITY : 0, 0};
        moeg_router *router;
        moeg_expert *experts[EXPERTS];
        moeg_moe *moe;
        double y[ROWS];
        assert_ok(moeg_router_affine_create(&router, EXPERTS, 1, slopes, bias));
        for (size_t k = 0; k < EXPERTS; k++) {
            const double number = (double)k;
            assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &number));
        }
        assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
        assert_ok(moeg_moe_forward(moe, 0, ROWS, x, y));
        for (size_t i = 0; i < ROWS; i++)
            assert_near(y[i], x[i] < 0 ? (mask == 2 ? 3 : 2) : mask == 1 ? 1 : 0, 0);
        moeg_moe_free(moe);
        for (size_t k = 0; k < EXPERTS; k++)
            moeg_expert_free(experts[k]);
        moeg_router_free(router);
    }
}

static void masked_experts_take_no_part(void **state)
{
    (void)state;
    const double masked[K] = {0.1, -INFINITY, -0.2};
    double x[N * D], y[N * M], two[N * M];
    fill_values(3, N * D, 2, x);
    parts p = make_parts();
    moeg_router *routers[2];
    moeg_moe *with_mask, *without;
    const double W2[2 * D] = {W[0], W[1], W[4], W[5]}, b2[2] = {0.1, -0.2};
    moeg_expert *experts[2] = {p.experts[0], p.experts[2]};
    assert_ok(moeg_router_affine_create(&routers[0], K, D, W, masked));
    assert_ok(moeg_router_affine_create(&routers[1], 2, D, W2, b2));
    assert_ok(moeg_moe_create(&with_mask, routers[0], moeg_gate_softmax(), p.experts));
    assert_ok(moeg_moe_create(&without, routers[1], moeg_gate_softmax(), experts));
    assert_ok(moeg_moe_forward(with_mask, 0.6, N, x, y));
    assert_ok(moeg_moe_forward(without, 0.6, N, x, two));
    assert_same_bits(y, two, N * M);
    moeg_moe_free(with_mask);
    moeg_moe_free(without);
    moeg_router_free(routers[0]);
    moeg_router_free(routers[1]);
    free_parts(&p);
}

static void the_mixture_knows_and_keeps_its_parts(void **state)
{
    (void)state;
    parts p = make_parts();
    assert_int_equal(moeg_moe_dim(p.moe), D);
    assert_int_equal(moeg_moe_outputs(p.moe), M);
    assert_ptr_equal(moeg_moe_router(p.moe), p.router);
    for (size_t k = 0; k < K; k++)
        assert_ptr_equal(moeg_moe_expert(p.moe, k), p.experts[k]);
    assert_null(moeg_moe_expert(p.moe, K));
    assert_null(moeg_moe_expert(NULL, 0));
    assert_null(moeg_moe_router(NULL));
    assert_int_equal(moeg_moe_dim(NULL), 0);
    assert_int_equal(moeg_moe_outputs(NULL), 0);
    moeg_moe_free(NULL);

    double x[N * D], before[N * M], after[N * M];
    fill_values(4, N * D, 2, x);
    assert_ok(moeg_moe_forward(p.moe, 0.5, N, x, before));
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(p.experts[k]);
    moeg_router_free(p.router);
    assert_ok(moeg_moe_forward(p.moe, 0.5, N, x, after));
    assert_same_bits(after, before, N * M);
    moeg_moe_free(p.moe);
}

static void every_creation_error_is_named(void **state)
{
    (void)state;
    parts p = make_parts();
    moeg_moe *moe = NULL;
    moeg_expert *wide, *long_one;
    assert_ok(moeg_expert_constant_create(&wide, D + 1, M, c0));
    assert_ok(moeg_expert_constant_create(&long_one, D, 1, c0));
    assert_status(moeg_moe_create(NULL, p.router, moeg_gate_softmax(), p.experts), MOEG_EINVAL, "moe: moe must not be");
    assert_status(moeg_moe_create(&moe, NULL, moeg_gate_softmax(), p.experts), MOEG_EINVAL, "moe: router must not be");
    assert_status(moeg_moe_create(&moe, p.router, moeg_gate_softmax(), NULL), MOEG_EINVAL, "moe: experts must not be");
    const moeg_gate unknown = {(moeg_gate_kind)7, 1}, softmax = {MOEG_GATE_SOFTMAX, 2};
    assert_status(moeg_moe_create(&moe, p.router, unknown, p.experts), MOEG_EINVAL,
                  "moe: gate.kind must be one of moeg_gate_kind, got 7");
    assert_status(moeg_moe_create(&moe, p.router, softmax, p.experts), MOEG_EINVAL,
                  "moe: gate.k must be 0 for SOFTMAX, got 2");
    assert_status(moeg_moe_create(&moe, p.router, moeg_gate_subset(0), p.experts), MOEG_EINVAL,
                  "moe: gate.k must be in [1, K = 3], got 0");
    assert_status(moeg_moe_create(&moe, p.router, moeg_gate_topk_raw(4), p.experts), MOEG_EINVAL,
                  "moe: gate.k must be in [1, K = 3], got 4");
    for (size_t k = 0; k < K; k++) {
        char text[80];
        moeg_expert *experts[K];
        memcpy(experts, p.experts, sizeof experts);
        experts[k] = NULL;
        snprintf(text, sizeof text, "moe: experts[%zu] must not be NULL", k);
        assert_status(moeg_moe_create(&moe, p.router, moeg_gate_softmax(), experts), MOEG_EINVAL, text);
        experts[k] = wide;
        snprintf(text, sizeof text, "moe: experts[%zu] must have the router's d = 2, got 3", k);
        assert_status(moeg_moe_create(&moe, p.router, moeg_gate_softmax(), experts), MOEG_EINVAL, text);
        experts[k] = long_one;
        assert_status(moeg_moe_create(&moe, p.router, moeg_gate_softmax(), experts), MOEG_EINVAL, "of experts[0], got");
    }
    assert_null(moe);
    moeg_expert_free(wide);
    moeg_expert_free(long_one);
    free_parts(&p);
}

/* Softmax needs one expert, the others k. */
static void masks_leave_enough_experts(void **state)
{
    (void)state;
    parts p = make_parts();
    const double masked[K] = {0.1, -INFINITY, -INFINITY}, x[D] = {0.3, -1.2};
    double y[M], expected[M];
    moeg_router *router;
    moeg_moe *moe;
    assert_ok(moeg_router_affine_create(&router, K, D, W, masked));
    assert_ok(moeg_expert_forward(p.experts[0], 1, x, expected));
    for (int kind = MOEG_GATE_SOFTMAX; kind <= MOEG_GATE_SUBSET; kind++)
        for (size_t k = kind == MOEG_GATE_SOFTMAX ? 0 : 1; k <= (kind == MOEG_GATE_SOFTMAX ? 0 : 2); k++) {
            const moeg_gate gate = {(moeg_gate_kind)kind, k};
            mark(M, y);
            assert_ok(moeg_moe_create(&moe, router, gate, p.experts));
            if (k < 2) {
                assert_ok(moeg_moe_forward(moe, 0.7, 1, x, y));
                assert_same_bits(y, expected, M);
            } else {
                assert_status(moeg_moe_forward(moe, 0.7, 1, x, y), MOEG_EDOM,
                              "moe: the router masks all but 1 experts, fewer than gate.k = 2");
                assert_true(is_marked(M, y));
            }
            moeg_moe_free(moe);
        }
    moeg_router_free(router);
    free_parts(&p);
}

static void every_row_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    parts p = make_parts();
    double x[70 * D], y[70 * M];
    fill_values(5, 70 * D, 2, x);
    mark(70 * M, y);
    assert_status(moeg_moe_forward(NULL, 1, 70, x, y), MOEG_EINVAL, "moe_forward: moe must not be NULL");
    assert_status(moeg_moe_forward(p.moe, 1, 70, NULL, y), MOEG_EINVAL, "moe_forward: x must not be NULL");
    assert_status(moeg_moe_forward(p.moe, 1, 70, x, NULL), MOEG_EINVAL, "moe_forward: y must not be NULL");
    assert_status(moeg_moe_forward(p.moe, -1, 70, x, y), MOEG_EINVAL,
                  "moe_forward: tau must be 0 or in [1e-300, 1e300]");
    assert_status(moeg_moe_forward(p.moe, NAN, 70, x, y), MOEG_EINVAL, "moe_forward: tau");
    x[69 * D + 1] = INFINITY;
    assert_status(moeg_moe_forward(p.moe, 1, 70, x, y), MOEG_EINVAL, "moe_forward: x[69, 1] must be finite, got inf");
    /* The logit of expert 0 overflows to -inf or +inf. */
    for (double sign = -1; sign <= 1; sign += 2) {
        x[69 * D + 1] = sign * 1.7e308;
        assert_status(moeg_moe_forward(p.moe, 0, 70, x, y), MOEG_ERANGE,
                      "moe_forward: the value, or a logit behind it, of row 69, output 0, overflows");
    }
    assert_true(is_marked(70 * M, y));
    assert_ok(moeg_moe_forward(p.moe, 1, 0, NULL, NULL));
    free_parts(&p);
}

static moeg_status create_and_forward(void *user)
{
    const parts *p = user;
    const double x[D] = {0.3, -1.2};
    double y[M];
    mark(M, y);
    moeg_moe *moe = NULL;
    moeg_status status = moeg_moe_create(&moe, p->router, moeg_gate_softmax(), p->experts);
    if (status == MOEG_OK)
        status = moeg_moe_forward(moe, 0.4, 1, x, y);
    if (status != MOEG_OK)
        assert_true(is_marked(M, y));
    moeg_moe_free(moe);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    parts p = make_parts();
    assert_int_equal(fail_every_allocation(create_and_forward, &p), 3);
    free_parts(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_the_gated_sum),
        cmocka_unit_test(all_gates_mix),
        cmocka_unit_test(a_row_alone_is_the_row_in_a_batch),
        cmocka_unit_test(an_expert_with_gate_zero_is_left_out),
        cmocka_unit_test(hard_gates_take_the_first_of_ties),
        cmocka_unit_test(masked_experts_take_no_part),
        cmocka_unit_test(the_mixture_knows_and_keeps_its_parts),
        cmocka_unit_test(every_creation_error_is_named),
        cmocka_unit_test(masks_leave_enough_experts),
        cmocka_unit_test(every_row_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
