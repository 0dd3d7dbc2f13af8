/* Experts and routers of the user's own, and everything that is made of them. */
#include "model/rows.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { D = 3, M = 2, K = 4, N = 203 };

/* What the functions below are to do: return `code`, or write `bad` over one value, at the row whose x_0 is `at`. */
struct plan {
    int code;
    double at, bad;
    size_t column;
};

static void spoil(const struct plan *p, size_t n, size_t width, const double *x, double *out)
{
    for (size_t i = 0; i < n && p != NULL; i++)
        if (x[i * D] == p->at && p->code == 0)
            out[i * width + p->column] = p->bad;
}

static int fail_at(const struct plan *p, size_t n, const double *x)
{
    for (size_t i = 0; i < n && p != NULL; i++)
        if (x[i * D] == p->at)
            return p->code;
    return 0;
}

static int is_blank(size_t n, const double *out)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(out[i]))
            return 0;
    return 1;
}

/* (x_0 x_1, sin x_2 + x_0). */
static int forward(size_t n, const double *x, double *out, void *user)
{
    if (!is_blank(n * M, out))
        return 99;
    for (size_t i = 0; i < n; i++) {
        const double *v = x + i * D;
        out[i * M] = v[0] * v[1];
        out[i * M + 1] = sin(v[2]) + v[0];
    }
    spoil(user, n, M, x, out);
    return fail_at(user, n, x);
}

static int jacobian(size_t n, const double *x, double *out, void *user)
{
    for (size_t i = 0; i < n; i++) {
        const double *v = x + i * D, row[M * D] = {v[1], v[0], 0, 1, 0, cos(v[2])};
        memcpy(out + i * M * D, row, sizeof row);
    }
    spoil(user, n, M * D, x, out);
    return fail_at(user, n, x);
}

/* Quadratic logits; the third expert is masked where x_1 > 0. */
static int logits(size_t n, const double *x, double *out, void *user)
{
    if (!is_blank(n * K, out))
        return 99;
    for (size_t i = 0; i < n; i++) {
        const double *v = x + i * D;
        const double row[K] = {v[0] * v[1], v[2] - v[0], v[1] > 0 ? -INFINITY : v[1] * v[1], 0.3 - v[2] * v[2]};
        memcpy(out + i * K, row, sizeof row);
    }
    spoil(user, n, K, x, out);
    return fail_at(user, n, x);
}

static int mask_all(size_t n, const double *x, double *out, void *user)
{
    (void)x;
    (void)user;
    for (size_t i = 0; i < n * K; i++)
        out[i] = i / K == n / 2 ? -INFINITY : 1;
    return 0;
}

static int write_nothing(size_t n, const double *x, double *out, void *user)
{
    (void)n;
    (void)x;
    (void)out;
    (void)user;
    return 0;
}

static void experts_are_their_functions(void **state)
{
    (void)state;
    double x[N * D], y[N * M], J[N * M * D], expected[M * D];
    fill_values(1, N * D, 3, x);
    moeg_expert *expert;
    assert_ok(moeg_expert_callback_create(&expert, D, M, forward, jacobian, NULL));
    assert_int_equal(moeg_expert_dim(expert), D);
    assert_int_equal(moeg_expert_outputs(expert), M);
    assert_ok(moeg_expert_forward(expert, N, x, y));
    assert_ok(moeg_expert_jacobian(expert, N, x, J));
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < M; j++)
            expected[j] = NAN;
        forward(1, x + i * D, expected, NULL);
        assert_same_bits(y + i * M, expected, M);
        jacobian(1, x + i * D, expected, NULL);
        assert_same_bits(J + i * M * D, expected, M * D);
    }
    assert_status(moeg_expert_affine_form(expert, NULL, NULL), MOEG_EUNSUPPORTED, "neither affine nor constant");
    moeg_expert_free(expert);
    mark(N * M * D, J);
    assert_ok(moeg_expert_callback_create(&expert, D, M, forward, NULL, NULL));
    for (size_t n = 0; n < 2; n++)
        assert_status(moeg_expert_jacobian(expert, n, x, J), MOEG_EUNSUPPORTED,
                      "expert_jacobian: the callback expert was made without a Jacobian");
    assert_true(is_marked(N * M * D, J));
    moeg_expert_free(expert);
}

static void expert_failures_stop_the_run(void **state)
{
    (void)state;
    double x[N * D], y[N * M], J[N * M * D];
    fill_values(2, N * D, 3, x);
    mark(N * M, y);
    mark(N * M * D, J);
    struct plan plan = {.code = -7, .at = x[150 * D]};
    moeg_expert *expert, *silent;
    assert_ok(moeg_expert_callback_create(&expert, D, M, forward, jacobian, &plan));
    assert_status(moeg_expert_forward(expert, N, x, y), MOEG_ECALLBACK, "expert_callback: forward returned -7");
    assert_status(moeg_expert_jacobian(expert, N, x, J), MOEG_ECALLBACK, "expert_callback: jacobian returned -7");
    assert_ok(moeg_expert_forward(expert, 100, x, y));
    mark(N * M, y);
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t v = 0; v < 3; v++) {
        plan = (struct plan){.at = x[150 * D], .bad = bad[v], .column = 1};
        assert_status(moeg_expert_forward(expert, N, x, y), MOEG_ERANGE, "the value of row 150, output 1, overflows");
        plan.column = 5;
        assert_status(moeg_expert_jacobian(expert, N, x, J), MOEG_ERANGE,
                      "the derivative of row 150, output 1, input 2, overflows");
    }
    assert_ok(moeg_expert_callback_create(&silent, D, M, write_nothing, NULL, NULL));
    assert_status(moeg_expert_forward(silent, N, x, y), MOEG_ERANGE, "the value of row 0, output 0, overflows");
    assert_true(is_marked(N * M, y) && is_marked(N * M * D, J));
    moeg_expert_free(expert);
    moeg_expert_free(silent);
}

static void routers_are_their_functions(void **state)
{
    (void)state;
    double x[N * D], a[N * K], expected[K], margin[N], one;
    size_t top[N], best;
    fill_values(3, N * D, 3, x);
    moeg_router *router;
    assert_ok(moeg_router_callback_create(&router, K, D, logits, NULL));
    assert_int_equal(moeg_router_experts(router), K);
    assert_int_equal(moeg_router_dim(router), D);
    assert_ok(moeg_router_logits(router, N, x, a));
    assert_ok(moeg_router_margin(router, N, x, margin));
    assert_ok(moeg_router_top(router, N, x, 1, top));
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < K; k++)
            expected[k] = NAN;
        logits(1, x + i * D, expected, NULL);
        assert_same_bits(a + i * K, expected, K);
        assert_ok(moeg_margin(1, K, expected, &one));
        assert_same_bits(&margin[i], &one, 1);
        assert_ok(moeg_top(1, K, expected, 1, &best));
        assert_int_equal(top[i], best);
    }
    moeg_router_free(router);
}

static void router_failures_stop_the_run(void **state)
{
    (void)state;
    double x[N * D], a[N * K], margin[N];
    size_t top[N];
    fill_values(4, N * D, 3, x);
    mark(N * K, a);
    mark(N, margin);
    memset(top, 77, sizeof top);
    struct plan plan = {.code = 12, .at = x[N * D - D]};
    moeg_router *router, *mask, *silent;
    assert_ok(moeg_router_callback_create(&router, K, D, logits, &plan));
    assert_ok(moeg_router_callback_create(&mask, K, D, mask_all, NULL));
    assert_ok(moeg_router_callback_create(&silent, K, D, write_nothing, NULL));
    for (int v = 0; v < 5; v++) {
        const double bad[] = {0, NAN, INFINITY, 0, 0};
        const moeg_status statuses[] = {MOEG_ECALLBACK, MOEG_ERANGE, MOEG_ERANGE, MOEG_EDOM, MOEG_ERANGE};
        const char *const texts[] = {"router_callback: logits returned 12",
                                     "the logit of row 202 and expert 3 overflows",
                                     "the logit of row 202 and expert 3 overflows",
                                     "router_callback: every logit of a row is -inf: one at least must be finite",
                                     "the logit of row 0 and expert 0 overflows"};
        const moeg_router *which = v == 3 ? mask : v == 4 ? silent : router;
        if (v > 0)
            plan = (struct plan){.at = x[N * D - D], .bad = bad[v], .column = 3};
        assert_status(moeg_router_logits(which, N, x, a), statuses[v], texts[v]);
        assert_status(moeg_router_margin(which, N, x, margin), statuses[v], texts[v]);
        assert_status(moeg_router_top(which, N, x, 1, top), statuses[v], texts[v]);
    }
    assert_true(is_marked(N * K, a) && is_marked(N, margin));
    for (size_t i = 0; i < sizeof top; i++)
        assert_int_equal(((unsigned char *)top)[i], 77);
    moeg_router_free(router);
    moeg_router_free(mask);
    moeg_router_free(silent);
}

/* A mixture, a teacher, a risk and a boundary mass of callbacks. */
struct parts {
    struct plan plans[3]; /* of the router, of experts 0 and 2, of the teacher */
    moeg_router *router;
    moeg_expert *experts[K], *taught;
    moeg_moe *moe;
    moeg_teacher *teacher, *imitator;
    moeg_law *law;
};

static void build(struct parts *p)
{
    const double c[M] = {0.3, -1.2};
    assert_ok(moeg_router_callback_create(&p->router, K, D, logits, &p->plans[0]));
    for (size_t k = 0; k < K; k++)
        assert_ok(k % 2 == 0 ? moeg_expert_callback_create(&p->experts[k], D, M, forward, NULL, &p->plans[1])
                             : moeg_expert_constant_create(&p->experts[k], D, M, c));
    assert_ok(moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), p->experts));
    assert_ok(moeg_expert_callback_create(&p->taught, D, M, forward, NULL, &p->plans[2]));
    assert_ok(moeg_teacher_expert_create(&p->teacher, p->taught));
    assert_ok(moeg_teacher_moe_create(&p->imitator, p->moe, 0.5));
}

static void tear_down(struct parts *p)
{
    moeg_router_free(p->router);
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(p->experts[k]);
    moeg_expert_free(p->taught);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
    moeg_teacher_free(p->imitator);
    moeg_law_free(p->law);
}

static void mixtures_and_teachers(void **state)
{
    (void)state;
    struct parts p = {.plans = {{.at = 1e9}, {.at = 1e9}, {.at = 1e9}}};
    double x[N * D], y[N * M], a[N * K], f[2][N * M], t[N * M];
    build(&p);
    fill_values(5, N * D, 2, x);
    assert_ok(moeg_moe_forward(p.moe, 0.5, N, x, y));
    assert_ok(moeg_teacher_mean(p.imitator, 0, N, x, t));
    assert_same_bits(t, y, N * M);
    assert_ok(moeg_teacher_mean(p.teacher, 0, N, x, t));
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_forward(p.experts[k], N, x, f[k]));
    assert_same_bits(t, f[0], N * M);
    assert_ok(moeg_router_logits(p.router, N, x, a));
    assert_ok(moeg_gates_softmax(N, K, a, 0.5, a));
    for (size_t i = 0; i < N * M; i++) {
        const double *g = a + i / M * K;
        /* Four products of gates right to a few epsilon. */
        assert_near(y[i], (g[0] + g[2]) * f[0][i] + (g[1] + g[3]) * f[1][i], 20 * EPS * (fabs(f[0][i]) + 2));
    }
    mark(N * M, y);
    for (int which = 0; which < 3; which++) {
        p.plans[which] = (struct plan){.code = 3, .at = x[99 * D]};
        const char *text = which == 0 ? "router_callback: logits returned 3" : "expert_callback: forward returned 3";
        if (which == 2)
            assert_status(moeg_teacher_mean(p.teacher, 0, N, x, y), MOEG_ECALLBACK, text);
        else {
            assert_status(moeg_moe_forward(p.moe, 0.5, N, x, y), MOEG_ECALLBACK, text);
            assert_status(moeg_teacher_mean(p.imitator, 0, N, x, y), MOEG_ECALLBACK, text);
        }
        p.plans[which] = (struct plan){.at = 1e9};
    }
    assert_true(is_marked(N * M, y));
    tear_down(&p);
}

/* Rows of an empirical law, so that every value is known: the risk is the mean over them. */
static void risks_and_boundaries(void **state)
{
    (void)state;
    struct parts p = {.plans = {{.at = 1e9}, {.at = 1e9}, {.at = 1e9}}};
    const double tau = 0.5, w = 0.4;
    double x[N * D], y[N * M], t[N * M], margin[N], risk = 0, mass = 0;
    build(&p);
    fill_values(6, N * D, 2, x);
    assert_ok(moeg_law_empirical_create(&p.law, N, D, x, NULL));
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    moeg_estimate soft, estimate;
    assert_ok(moeg_moe_forward(p.moe, tau, N, x, y));
    assert_ok(moeg_teacher_mean(p.teacher, 0, N, x, t));
    assert_ok(moeg_router_margin(p.router, N, x, margin));
    for (size_t i = 0; i < N * M; i++)
        risk += (y[i] - t[i]) * (y[i] - t[i]) / N;
    for (size_t i = 0; i < N; i++)
        mass += (margin[i] <= w) / (double)N;
    for (int threads = 1; threads <= 5; threads += 2) {
        s.max_threads = threads;
        assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, NULL, &soft, NULL, NULL));
        assert_relative(soft.value, risk, 1e-12); /* N terms */
        assert_ok(moeg_boundary_mass(p.router, p.law, 1, &w, &s, &estimate));
        assert_relative(estimate.value, mass, 1e-13);
        for (int which = 0; which < 3; which++) {
            p.plans[which] = (struct plan){.code = 3, .at = x[99 * D]};
            const char *text =
                which == 0 ? "router_callback: logits returned 3" : "expert_callback: forward returned 3";
            assert_status(
                moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, NULL, &soft, NULL, NULL),
                MOEG_ECALLBACK, text);
            if (which == 0)
                assert_status(moeg_boundary_mass(p.router, p.law, 1, &w, &s, &estimate), MOEG_ECALLBACK, text);
            p.plans[which] = (struct plan){.at = 1e9};
        }
    }
    tear_down(&p);
}

static void every_creation_error_is_named(void **state)
{
    (void)state;
    moeg_expert *expert = NULL;
    moeg_router *router = NULL;
    const size_t large = (size_t)1 << 32;
    assert_status(moeg_expert_callback_create(NULL, D, M, forward, NULL, NULL), MOEG_EINVAL,
                  "expert_callback: expert must not be NULL");
    assert_status(moeg_expert_callback_create(&expert, 0, M, forward, NULL, NULL), MOEG_EINVAL,
                  "expert_callback: d and m must be at least 1, got d = 0, m = 2");
    assert_status(moeg_expert_callback_create(&expert, D, large, forward, NULL, NULL), MOEG_EINVAL,
                  "expert_callback: d and m must be below 2^32, got d = 3, m = 4294967296");
    assert_status(moeg_expert_callback_create(&expert, large, M, forward, NULL, NULL), MOEG_EINVAL,
                  "expert_callback: d and m must be below 2^32");
    assert_status(moeg_expert_callback_create(&expert, D, M, NULL, jacobian, NULL), MOEG_EINVAL,
                  "expert_callback: forward must not be NULL");
    assert_status(moeg_router_callback_create(NULL, K, D, logits, NULL), MOEG_EINVAL,
                  "router_callback: router must not be NULL");
    assert_status(moeg_router_callback_create(&router, 0, D, logits, NULL), MOEG_EINVAL,
                  "router_callback: K must be at least 1, got 0");
    assert_status(moeg_router_callback_create(&router, K, 0, logits, NULL), MOEG_EINVAL,
                  "router_callback: d must be at least 1, got 0");
    assert_status(moeg_router_callback_create(&router, large, D, logits, NULL), MOEG_EINVAL,
                  "router_callback: K and d must be below 2^32, got K = 4294967296, d = 3");
    assert_status(moeg_router_callback_create(&router, K, large, logits, NULL), MOEG_EINVAL, "must be below 2^32");
    assert_status(moeg_router_callback_create(&router, K, D, NULL, NULL), MOEG_EINVAL,
                  "router_callback: logits must not be NULL");
    assert_true(expert == NULL && router == NULL);
}

static moeg_status create_and_evaluate(void *user)
{
    (void)user;
    const double x[D] = {0.3, 1.2, -0.7};
    double y[M], a[K];
    moeg_expert *expert = NULL;
    moeg_router *router = NULL;
    mark(M, y);
    mark(K, a);
    moeg_status status = moeg_expert_callback_create(&expert, D, M, forward, NULL, NULL);
    if (status == MOEG_OK)
        status = moeg_router_callback_create(&router, K, D, logits, NULL);
    if (status == MOEG_OK && (status = moeg_expert_forward(expert, 1, x, y)) != MOEG_OK)
        assert_true(is_marked(M, y));
    if (status == MOEG_OK && (status = moeg_router_logits(router, 1, x, a)) != MOEG_OK)
        assert_true(is_marked(K, a));
    moeg_expert_free(expert);
    moeg_router_free(router);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(create_and_evaluate, NULL), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_are_their_functions),   cmocka_unit_test(expert_failures_stop_the_run),
        cmocka_unit_test(routers_are_their_functions),   cmocka_unit_test(router_failures_stop_the_run),
        cmocka_unit_test(mixtures_and_teachers),         cmocka_unit_test(risks_and_boundaries),
        cmocka_unit_test(every_creation_error_is_named), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
