/* One row of K logits, each finite or -inf: what the public functions do to many, and routers and mixtures to tiles. */
#ifndef MOEG_MODEL_LOGITS_H
#define MOEG_MODEL_LOGITS_H

#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

/* MOEG_OK; MOEG_EINVAL for a NaN or +inf, by row and expert; MOEG_EDOM for a row with fewer than `wanted` finite
 * logits. */
moeg_status moeg_check_logits(const char *function, size_t n, size_t K, const double *logits, size_t wanted);

/* The same for one row, of which the messages say that it is row `row`. */
moeg_status moeg_check_finite_logits(const char *function, size_t row, size_t K, const double *logits, size_t wanted);

/* *margin = a_(1) - a_(2), +inf if a_(2) = -inf. 0 if the difference of two finite logits overflows. */
int moeg_margin_row(size_t K, const double *logits, double *margin);

/* The k largest in order, ties to the lowest index; at least k are finite. */
void moeg_top_row(size_t K, const double *logits, size_t k, size_t *index);

/* The gap, never -0; +inf if fewer than `lower` logits are finite. At least `upper` are. 0 if the difference of two
 * finite logits overflows. Logit j stands at logits[j * stride]. */
int moeg_gap_row(size_t K, size_t stride, const double *logits, moeg_gap gap, double *out);

#endif
