/* The map of a Gaussian law, for the laws that are made of it. */
#ifndef MOEG_MODEL_LAW_GAUSSIAN_H
#define MOEG_MODEL_LAW_GAUSSIAN_H

#include <moegeom/law.h>
#include <stddef.h>

/* x = mean + L z of a block: z (d x stride), x (d x stride). x may be z if the covariance is the identity. `law` is
 * Gaussian. */
void moeg_law_gaussian_map(const moeg_law *law, size_t stride, const double *z, double *x);

#endif
