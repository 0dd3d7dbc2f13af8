/* The kernels of one instruction set, and the choice between the sets. */
#ifndef MOEG_BASE_KERNEL_TABLE_H
#define MOEG_BASE_KERNEL_TABLE_H

#include "base/kernel.h"

#include <stddef.h>
#include <stdint.h>

typedef struct moeg_kernel_table {
    const char *name;
    void (*affine)(size_t K, size_t d, const double *W, const double *b, size_t stride, const double *x, double *out);
    int (*top2)(size_t K, size_t stride, const double *a, uint32_t *best, double *margin);
    int (*gap)(size_t K, size_t stride, const double *a, size_t upper, size_t lower, double *gap);
    void (*layer)(int relu, size_t K, size_t d, const double *W, const double *b, size_t n, size_t x_stride,
                  const double *x, size_t out_stride, double *out);
    void (*exp)(size_t n, const double *x, double *y);
    /* By moeg_kernel_activation. */
    void (*activate[MOEG_KERNEL_ACTIVATIONS])(size_t n, const double *x, double *y);
    void (*slope[MOEG_KERNEL_ACTIVATIONS])(size_t n, const double *x, double *y);
    /* Draws 2 pair .. 2 pair + q - 1. */
    void (*uniforms)(uint64_t seed, uint32_t id, uint64_t first, uint32_t pair, size_t q, size_t stride, double *u);
    void (*normals)(uint64_t seed, uint32_t id, uint64_t first, uint32_t pair, size_t q, size_t stride, double *z);
    /* For the tests: the parts of a normal. y[i] = log(x[i]) for normal x in (0, 1); s[i] = sin(2 pi v[i]) and
     * c[i] = cos(2 pi v[i]) for v in [0, 1]. n a multiple of MOEG_LANES. */
    void (*log)(size_t n, const double *x, double *y);
    void (*sincos)(size_t n, const double *v, double *s, double *c);
    double (*deviations)(size_t n, const double *x, double shift, double *squares);
    int (*finite)(size_t n, const double *x);
    double (*magnitudes)(size_t n, const double *x, double *squares);
    double (*center)(size_t n, const double *x, double mean, double *out);
    void (*pairs)(size_t n, double *a, const double *b, const double *e, const double *f, double *sums);
    void (*products)(size_t p, size_t q, size_t n, size_t stride, const double *a, const double *b, double *out);
    void (*bins)(size_t nw, const double *w, size_t n, const double *v, uint32_t *bin);
    void (*winners)(size_t step, size_t n, const uint32_t *best, const double *a, double *out);
    void (*losers)(size_t k, size_t n, const uint32_t *best, const double *a, const double *next, const double *winner,
                   double *out);
    void (*gather)(size_t n, const uint32_t *place, const double *in, double *out);
    void (*ranks)(size_t K, size_t ranks, size_t stride, const double *a, uint32_t *index);
    void (*rest)(size_t K, size_t ranks, size_t stride, uint32_t *index);
    void (*mix)(const moeg_kernel_mixture *mixture, size_t first, size_t count, double tau, double *gap, double *soft);
    void (*softmax)(size_t K, double tau, size_t stride, double *a);
    void (*add_weighted)(size_t n, const double *g, const double *f, double *y);
    void (*ray_gap)(const moeg_kernel_ray *ray, double *scratch, double *gap, double *error);
    void (*ray_rest)(const moeg_kernel_ray *ray, double *scratch, double *rest, double *error);
} moeg_kernel_table;

/* The sets that this processor has, from the plainest (always there) to the best; NULL past the last. */
const moeg_kernel_table *moeg_kernel_available(size_t index);

/* The best of them: the one behind kernel.h. */
const moeg_kernel_table *moeg_kernel_best(void);

#endif
