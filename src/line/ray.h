/* Rays: what lines along a star direction see of their cell [theory: star directions].
 *
 * A line u + (t - e.u) e, u ~ N(0, I_r), t ~ N(0, 1) independent, crosses a_k = a_j at t = crossing_j and lies in cell
 * k from the last crossing on, t_k = max_j crossing_j. At t = t_k + offset, a_k - a_j = slope_j (lag_j + offset) with
 * lag_j = t_k - crossing_j >= 0, and exactly 0 for the active j: differences of logits are formed from offsets, so that
 * none of them cancels, however near the interface. Losers are numbered in the experts' order, without k. */
#ifndef MOEG_LINE_RAY_H
#define MOEG_LINE_RAY_H

#include "line/frame.h"

#include <stddef.h>
#include <stdint.h>

/* The rays of one cell: functions of the router and the law alone. */
typedef struct moeg_ray {
    size_t cell;               /* k, a number in the frame */
    size_t losers, r;          /* K - 1 */
    double *direction;         /* (r) e */
    double *slope;             /* (losers) of a_k - a_j along e, > 0 */
    double *tilt;              /* (losers x r), perpendicular to e: crossing_j = level_j + tilt_j.u */
    double *level;             /* (losers) */
    double flattest, steepest; /* least and largest slope */
} moeg_ray;

/* The rays of cell k < K >= 2, r >= 1, if it has a star direction. To be freed with moeg_ray_free(), also where
 * *exists is 0. MOEG_ENOMEM. */
moeg_status moeg_ray_init(const char *function, const moeg_frame_logits *logits, size_t r, size_t k, moeg_ray *ray,
                          int *exists);
void moeg_ray_free(moeg_ray *ray);

/* Lines of a block, variable-major (base/kernel.h): from u (r x stride) to t_k, lags (losers x stride), and the active
 * loser, the lowest of those that cross last. */
void moeg_ray_lines(const moeg_ray *ray, size_t stride, const double *u, double *t, double *lag, uint32_t *active);

/* The offset at which the r-th nearest loser is `w` below: {a_(1) - a_(1 + rank) <= w} on the ray is [0, offset], or
 * empty where the offset is negative. `lag` belongs to one line, its values `step` apart; rank >= 1, at most losers. */
double moeg_ray_reach(const moeg_ray *ray, size_t rank, double w, const double *lag, size_t step);

#endif
