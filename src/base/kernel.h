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

/* Lays arrays out one after another: the next one of `count` doubles, at *used of base; NULL if base is, for layouts
 * that are only measured. */
static inline double *moeg_take(double *base, size_t *used, size_t count)
{
    const size_t at = *used;
    *used += moeg_round_lanes(count);
    return base == NULL ? NULL : base + at;
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

/* gap[i] = the distance from the logit of rank `upper` (1: the largest) to that of rank `lower`, never -0. Where all
 * logits are finite or -inf, and at least `upper` finite, it is finite or, if a logit of rank `lower` is -inf or the
 * difference overflows, +inf; elsewhere it has no meaning. Returns 0 if all logits and gaps are finite but for masks of
 * -inf below `lower`; else some unit wants to be looked at. 1 <= upper < lower <= K, and lower or K + 1 - upper at most
 * MOEG_GAP_RANKS. gap (stride). */
enum { MOEG_GAP_RANKS = 64 };
int moeg_kernel_gap(size_t K, size_t stride, const double *a, size_t upper, size_t lower, double *gap);

/* The same for n units (a multiple of MOEG_LANES) whose variables are x_stride and out_stride apart, and where `relu`
 * is not 0, with what is negative made 0, and what is infinite NaN. */
void moeg_kernel_layer(int relu, size_t K, size_t d, const double *W, const double *b, size_t n, size_t x_stride,
                       const double *x, size_t out_stride, double *out);

/* Activations s(x): max(x, 0); x Phi(x), Phi the normal distribution function; x/(1 + exp(-x)); tanh x. */
typedef enum moeg_kernel_activation {
    MOEG_KERNEL_RELU,
    MOEG_KERNEL_GELU,
    MOEG_KERNEL_SILU,
    MOEG_KERNEL_TANH
} moeg_kernel_activation;
enum { MOEG_KERNEL_ACTIVATIONS = MOEG_KERNEL_TANH + 1 };

/* y[i] = s(x[i]): within 4 ulp, and 1.1e-305 more where exp() is below its range; NaN where x[i] is NaN or infinite. n
 * a multiple of MOEG_LANES; y may be x. */
void moeg_kernel_activate(moeg_kernel_activation activation, size_t n, const double *x, double *y);

/* y[i] = s'(x[i]), likewise; relu'(0) = 0. Within 4 epsilon of the sum of magnitudes of the two terms of (x g(x))' =
 * g(x) + x g'(x) for GELU and SILU, which cancel near their minimum. */
void moeg_kernel_slope(moeg_kernel_activation activation, size_t n, const double *x, double *y);

/* y[i] = exp(x[i]) for x[i] <= 0 or -inf: within 2 ulp for x[i] >= -708, then to the spacing of subnormals, and 0 below
 * -708.75; NaN stays NaN; n a multiple of MOEG_LANES; y may be x. */
void moeg_kernel_exp(size_t n, const double *x, double *y);

/* Uniforms (moegeom/stream.h): u[j * stride + i] = draw j of unit first + i, for j < q, i < stride. */
void moeg_kernel_uniforms(uint64_t seed, uint32_t id, uint64_t first, size_t q, size_t stride, double *u);

/* Normals, likewise. */
void moeg_kernel_normals(uint64_t seed, uint32_t id, uint64_t first, size_t q, size_t stride, double *z);

/* Sum of x[i] - shift, and of its square, over n values; x at any address. */
double moeg_kernel_deviations(size_t n, const double *x, double shift, double *squares);

/* Whether all of n values are finite; x at any address. */
int moeg_kernel_finite(size_t n, const double *x);

/* Sum of |x[i]|, and of its square, over n values; x at any address. */
double moeg_kernel_magnitudes(size_t n, const double *x, double *squares);

/* out[i] = x[i] - mean; x at any address. Returns their sum. */
double moeg_kernel_center(size_t n, const double *x, double mean, double *out);

/* n pairs of values a[i] and b[i] with the errors e[i] and f[i], at any addresses: a[i] becomes their mean. In sums
 * (3): of the means of errors, of the means' |a[i]|, and how many of the 2 n values were not 0. */
void moeg_kernel_pairs(size_t n, double *a, const double *b, const double *e, const double *f, double *sums);

/* out[i, j] = sum over u < n of a[i, u] b[j, u], a (p x stride), b (q x stride), out (p x q); n a multiple of
 * MOEG_LANES. If b is a, the part of out above the diagonal is left undefined. */
void moeg_kernel_products(size_t p, size_t q, size_t n, size_t stride, const double *a, const double *b, double *out);

/* bin[i] = how many of the nw ascending w are below v[i]; 0 if v[i] is NaN. nw < 2^32; v at any address. */
void moeg_kernel_bins(size_t nw, const double *w, size_t n, const double *v, uint32_t *bin);

/* out[i] = a[best[i] * step + i]: what the best expert of each row has. */
void moeg_kernel_winners(size_t step, size_t n, const uint32_t *best, const double *a, double *out);

/* Loser k of a row is expert k, or expert k + 1 from the best one on. out[i] = a[i] or next[i], what experts k and k +
 * 1 have, less winner[i]. */
void moeg_kernel_losers(size_t k, size_t n, const uint32_t *best, const double *a, const double *next,
                        const double *winner, double *out);

/* out[i] = in[place[i]]. */
void moeg_kernel_gather(size_t n, const uint32_t *place, const double *in, double *out);

/* index[r * stride + i] = the expert of rank r + 1 in unit i, r < ranks <= K, of logits a (K x stride) that are finite
 * or -inf: the larger first, ties in the order of the index. In other units numbers below K without meaning. */
void moeg_kernel_ranks(size_t K, size_t ranks, size_t stride, const double *a, uint32_t *index);

/* The experts that are not among these, ascending, to the rows ranks .. K - 1 of index ((K + 1) x stride), the last of
 * which is left undefined. Of units without meaning numbers below K again. */
void moeg_kernel_rest(size_t K, size_t ranks, size_t stride, uint32_t *index);

/* How the gates of a mixture come about. Terms of a softmax over the best expert, whose own is 1, and the others; the
 * changes of those of SUBSET, of whose K experts the k winners stand first; or what stands in `gate`. */
typedef enum moeg_kernel_gates { MOEG_KERNEL_SOFTMAX, MOEG_KERNEL_SUBSET, MOEG_KERNEL_GIVEN } moeg_kernel_gates;

/* A block of rows, each with its experts in an order of its own. */
typedef struct moeg_kernel_mixture {
    moeg_kernel_gates gates;
    size_t experts;   /* that have a gate: but for the best (SOFTMAX), or all */
    size_t contrasts; /* that have a contrast; if fewer, all from the last of them on share its */
    size_t winners;   /* k of SUBSET */
    size_t m, stride;
    int loss;               /* which mixing: of outputs (0) or of losses (1) */
    int exact;              /* whether gates of SOFTMAX below e^-700 matter */
    const double *below;    /* (experts x stride) <= 0 or -inf: a_k - a_best; SUBSET a_(k) - a_i, then a_j - a_(k+1) */
    const double *margin;   /* (stride) a_(k) - a_(k+1): SUBSET */
    const double *contrast; /* (contrasts m x stride) what a gate adds to D; of losses (contrasts x stride) */
    const double *residual; /* (m x stride) of the hard gates' output, h - y; not for losses */
    const double *hard;     /* (stride) the hard risk */
    double *gate;           /* (experts x stride) scratch, if not GIVEN */
    double *chain;          /* moeg_kernel_chain() doubles of scratch: SUBSET */
} moeg_kernel_mixture;

/* (K + 2)(min(k, K - k) + 1) vectors. */
size_t moeg_kernel_chain(size_t K, size_t k);

/* Risks of rows first .. first + count - 1 at a temperature tau > 0; both numbers multiples of MOEG_LANES. With
 * D = sum_k g_k contrast_k: of outputs gap = D.(D + 2 residual) and soft = |residual + D|^2, of losses gap = D and
 * soft = hard + D. The gates g_k are v_k/(1 + sum_j v_j), v_k = exp(below_k/tau) (SOFTMAX: hard + D loses nothing, as
 * it is at least hard/K); the probability that k changes sides, over k (SUBSET; binomial coefficient(K, k) below
 * 1e300); GIVEN. gap (count) and soft (count) start at row `first`. */
void moeg_kernel_mix(const moeg_kernel_mixture *mixture, size_t first, size_t count, double tau, double *gap,
                     double *soft);

/* Logits a (K x stride) to gates exp((a_k - a_(1))/tau)/sum, in place, tau > 0; NaN in a unit without a finite logit or
 * with one that is NaN or +inf. Within |log g| epsilon and a few more; below e^-708 a gate may be 0. */
void moeg_kernel_softmax(size_t K, double tau, size_t stride, double *a);

/* y[i] += g[i] f[i] where g[i] is not 0, for i < n, a multiple of MOEG_LANES. */
void moeg_kernel_add_weighted(size_t n, const double *g, const double *f, double *y);

/* Lines along a star direction (line/ray.h) at one temperature: nodes at offsets past the crossing t, in panels. Loser
 * j has the term v_j = gate_j decay_j(node) = exp(-(a_k - a_j)/tau) there. */
typedef struct moeg_kernel_ray {
    size_t losers, outputs, constants, stride;
    int loss;                      /* which mixing: of outputs (0) or of losses (1) */
    size_t nodes, panel;           /* nodes in all, and in a panel */
    const double *start;           /* (nodes/panel) where panels begin */
    const double *offset;          /* (nodes) */
    const double *kronrod, *gauss; /* (nodes) weights, times half the width of the panel */
    const double *decay;           /* (nodes x losers) exp(-slope_j offset/tau) */
    const double *crossing;        /* (stride) t */
    const double *gate;            /* (losers x stride) exp(-slope_j lag_j/tau) */
    const double *contrast;        /* (losers outputs x stride) f_j - f_k at the crossing */
    const double *contrast_slope;  /* (losers x outputs) its slope along the ray */
    const double *residual;        /* (outputs x stride) f_k - m at the crossing */
    const double *residual_slope;  /* (outputs) */
    const double *fixed_contrast;  /* (losers x constants) of outputs that are the same all over x */
    const double *fixed_residual;  /* (constants) */
    const double *excess;          /* (losers 3 x stride) |f_j - m|^2 - |f_k - m|^2 = sum_p excess_p offset^p: losses */
    /* For what is beyond the leading term alone. */
    const double *number; /* (stride) of the loser that ties, as a double */
    const double *tied;   /* (outputs + constants x stride) its contrast at the crossing; losses: (stride) its excess */
    double steepness;     /* largest slope over tau */
} moeg_kernel_ray;

/* gap (stride): the integral of density(t + offset) (l_tau - l_0) over the nodes; error (stride): the sum over panels
 * of what Kronrod's rule and Gauss's differ by, and rounding. scratch: losers vectors of MOEG_LANES doubles. */
void moeg_kernel_ray_gap(const moeg_kernel_ray *ray, double *scratch, double *gap, double *error);

/* rest (stride): the integral over the nodes of density(t + offset) (l_tau - l_0) less density(t) times the same with
 * no loser but the one that ties, and all outputs as at the crossing: formed without cancellation, for offsets up to 1.
 * error as above; scratch: 2 losers vectors. */
void moeg_kernel_ray_rest(const moeg_kernel_ray *ray, double *scratch, double *rest, double *error);

/* The name of the instruction set picked: "avx512", "avx2" or "generic". */
const char *moeg_kernel_name(void);

#endif
