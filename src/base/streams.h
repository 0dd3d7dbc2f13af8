/* Ids of the library's random streams (moegeom/stream.h), one for each purpose, so that no two share draws. */
#ifndef MOEG_BASE_STREAMS_H
#define MOEG_BASE_STREAMS_H

enum {
    MOEG_STREAM_LAW = 0,       /* samples of laws: unit = sample */
    MOEG_STREAM_CENTROIDS = 1, /* k-means++ seeding: unit = centroid, draw 0 */
    MOEG_STREAM_COMPONENT = 2, /* component of a mixture's sample: unit = sample, draw 0 */
    MOEG_STREAM_NOISE = 3,     /* noise of a teacher: unit = sample, draw = output */
    MOEG_STREAM_LINE = 4,      /* lines: unit = line */
    MOEG_STREAM_PILOT = 5,     /* lines of the pilot: unit = 64 cell + line */
    MOEG_STREAM_GROUP = 6      /* the order of the rows of data, under seed 0: unit = place, draw 0 */
};

#endif
