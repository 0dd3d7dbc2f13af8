/* The kernels of gates and mixtures, in every instruction set, against the obvious sums in long double. */
#include "base/kernel.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"

enum { MOST_LOSERS = 17, MOST_M = 9, STRIDE = 136 };

/* Numbers of a block of rows: logits below the best, some far below, one tie and one mask for each few rows. */
struct rows {
    double *below, *contrast, *residual, *hard, *gate, *gap, *soft;
};

static struct rows make_rows(void)
{
    struct rows r;
    double **const all[] = {&r.below, &r.contrast, &r.residual, &r.hard, &r.gate, &r.gap, &r.soft};
    for (size_t i = 0; i < 7; i++) {
        *all[i] = moeg_alloc(MOST_LOSERS * MOST_M * STRIDE, sizeof **all[i]);
        moeg_kernel_normals(40 + i, 0, 0, MOST_LOSERS * MOST_M, STRIDE, *all[i]);
    }
    for (size_t i = 0; i < MOST_LOSERS * STRIDE; i++)
        r.below[i] = i % 11 == 0   ? 0
                     : i % 13 == 0 ? -INFINITY
                     : i % 17 == 0 ? -900 * fabs(r.below[i])
                                   : -3 * fabs(r.below[i]);
    for (size_t i = 0; i < STRIDE; i++)
        r.hard[i] *= r.hard[i];
    return r;
}

static void free_rows(struct rows *r)
{
    double *const all[] = {r->below, r->contrast, r->residual, r->hard, r->gate, r->gap, r->soft};
    for (size_t i = 0; i < 7; i++)
        moeg_release(all[i]);
}

static void set_arrays(moeg_kernel_mixture *x, const struct rows *r)
{
    x->below = r->below;
    x->contrast = r->contrast;
    x->residual = r->residual;
    x->hard = r->hard;
    x->gate = r->gate;
}

/* One row. The gates have a relative error of |below/tau| EPS, by which x e^x stays below 1/e, and a few EPS more; the
 * sums another (losers + m) EPS/2. All beside the sum of magnitudes. */
static void check_row(const moeg_kernel_mixture *x, size_t i, double tau, double gap, double soft)
{
    long double sum = 1, want_gap = 0, want_soft = x->loss ? x->hard[i] : 0, size = fabs(x->hard[i]);
    for (size_t k = 0; k < x->experts; k++) {
        const long double v = expl((long double)x->below[k * x->stride + i] / tau);
        const double gate = x->gate[k * x->stride + i];
        sum += v;
        /* v <= exp(-|x|) (1 + |x| EPS + 2 EPS); in the tail to the spacing of subnormals where sums are exact. */
        assert_near(gate, (double)v, 3 * EPS + (x->exact ? 5e-324 : 1e-307));
        if (x->exact)
            assert_near(gate, (double)v, 800 * EPS * (double)v + 5e-324);
    }
    for (size_t j = 0; j < x->m; j++) {
        long double D = 0, magnitude = 0;
        for (size_t k = 0; k < x->experts; k++) {
            const long double v = expl((long double)x->below[k * x->stride + i] / tau) / sum;
            D += v * x->contrast[(k * x->m + j) * x->stride + i];
            magnitude += v * fabs(x->contrast[(k * x->m + j) * x->stride + i]);
        }
        const long double r = x->residual[j * x->stride + i];
        want_gap += x->loss ? D : D * (D + 2 * r);
        want_soft += x->loss ? D : (r + D) * (r + D);
        size += x->loss ? magnitude : (magnitude + fabsl(r)) * (magnitude + fabsl(r));
    }
    const double allowed = (8 + (double)(x->experts + x->m)) * EPS * (double)size;
    assert_near(gap, (double)want_gap, allowed);
    assert_near(soft, (double)want_soft, allowed);
}

static void mix_is_the_obvious_sum(void **state)
{
    (void)state;
    struct rows r = make_rows();
    const double taus[] = {1e-300, 3e-3, 0.385, 1, 2e5, 1e300};
    const size_t outputs[] = {1, 2, 4, 5, MOST_M};
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t losers = 1; losers <= MOST_LOSERS; losers += losers < 8 ? 1 : 9)
            for (size_t c = 0; c < 5 * 4 * 6; c++) {
                const int loss = c % 2 == 1, exact = c / 2 % 2 == 1;
                moeg_kernel_mixture x = {
                    .experts = losers,
                    .contrasts = losers,
                    .m = loss ? 1 : outputs[c / 4 % 5],
                    .stride = STRIDE,
                    .loss = loss,
                    .exact = exact,
                };
                set_arrays(&x, &r);
                const double tau = taus[c / 20];
                const size_t first = c % 3 * MOEG_LANES, count = STRIDE - first - c % 5 * MOEG_LANES;
                r.gap[count] = r.soft[count] = 42;
                set->mix(&x, first, count, tau, r.gap, r.soft);
                for (size_t i = 0; i < count; i++)
                    check_row(&x, first + i, tau, r.gap[i], r.soft[i]);
                assert_true(r.gap[count] == 42 && r.soft[count] == 42);
            }
    free_rows(&r);
}

/* A row's bits do not depend on where it stands. */
static void mix_does_not_depend_on_the_place(void **state)
{
    (void)state;
    enum { LOSERS = 5, M = 6 };
    struct rows r = make_rows(), moved = make_rows();
    double gap[STRIDE], soft[STRIDE];
    moeg_kernel_mixture x = {.experts = LOSERS, .contrasts = LOSERS, .m = M, .stride = STRIDE}, y = x;
    set_arrays(&x, &r);
    set_arrays(&y, &moved);
    for (size_t j = 0; j < LOSERS * M; j++)
        for (size_t i = 0; i < STRIDE; i++) {
            const size_t to = (i * 5 + 3) % STRIDE;
            if (j < LOSERS)
                moved.below[j * STRIDE + to] = r.below[j * STRIDE + i];
            if (j < M)
                moved.residual[j * STRIDE + to] = r.residual[j * STRIDE + i];
            moved.contrast[j * STRIDE + to] = r.contrast[j * STRIDE + i];
        }
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        set->mix(&x, 0, STRIDE, 0.385, r.gap, r.soft);
        set->mix(&y, 0, STRIDE, 0.385, moved.gap, moved.soft);
        for (size_t i = 0; i < STRIDE; i++) {
            const size_t to = (i * 5 + 3) % STRIDE;
            gap[i] = moved.gap[to];
            soft[i] = moved.soft[to];
        }
        assert_memory_equal(r.gap, gap, sizeof gap);
        assert_memory_equal(r.soft, soft, sizeof soft);
    }
    free_rows(&r);
    free_rows(&moved);
}

static void softmax_is_the_obvious_quotient(void **state)
{
    (void)state;
    enum { K = 7 };
    const double taus[] = {1e-3, 0.385, 1, 1e300};
    double *a = moeg_alloc(K * STRIDE, sizeof *a), *gate = moeg_alloc(K * STRIDE, sizeof *gate);
    moeg_kernel_normals(50, 0, 0, K, STRIDE, a);
    for (size_t i = 0; i < K * STRIDE; i += 5)
        a[i] = i % 3 == 0 ? ceil(a[i]) : i % 3 == 1 ? -INFINITY : 100 * a[i];
    a[3] = NAN;
    a[STRIDE + 4] = INFINITY;
    for (size_t k = 0; k < K; k++)
        a[k * STRIDE + 5] = -INFINITY;
    a[6] = 1.7e308; /* The difference from the next overflows. */
    a[STRIDE + 6] = -1.7e308;
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t t = 0; t < 4; t++) {
            memcpy(gate, a, K * STRIDE * sizeof *a);
            set->softmax(K, taus[t], STRIDE, gate);
            for (size_t i = 0; i < STRIDE; i++) {
                long double top = -INFINITY, sum = 0;
                for (size_t k = 0; k < K; k++)
                    top = fmaxl(top, a[k * STRIDE + i]);
                for (size_t k = 0; k < K; k++)
                    sum += expl((a[k * STRIDE + i] - top) / taus[t]);
                for (size_t k = 0; k < K; k++) {
                    const double got = gate[k * STRIDE + i];
                    const double want = (double)(expl((a[k * STRIDE + i] - top) / taus[t]) / sum);
                    if (i == 3 || i == 4 || i == 5)
                        assert_true(isnan(got));
                    else /* The sum has K EPS/2, the others |log want| EPS and 3 EPS. */
                        assert_near(got, want, (7 - log(fmax(want, 1e-307))) * EPS * want + 1e-307);
                }
            }
        }
    moeg_release(a);
    moeg_release(gate);
}

static void the_plain_ones_are_plain(void **state)
{
    (void)state;
    enum { N = 72, K = 4 };
    double *a = moeg_alloc(K * N, sizeof *a), out[N], winner[N];
    uint32_t best[N], place[N];
    moeg_kernel_normals(51, 0, 0, K, N, a);
    for (size_t i = 0; i < N; i++) {
        best[i] = (uint32_t)(i * i % K);
        place[i] = (uint32_t)(i * 7 % N);
    }
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        set->winners(N, N, best, a, winner);
        for (size_t i = 0; i < N; i++)
            assert_near(winner[i], a[best[i] * N + i], 0);
        for (size_t k = 0; k + 1 < K; k++) {
            set->losers(k, N, best, a + k * N, a + (k + 1) * N, winner, out);
            for (size_t i = 0; i < N; i++)
                assert_near(out[i], a[(k < best[i] ? k : k + 1) * N + i] - winner[i], 0);
        }
        set->gather(N, place, a, out);
        for (size_t i = 0; i < N; i++)
            assert_near(out[i], a[place[i]], 0);
    }
    moeg_release(a);
}

/* Where the weight is 0, an infinite or missing value is left out. */
static void zero_weights_leave_out(void **state)
{
    (void)state;
    _Alignas(64) double g[MOEG_LANES] = {0, -0.0, 0, 0.385, 2, 0, 1, 0};
    _Alignas(64) double f[MOEG_LANES] = {INFINITY, NAN, 3, 2.385, -1, -INFINITY, INFINITY, 7};
    const double want[MOEG_LANES] = {1, 1, 1, 1 + 0.385 * 2.385, -1, 1, INFINITY, 1};
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        _Alignas(64) double y[MOEG_LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
        set->add_weighted(MOEG_LANES, g, f, y);
        for (size_t i = 0; i < MOEG_LANES; i++)
            assert_near(y[i], want[i], 0);
    }
}

static void dispatch(void **state)
{
    (void)state;
    const moeg_kernel_table *best = moeg_kernel_best();
    struct rows r = make_rows();
    double gap[2 * MOEG_LANES], weighted[2][MOEG_LANES] = {{0}};
    moeg_kernel_mixture x = {.experts = 3, .contrasts = 3, .m = 2, .stride = STRIDE};
    set_arrays(&x, &r);
    best->mix(&x, 0, MOEG_LANES, 0.385, r.gap, r.soft);
    memcpy(gap, r.gap, sizeof gap);
    moeg_kernel_mix(&x, 0, MOEG_LANES, 0.385, r.gap, r.soft);
    assert_memory_equal(gap, r.gap, MOEG_LANES * sizeof *gap);
    memcpy(r.soft, r.hard, 2 * STRIDE * sizeof(double));
    best->softmax(2, 0.385, STRIDE, r.soft);
    moeg_kernel_softmax(2, 0.385, STRIDE, r.hard);
    assert_memory_equal(r.soft, r.hard, 2 * STRIDE * sizeof(double));
    best->add_weighted(MOEG_LANES, r.gap, r.residual, weighted[0]);
    moeg_kernel_add_weighted(MOEG_LANES, r.gap, r.residual, weighted[1]);
    assert_memory_equal(weighted[0], weighted[1], sizeof weighted[0]);
    free_rows(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mix_is_the_obvious_sum),          cmocka_unit_test(mix_does_not_depend_on_the_place),
        cmocka_unit_test(softmax_is_the_obvious_quotient), cmocka_unit_test(the_plain_ones_are_plain),
        cmocka_unit_test(zero_weights_leave_out),          cmocka_unit_test(dispatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
