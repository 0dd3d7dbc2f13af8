/* What the chapters below see of laws, routers, experts, mixtures and teachers: blocks, reference counts, closed forms.
 *
 * A block is variable-major (base/kernel.h): x (d x stride), stride a multiple of MOEG_LANES; all `stride` units are
 * computed, of which the first n are wanted; the others hold finite values. Workspaces are doubles, 64-byte aligned. */
#ifndef MOEG_MODEL_MODEL_H
#define MOEG_MODEL_MODEL_H

#include <moegeom/expert.h>
#include <moegeom/gate.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/router.h>
#include <moegeom/teacher.h>
#include <stddef.h>
#include <stdint.h>

/* One more reference; returned for convenience. The matching release is the public free. */
moeg_law *moeg_law_retain(const moeg_law *law);
moeg_router *moeg_router_retain(const moeg_router *router);
moeg_expert *moeg_expert_retain(const moeg_expert *expert);
moeg_moe *moeg_moe_retain(const moeg_moe *moe);
moeg_teacher *moeg_teacher_retain(const moeg_teacher *teacher);

/* Rows of a block whose working set is `doubles_per_row`: as many as keep it within 256 KiB, from 72 to 4056. They are
 * 24, the columns that the affine kernels take at a time, times an odd number, so that variables are an odd number of
 * cache lines apart and do not contend for a few sets. A function of the problem's shape only: results depend on it. */
size_t moeg_block_rows(size_t doubles_per_row);

/* The same from the doubles that the arrays of MOEG_BLOCK_PROBE rows, or of so many more, take. */
enum { MOEG_BLOCK_PROBE = 64 };
size_t moeg_block_rows_from(size_t probed);

/* x of samples first .. first + stride - 1 (an empirical law repeats its last row past n, a callback law its last
 * sample; first + n <= rows there). All x are finite. Only a callback law fails: MOEG_ECALLBACK, or MOEG_ERANGE if x is
 * not finite; x then holds anything. */
size_t moeg_law_workspace(const moeg_law *law, size_t stride);
moeg_status moeg_law_draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                          double *workspace);

/* Weights (rows) of an empirical law that has some, scaled by a power of two so that the largest is in [1/2, 1), or
 * NULL: all rows count alike. They belong to the law. */
const double *moeg_law_weights(const moeg_law *law);

/* 1 and the parts of a Gaussian law, or 0 for another law. They belong to the law. *mean (d) is never NULL; *covariance
 * (d x d) is exactly symmetric, and NULL for the identity, which is not kept. */
int moeg_law_gaussian_parts(const moeg_law *law, const double **mean, const double **covariance);

/* 1 and the family and parameter of X_1 = s of a law with a known margin exponent, or 0 for another law. */
int moeg_law_margin_parts(const moeg_law *law, moeg_margin_family *family, double *parameter);

/* L (d x d) with which a Gaussian law makes its samples mean + L z, or NULL for the identity. Of a covariance of rank
 * r < d its last d - r columns are 0. It belongs to the law. */
const double *moeg_law_gaussian_factor(const moeg_law *law);

/* Experts that the router's bias does not mask, wherever x is: K of a callback router, which may mask any. */
size_t moeg_router_live(const moeg_router *router);

/* Logits a (K x stride): -inf for a masked expert, NaN where one overflows, in either direction. Only a callback router
 * fails: MOEG_ECALLBACK, or MOEG_EDOM if it masks every expert of a row. */
size_t moeg_router_workspace(const moeg_router *router, size_t stride);
moeg_status moeg_router_logits_block(const moeg_router *router, size_t n, size_t stride, const double *x, double *a,
                                     double *workspace);

/* Best expert and margin of each unit of a block of logits. Returns n, or the first unit (below n) whose logits hold a
 * NaN or +inf or no finite one, or whose margin overflows. best (stride), margin (stride). */
size_t moeg_margin_block(size_t K, size_t n, size_t stride, const double *a, uint32_t *best, double *margin);

/* MOEG_OK, or MOEG_EINVAL: what constructors of affine routers check of their arguments but for b; W is called `name`.
 */
moeg_status moeg_router_check_affine(const char *function, moeg_router **router, size_t K, size_t d, const char *name,
                                     const double *W);

/* MOEG_OK, or MOEG_EINVAL: the ranks of a gap are not those of K experts. */
moeg_status moeg_check_gap(const char *function, moeg_gap gap, size_t K);

/* The gap of each unit; +inf where fewer than `lower` logits are finite. Ranks may be above K + 1 here, as of a router
 * without its masked experts. Returns n, or the first unit (below n) whose logits hold a NaN or +inf or fewer than
 * `upper` finite ones, or whose gap overflows. out (stride). Cost O(K min(lower, K + 1 - upper)) a unit, in vectors
 * where the smaller is at most MOEG_GAP_RANKS. */
size_t moeg_gap_block(size_t K, size_t n, size_t stride, const double *a, moeg_gap gap, double *out);

/* The gap that decides where the temperature is felt, likewise: the margin, for SUBSET the top-k gap; +inf where the
 * gates do not depend on tau (TOPK_RENORM with k = 1, SUBSET with k = K). A unit is bad, too, if it has fewer finite
 * logits than the gate wants. */
size_t moeg_gate_gap_block(moeg_gate gate, size_t K, size_t n, size_t stride, const double *a, double *gap);

/* Gates (K x stride) of a block of logits, which they may be; tau = 0: the hard ones. NaN for a unit whose logits hold
 * a NaN or +inf, or fewer finite ones than the gate wants. */
size_t moeg_gate_workspace(moeg_gate gate, size_t K);
void moeg_gates_block(moeg_gate gate, size_t K, size_t stride, const double *a, double tau, double *gates,
                      double *workspace);

/* g(tau) - g(0) (K x stride), likewise, of a workspace as large, and their sum over the experts (stride), which is 0
 * but for TOPK_RAW; both without cancellation. */
void moeg_deviation_block(moeg_gate gate, size_t K, size_t stride, const double *a, double tau, double *change,
                          double *sum, double *workspace);

/* tau dg/dtau (K x stride) and its sum over the experts, likewise, of a workspace of its own; 0 at tau = 0. */
size_t moeg_slope_workspace(moeg_gate gate, size_t K);
void moeg_slope_block(moeg_gate gate, size_t K, size_t stride, const double *a, double tau, double *slope, double *sum,
                      double *workspace);

/* 1 and W (K x d), b (K) of an affine router, or 0 for another router. They belong to the router. */
int moeg_router_affine_parts(const moeg_router *router, const double **W, const double **b);

/* Outputs y (m x stride), not finite where one overflows. Only a callback expert fails: MOEG_ECALLBACK. */
size_t moeg_expert_workspace(const moeg_expert *expert, size_t stride);
moeg_status moeg_expert_forward_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                      double *workspace);

/* The output (m) of a constant expert, or NULL. It belongs to the expert. */
const double *moeg_expert_constant_output(const moeg_expert *expert);

/* Whether moeg_expert_affine_form() has an answer. */
int moeg_expert_is_affine(const moeg_expert *expert);

/* Outputs y (m x stride) of the mixture; NaN where a logit overflows. Fails as its router and experts do. */
size_t moeg_moe_workspace(const moeg_moe *moe, size_t stride);
moeg_status moeg_moe_forward_block(const moeg_moe *moe, double tau, size_t n, size_t stride, const double *x, double *y,
                                   double *workspace);

/* m(x) of a block: y (m x stride). `first` is the number of the first unit. Fails as the expert or mixture behind it.
 */
size_t moeg_teacher_workspace(const moeg_teacher *teacher, size_t stride);
moeg_status moeg_teacher_mean_block(const moeg_teacher *teacher, uint64_t first, size_t n, size_t stride,
                                    const double *x, double *y, double *workspace);

/* Dimension of x that the teacher wants; 0 if it looks at the row number only. */
size_t moeg_teacher_dim(const moeg_teacher *teacher);

/* Rows of a data teacher; 0 for any other. */
uint64_t moeg_teacher_rows(const moeg_teacher *teacher);

/* The expert of a teacher made from one, or NULL. It belongs to the teacher. Here and below noise is looked through:
 * moeg_teacher_noise() has it. */
const moeg_expert *moeg_teacher_expert(const moeg_teacher *teacher);

/* The mixture of a teacher made from one, and its temperature, or NULL. It belongs to the teacher. */
const moeg_moe *moeg_teacher_moe(const moeg_teacher *teacher, double *tau);

/* MOEG_OK, or MOEG_EINVAL: the kind is one of the list, and k in its range. */
moeg_status moeg_check_gate(const char *function, moeg_gate gate, size_t K);

/* 0 if tau is 0 or in [1e-300, 1e300], else MOEG_EINVAL with a message naming `function` and `name`. */
moeg_status moeg_check_tau(const char *function, const char *name, double tau);

#endif
