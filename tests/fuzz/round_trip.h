/* What the fuzzers of the parsers share: a file to write what has been read to, and the way to say that it differs. */
#ifndef MOEG_TESTS_FUZZ_ROUND_TRIP_H
#define MOEG_TESTS_FUZZ_ROUND_TRIP_H

#include <math.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char round_trip_path[64];

static inline void remove_round_trip(void)
{
    unlink(round_trip_path);
}

/* A file of this process's own, in memory where the system has such a place. */
static inline const char *round_trip_file(void)
{
    if (round_trip_path[0] == '\0') {
        snprintf(round_trip_path, sizeof round_trip_path, "%s/moegeom-fuzz-%ld",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        atexit(remove_round_trip);
    }
    return round_trip_path;
}

/* Aborts, which the fuzzer takes for a find. */
static inline void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s; last error: %s\n", what, moeg_last_error());
    abort();
}

#define REQUIRE(condition) require(condition, #condition)

static inline int same_values(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return 0;
    return 1;
}

#endif
