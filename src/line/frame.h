/* The row space of affine routers under a Gaussian law, where their logits live [theory: row space].
 *
 * Logits a = W (mean + L z) + b, z ~ N(0, I_d), of experts that no bias masks matter by their differences from one of
 * them, K - 1 rows (w_k - w_ref) L. With T Q = those rows, T (K - 1 x r) lower triangular and Q of r orthonormal rows,
 * r <= min(d, K - 1), they are a_k - a_ref = constant + T u, u = Q z ~ N(0, I_r). Every affine function of x splits
 * into one of u and a part of z orthogonal to the rows, which is independent of u. */
#ifndef MOEG_LINE_FRAME_H
#define MOEG_LINE_FRAME_H

#include <moegeom/law.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

/* Logits of the K experts of one router that are not masked, in their order, but for a summand that all share: constant
 * + T u. Experts with equal rows and biases have them equal here, to the last bit. */
typedef struct moeg_frame_logits {
    size_t K;
    size_t *expert;   /* (K) their numbers in the router */
    double *T;        /* (K x r) */
    double *constant; /* (K) */
    double *rounding; /* (K) what rounding may have done to each of these numbers */
} moeg_frame_logits;

/* One frame for up to two routers on the same x. */
enum { MOEG_FRAME_ROUTERS = 2 };

typedef struct moeg_frame {
    size_t d, r;
    const double *mean, *factor; /* of the law, as it keeps them: x = mean + factor z; a NULL factor is the identity */
    int singular;                /* the covariance is */
    double *Q;                   /* (r x d) */
    size_t routers;
    moeg_frame_logits logits[MOEG_FRAME_ROUTERS];
} moeg_frame;

/* NULL where a frame exists, else why not: "the router is not affine". */
const char *moeg_frame_refusal(const moeg_router *router, const moeg_law *law);

/* The frame of `count` affine routers of the law's dimension under a Gaussian law, which must outlive it. To be freed
 * with moeg_frame_free(). MOEG_ERANGE (a difference of logits overflows), MOEG_ENOMEM; zeros on error.
 * Cost O(K d^2 + K^2 d). */
moeg_status moeg_frame_init(const char *function, size_t count, const moeg_router *const *routers, const moeg_law *law,
                            moeg_frame *frame);
void moeg_frame_free(moeg_frame *frame);

/* An affine map F x + h (m x d), (m), as slope u + value + rest z with rest Q' = 0: value (m), slope (m x r), rest
 * (m x d). */
void moeg_frame_image(const moeg_frame *frame, size_t m, const double *F, const double *h, double *value, double *slope,
                      double *rest);

#endif
