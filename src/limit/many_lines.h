/* More lines than one: rays, or where those are not for the problem, or directions are given, any. */
#ifndef MOEG_LIMIT_MANY_LINES_H
#define MOEG_LIMIT_MANY_LINES_H

#include "limit/nodes.h"
#include "limit/ray_risk.h"

#include <moegeom/options.h>

typedef struct moeg_many_lines {
    const char *no_rays, *no_lines; /* why not, or NULL; no_lines only if there are no rays */
    moeg_ray_risk rays;
    moeg_nodes nodes; /* if there are no rays */
} moeg_many_lines;

/* To be freed with moeg_many_lines_free(), whatever it returns. Fails as moeg_ray_risk_init() and moeg_nodes_init(). */
moeg_status moeg_many_lines_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                 const moeg_law *law, const moeg_sampling *s, moeg_many_lines *lines);
void moeg_many_lines_free(moeg_many_lines *lines);

/* Whether neither are for the problem, and the error that says so: MOEG_EUNSUPPORTED. `refusal`: why one line is not
 * enough. */
int moeg_many_lines_refused(const moeg_many_lines *lines);
moeg_status moeg_many_lines_check(const char *function, const char *refusal, const moeg_many_lines *lines);

#endif
