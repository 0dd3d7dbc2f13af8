/* The operator M of a function of two coordinates under a Gaussian law [theory: symmetry breaking].
 *
 * X = mean + f1 s + f2 t + rest, s, t ~ N(0, 1), v.X = v.mean + spread s, w.X = w.mean + along s + across t, the rest
 * independent of both: M is linear in the moments of Y with 1, s, t, s^2 - 1, s t, t^2 - 1. */
#ifndef MOEG_DYNAMICS_SYMMETRY_FRAME_H
#define MOEG_DYNAMICS_SYMMETRY_FRAME_H

#include <moegeom/law.h>
#include <moegeom/status.h>
#include <moegeom/symmetry.h>
#include <stddef.h>

typedef struct moeg_symmetry_frame {
    size_t d;
    const double *mean, *covariance, *factor; /* the last two NULL for the identity; all belong to the law */
    int exponent;                             /* of v, which is 2^exponent times a vector of entries below 1 */
    double spread, centre;                    /* of v.X, and v.mean, both over 2^exponent */
    double along, across, shift;              /* of w.X; shift = w.mean */
    double on[2], on_size[2];                 /* mean' covariance^-1 (f1, f2), and the sizes of their sums */
    double squares;                           /* mean' covariance^-1 mean, if the class wants it, else 0 */
    double squares_size;                      /* what its rounding is relative to */
    double v_size, w_size, shift_size;        /* likewise of spread, along and across, shift, over the spreads */
    double *f1, *f2;                          /* (d) each; f2 = 0 where across is */
    double *f1_size, *f2_size;                /* (d) what their roundings are relative to */
    double *e1, *scratch;                     /* (d) each */
} moeg_symmetry_frame;

/* Of one output: E[Y], E[Y s], ... */
typedef struct moeg_symmetry_frame_moments {
    double one, s, t, ss, st, tt;
} moeg_symmetry_frame_moments;

/* The frame of v, with w = 0. MOEG_OK; MOEG_EINVAL (the dimensions do not fit), MOEG_EUNSUPPORTED (a law that is not
 * Gaussian), MOEG_EDOM (v.X does not vary; class LINEAR, a singular covariance and a mean other than 0), MOEG_ERANGE,
 * MOEG_ENOMEM. The law is to outlive it. To be freed where it is MOEG_OK. */
moeg_status moeg_symmetry_frame_create(const char *function, const moeg_law *law, size_t d, const double *v,
                                       moeg_symmetric symmetric, moeg_symmetry_frame *frame);
void moeg_symmetry_frame_free(moeg_symmetry_frame *frame);

/* Sets f2, along, across and shift to those of w (d). */
void moeg_symmetry_frame_set_across(moeg_symmetry_frame *frame, const double *w);

/* The block of one output: block[i * stride + j] = M_ij, d x p. */
void moeg_symmetry_frame_operator(const moeg_symmetry_frame *frame, moeg_symmetric symmetric,
                                  const moeg_contrast *contrast, const moeg_symmetry_frame_moments *moments,
                                  size_t stride, double *block);

/* To `block`, likewise, what errors of the moments make of it, and roundings, where the moments are integrals of
 * functions of these `sizes`; returns the largest of the sizes of its entries. */
double moeg_symmetry_frame_error(const moeg_symmetry_frame *frame, moeg_symmetric symmetric,
                                 const moeg_contrast *contrast, const moeg_symmetry_frame_moments *moments,
                                 const moeg_symmetry_frame_moments *errors, const moeg_symmetry_frame_moments *sizes,
                                 size_t stride, double *block);

#endif
