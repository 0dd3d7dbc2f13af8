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

const char *moeg_kernel_name(void)
{
    return moeg_kernel_best()->name;
}
