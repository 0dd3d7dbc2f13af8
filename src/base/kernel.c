#include "base/kernel.h"

#include "base/kernel_table.h"

#include <stdatomic.h>

extern const moeg_kernel_table moeg_kernel_generic;
#if defined(__x86_64__)
extern const moeg_kernel_table moeg_kernel_avx2;
extern const moeg_kernel_table moeg_kernel_avx512;
#endif

const moeg_kernel_table *moeg_kernel_available(size_t index)
{
    const moeg_kernel_table *sets[4] = {&moeg_kernel_generic};
#if defined(__x86_64__)
    size_t count = 1;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        sets[count++] = &moeg_kernel_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        sets[count++] = &moeg_kernel_avx512;
#endif
    return index < sizeof sets / sizeof *sets ? sets[index] : NULL;
}

/* The best set, found by the first call. Threads that race here find the same. */
const moeg_kernel_table *moeg_kernel_best(void)
{
    static _Atomic(const moeg_kernel_table *) picked;
    const moeg_kernel_table *table = atomic_load_explicit(&picked, memory_order_relaxed);
    if (table == NULL) {
        for (size_t i = 0; moeg_kernel_available(i) != NULL; i++)
            table = moeg_kernel_available(i);
        atomic_store_explicit(&picked, table, memory_order_relaxed);
    }
    return table;
}

void moeg_kernel_affine(size_t K, size_t d, const double *W, const double *b, size_t stride, const double *x,
                        double *out)
{
    moeg_kernel_best()->affine(K, d, W, b, stride, x, out);
}

int moeg_kernel_top2(size_t K, size_t stride, const double *a, uint32_t *best, double *margin)
{
    return moeg_kernel_best()->top2(K, stride, a, best, margin);
}

int moeg_kernel_gap(size_t K, size_t stride, const double *a, size_t upper, size_t lower, double *gap)
{
    return moeg_kernel_best()->gap(K, stride, a, upper, lower, gap);
}

void moeg_kernel_layer(int relu, size_t K, size_t d, const double *W, const double *b, size_t n, size_t x_stride,
                       const double *x, size_t out_stride, double *out)
{
    moeg_kernel_best()->layer(relu, K, d, W, b, n, x_stride, x, out_stride, out);
}

void moeg_kernel_activate(moeg_kernel_activation activation, size_t n, const double *x, double *y)
{
    moeg_kernel_best()->activate[activation](n, x, y);
}

void moeg_kernel_slope(moeg_kernel_activation activation, size_t n, const double *x, double *y)
{
    moeg_kernel_best()->slope[activation](n, x, y);
}

void moeg_kernel_exp(size_t n, const double *x, double *y)
{
    moeg_kernel_best()->exp(n, x, y);
}

void moeg_kernel_uniforms(uint64_t seed, uint32_t id, uint64_t first, size_t q, size_t stride, double *u)
{
    moeg_kernel_best()->uniforms(seed, id, first, 0, q, stride, u);
}

void moeg_kernel_normals(uint64_t seed, uint32_t id, uint64_t first, size_t q, size_t stride, double *z)
{
    moeg_kernel_best()->normals(seed, id, first, 0, q, stride, z);
}

double moeg_kernel_deviations(size_t n, const double *x, double shift, double *squares)
{
    return moeg_kernel_best()->deviations(n, x, shift, squares);
}

int moeg_kernel_finite(size_t n, const double *x)
{
    return moeg_kernel_best()->finite(n, x);
}

double moeg_kernel_magnitudes(size_t n, const double *x, double *squares)
{
    return moeg_kernel_best()->magnitudes(n, x, squares);
}

double moeg_kernel_center(size_t n, const double *x, double mean, double *out)
{
    return moeg_kernel_best()->center(n, x, mean, out);
}

void moeg_kernel_pairs(size_t n, double *a, const double *b, const double *e, const double *f, double *sums)
{
    moeg_kernel_best()->pairs(n, a, b, e, f, sums);
}

void moeg_kernel_products(size_t p, size_t q, size_t n, size_t stride, const double *a, const double *b, double *out)
{
    moeg_kernel_best()->products(p, q, n, stride, a, b, out);
}

void moeg_kernel_bins(size_t nw, const double *w, size_t n, const double *v, uint32_t *bin)
{
    moeg_kernel_best()->bins(nw, w, n, v, bin);
}

void moeg_kernel_winners(size_t step, size_t n, const uint32_t *best, const double *a, double *out)
{
    moeg_kernel_best()->winners(step, n, best, a, out);
}

void moeg_kernel_losers(size_t k, size_t n, const uint32_t *best, const double *a, const double *next,
                        const double *winner, double *out)
{
    moeg_kernel_best()->losers(k, n, best, a, next, winner, out);
}

void moeg_kernel_gather(size_t n, const uint32_t *place, const double *in, double *out)
{
    moeg_kernel_best()->gather(n, place, in, out);
}

void moeg_kernel_ranks(size_t K, size_t ranks, size_t stride, const double *a, uint32_t *index)
{
    moeg_kernel_best()->ranks(K, ranks, stride, a, index);
}

void moeg_kernel_rest(size_t K, size_t ranks, size_t stride, uint32_t *index)
{
    moeg_kernel_best()->rest(K, ranks, stride, index);
}

size_t moeg_kernel_chain(size_t K, size_t k)
{
    return MOEG_LANES * (K + 2) * ((k < K - k ? k : K - k) + 1);
}

void moeg_kernel_mix(const moeg_kernel_mixture *mixture, size_t first, size_t count, double tau, double *gap,
                     double *soft)
{
    moeg_kernel_best()->mix(mixture, first, count, tau, gap, soft);
}

void moeg_kernel_softmax(size_t K, double tau, size_t stride, double *a)
{
    moeg_kernel_best()->softmax(K, tau, stride, a);
}

void moeg_kernel_add_weighted(size_t n, const double *g, const double *f, double *y)
{
    moeg_kernel_best()->add_weighted(n, g, f, y);
}

void moeg_kernel_ray_gap(const moeg_kernel_ray *ray, double *scratch, double *gap, double *error)
{
    moeg_kernel_best()->ray_gap(ray, scratch, gap, error);
}

void moeg_kernel_ray_rest(const moeg_kernel_ray *ray, double *scratch, double *rest, double *error)
{
    moeg_kernel_best()->ray_rest(ray, scratch, rest, error);
}

const char *moeg_kernel_name(void)
{
    return moeg_kernel_best()->name;
}
