/** @file
 * Counter-based random streams: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011; Random123).
 *
 * Draw j of unit i under (seed, id) is a pure function of these four numbers, so any part of a run can be made
 * anywhere, in any order, with the same bits. The counter is {i mod 2^32, i div 2^32, j div 2, id}, the key is the
 * seed, low word first. Of the four words, w0 + 2^32 w1 is draw 2 (j div 2) and w2 + 2^32 w3 the next. A uniform is
 * (top 52 bits + 1/2)/2^52, hence in [2^-53, 1 - 2^-53]: never 0, never 1. A pair of normals is the Box-Muller
 * transform of a pair of uniforms. */
#ifndef MOEGEOM_STREAM_H
#define MOEGEOM_STREAM_H

#include <gsl/gsl_rng.h>
#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A stream: all 64 bits of the seed count, and streams of different id are independent. */
typedef struct moeg_stream {
    uint64_t seed; /**< Key. */
    uint32_t id;   /**< Purpose; 0 is the sampling of laws, 1 the seeding of centroids, 2 the component of a sample,
                  3 the noise of teachers. */
} moeg_stream;

/** Uniforms on (0, 1): draws 0 .. q - 1 of units first .. first + n - 1.
 *
 * @param u  (n x q), row-major
 * @return #MOEG_OK, or #MOEG_EINVAL (u NULL with n q > 0, q > 2^32, first + n past 2^64, n q past the
 *         size of memory). Thread-safe. Cost O(n q).
 *         The bits are the same on every machine. */
MOEG_EXPORT moeg_status moeg_stream_uniforms(moeg_stream stream, uint64_t first, size_t n, size_t q, double *u);

/** Standard normals, as moeg_stream_uniforms(). The values agree between machines to rounding. */
MOEG_EXPORT moeg_status moeg_stream_normals(moeg_stream stream, uint64_t first, size_t n, size_t q, double *z);

/** The stream of id 0 as a GSL generator: after gsl_rng_set(r, seed), all 64 bits of seed counting (0 too), the t-th
 * call of gsl_rng_uniform() or gsl_rng_uniform_pos() returns draw t mod 2 of unit t div 2 of the stream {seed, 0}, and
 * gsl_rng_get() the top 32 bits of the same draw. For host programs that want GSL's distributions on our streams. */
MOEG_EXPORT extern const gsl_rng_type *const moeg_rng_philox;

#ifdef __cplusplus
}
#endif

#endif
