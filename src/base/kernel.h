/* The vector kernels: plain loops compiled for several instruction sets, the best one picked at run time.
 *
 * Blocks are variable-major: value of variable j in unit i at x[j * stride + i]; stride is a multiple of MOEG_LANES and
 * buffers are 64-byte aligned. Every lane is computed by the same operations in the same order wherever it stands in
 * the block, so a unit's results do not depend on its neighbours or on n. */
#ifndef MOEG_BASE_KERNEL_H
#define MOEG_BASE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define MOEG_LANES 8

/* n rounded up to a multiple of MOEG_LANES. */
static inline size_t moeg_round_lanes(size_t n)
{
    return (n + MOEG_LANES - 1) / MOEG_LANES * MOEG_LANES;
}

/* out[k, i] = b[k] + W[k, 0] x[0, i] + W[k, 1] x[1, i] + …, in this order, for all i < stride; NaN where that is not
 * finite, in either direction, so that an overflow to -inf is never taken for a mask.
 * W (K x d) row-major; b (K), or NULL for 0; x (d x stride); out (K x stride). */
void moeg_kernel_affine(size_t K, size_t d, const double *W, const double *b, size_t stride, const double *x,
                        double *out);

/* The largest of K logits a (K x stride) in each unit, the lowest index on a tie: best[i], and margin[i] = its distance
 * to the second, never -0. Where all are finite or -inf, and one at least finite, margin[i] is finite or, if the second
 * is -inf or the difference overflows, +inf; elsewhere it has no meaning. Returns 0 if all logits and margins are
 * finite but for masks of -inf below the second; else some unit wants to be looked at. best (stride), margin (stride).
 */
int moeg_kernel_top2(size_t K, size_t stride, const double *a, uint32_t *best, double *margin);

/* y[i] = exp(x[i]) for x[i] <= 0 or -inf: within 2 ulp for x[i] >= -708, then to the spacing of subnormals, and 0 below
 * -708.75; NaN stays NaN; n a multiple of MOEG_LANES; y may be x. */
void moeg_kernel_exp(size_t n, const double *x, double *y);

/* Uniforms (moegeom/stream.h): u[j * stride + i] = draw j of unit first + i, for j < q, i < stride. */
void moeg_kernel_uniforms(uint64_t seed, uint32_t id, uint64_t first, size_t q, size_t stride, double *u);

/* Normals, likewise. */
void moeg_kernel_normals(uint64_t seed, uint32_t id, uint64_t first, size_t q, size_t stride, double *z);

/* The name of the instruction set picked: "avx512", "avx2" or "generic". */
const char *moeg_kernel_name(void);

#endif
