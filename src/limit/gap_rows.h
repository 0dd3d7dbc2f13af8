/* Sampled rows and a gap of each: what the boundary's masses and quantiles have in common. */
#ifndef MOEG_LIMIT_GAP_ROWS_H
#define MOEG_LIMIT_GAP_ROWS_H

#include <moegeom/law.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct moeg_gap_rows {
    const char *function; /* named in errors */
    moeg_router *router;
    moeg_law *law;
    moeg_gap gap;
    uint64_t seed;
    size_t K, d;
} moeg_gap_rows;

/* Keeps router and law alive, or, where row_space is not 0 and it has fewer dimensions, makes those of the router's row
 * space (row_space.h). To be freed with moeg_gap_rows_free(), of which zeros are fine. MOEG_OK or MOEG_ENOMEM. */
moeg_status moeg_gap_rows_init(const char *function, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                               int row_space, uint64_t seed, moeg_gap_rows *rows);
void moeg_gap_rows_free(moeg_gap_rows *rows);

/* Doubles that drawing `stride` rows needs. */
size_t moeg_gap_rows_workspace(const moeg_gap_rows *rows, size_t stride);

/* gap (stride) of rows first .. first + n - 1. MOEG_ERANGE (logits overflow), MOEG_EDOM (fewer experts than gap.upper
 * are not masked), or what a callback returns. */
moeg_status moeg_gap_rows_draw(const moeg_gap_rows *rows, uint64_t first, size_t n, size_t stride, double *workspace,
                               double *gap);

#endif
