#include "base/kernel.h"
#include "model/model.h"
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
    assert_ok(moeg_moe_create(&p.moe, p.router, MOEG_GATE_SOFTMAX, p.experts));
    return p;
}

static void free_parts(parts *p)
{
    moeg_moe_free(p->moe);
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(p->experts[k]);
    moeg_router_free(p->router);
}

/* High-entropy rows without a generator of ours: the fractional parts of multiples of irrational numbers. */
static void fill_rows(size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i * D] = 4 * fmod((double)(i + 1) * 0.6180339887498949, 1) - 2;
        x[i * D + 1] = 4 * fmod((double)(i + 1) * 0.7548776662466927, 1) - 2;
    }
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
    fill_rows(N, x);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_the_gated_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
