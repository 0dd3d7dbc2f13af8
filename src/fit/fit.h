/* What the tests see of the chapter's inside. */
#ifndef MOEG_FIT_FIT_H
#define MOEG_FIT_FIT_H

#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

/* moeg_centroids() with a limit on the sweeps of one's own. */
moeg_status moeg_centroids_within(size_t most_sweeps, size_t n, size_t d, const double *x, const double *weights,
                                  size_t K, uint64_t seed, double *centroids, size_t *assignment, size_t *iterations);

#endif
