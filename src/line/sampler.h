/* Expectations over lines [theory: star directions, lines]: of cells with a star E [ integral over the ray of the cell
 * of density(t) h ], and of what is left E [ integral over whole lines of density(t) omega h ]. Both are strata: a
 * pilot finds how much each varies, and lines go where that is most (Neyman), with a share for all. */
#ifndef MOEG_LINE_SAMPLER_H
#define MOEG_LINE_SAMPLER_H

#include "line/frame.h"
#include "line/ray.h"
#include "line/shift.h"
#include "line/strata.h"
#include "line/tally.h"

#include <moegeom/job.h>
#include <moegeom/options.h>
#include <moegeom/router.h>
#include <stdint.h>

/* The strata of a router: rays 0 .. cells - 1, then lines. */
typedef struct moeg_rays {
    moeg_frame frame;
    size_t cells, r;
    moeg_ray *ray;     /* (cells), in the order of the experts: all of them, or those with a star */
    moeg_strata lines; /* what no ray sees; none where all cells have a star */
} moeg_rays;

/* Where a line meets the ray of its cell (ray.h): a block of `stride` lines. */
typedef struct moeg_ray_block {
    size_t stride;
    double *u, *t, *lag; /* (r + extra), (1), (losers) */
    uint32_t *active;    /* (1) */
} moeg_ray_block;

/* A block of `stride` whole lines: alpha_k + slope_k t (strata.h, envelope.h). */
typedef struct moeg_line_block {
    size_t stride;
    double *u, *alpha; /* (r + extra), (K) */
} moeg_line_block;

/* What is averaged: integrals over the ray of a line, and over whole lines. */
typedef struct moeg_ray_quantity {
    size_t count; /* of values that a line has */
    /* Doubles of scratch that a block takes, in cell k. */
    size_t (*workspace)(const void *self, const moeg_ray *ray, size_t stride);
    /* values (count x stride) and bounds on their quadrature errors, likewise. */
    void (*evaluate)(const void *self, const moeg_ray *ray, const moeg_ray_block *block, double *workspace,
                     double *values, double *errors);
    /* The same on lines of stratum l, with its share of every point; NULL where there are rays alone. */
    size_t (*line_workspace)(const void *self, const moeg_strata *strata, size_t stride);
    void (*line_evaluate)(const void *self, const moeg_strata *strata, size_t l, const moeg_line_block *block,
                          double *workspace, double *values, double *errors);
    const void *self;
    /* Normals that a line has beyond its u: rows r .. r + extra - 1 of the block's u. Where there are any, lines are
     * drawn whatever r. */
    size_t extra;
    /* How far a result is from the tolerance of the options (base/rounds.h); may change it. NULL: s->n lines. */
    double (*excess)(const void *self, moeg_ray_result *result);
    size_t aim, aims; /* the values whose errors lines are dealt out to make small: aims of them from aim on; 0: all */
    /* Its ties are looked for, and lines drawn around those that are far; if all count alike, not beside one that is
     * near. */
    moeg_gap gap;
    int alike;
    /* For the plane alone, r = 2, where the values are smooth but for kinks where crossings meet, or such a crossing
     * and one that is shifted to where the gap is `shift`, and change over lengths of `width`/slope around those; 0: do
     * not. Lines have kinks where experts of the ranks upper .. lower of the gap change. */
    double shift, width;
} moeg_ray_quantity;

/* *refusal: NULL if the router is affine, not all experts but one are masked, the logits vary and the law is Gaussian,
 * else why not. Rays of the cells that have a star; where others have none, lines for what is decided where they are
 * the best. To be freed with moeg_rays_free(), whatever the refusal. MOEG_ENOMEM, MOEG_ERANGE. */
moeg_status moeg_rays_init(const char *function, const moeg_router *router, const moeg_law *law, moeg_rays *rays,
                           const char **refusal);

/* The same for what a gap decides, which may be any: rays only if it is from the best expert and the options name no
 * directions, and logits that do not vary are one line. MOEG_EINVAL (directions, strata.h). */
moeg_status moeg_rays_init_gap(const char *function, const moeg_router *router, const moeg_law *law, moeg_gap gap,
                               const moeg_sampling *s, moeg_rays *rays, const char **refusal);
void moeg_rays_free(moeg_rays *rays);

/* The expectations. One line is enough for r < 2; r = 2 leaves a quadrature over the other coordinate; else s->n lines
 * are drawn, in pairs (an odd one is left out), 4 or more a stratum, and around ties that are far (shift.h). MOEG_OK;
 * MOEG_ECANCELED (written, over the lines done); MOEG_EINVAL (n too small), MOEG_ERANGE (a value or a variance is not
 * finite), MOEG_ENOMEM. To be freed with moeg_ray_result_free(). */
moeg_status moeg_rays_expect(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                             const moeg_sampling *s, moeg_ray_result *result);

/* Lines of one stratum: n antithetic pairs, u_i and u_{stride/2 + i}, i < n, the others of `stride` like them but not
 * wanted. `first` is the number of the first pair. */
typedef struct moeg_line_draw {
    uint64_t first;
    size_t n, stride;
    double *base;            /* of the workspace */
    double *u;               /* (drawn x stride) */
    double *values, *errors; /* (count x stride), with room for one more */
} moeg_line_draw;

/* What is averaged over lines that are drawn in strata: the sum over strata of the means of `count` values. */
typedef struct moeg_line_source {
    const moeg_shifts *shifts; /* of the strata, in the first r of what is drawn */
    size_t drawn, count;
    size_t aim, aims;                                            /* as of a quantity */
    double (*excess)(const void *self, moeg_ray_result *result); /* as of a quantity */
    /* Doubles of workspace for a draw of `stride` lines, of any stratum. */
    size_t (*room)(const void *self, size_t stride);
    /* Sets u, values and errors in the workspace at base. */
    void (*place)(const void *self, size_t stratum, moeg_line_draw *draw);
    /* Values and errors of the lines u. */
    moeg_status (*evaluate)(const void *self, size_t stratum, const moeg_line_draw *draw);
    const void *self;
} moeg_line_source;

/* Into a result of moeg_ray_result_init(), over s->n lines, as moeg_rays_expect() draws them; MOEG_ERANGE; fails as
 * evaluate does. */
moeg_status moeg_lines_expect(const char *function, const moeg_line_source *source, const moeg_sampling *s,
                              moeg_ray_result *result);

/* r = 2: adds the expectations by quadrature over the coordinate perpendicular to each stratum, of rays (plane.c) and
 * of lines (plane_lines.c). */
moeg_status moeg_rays_plane(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                            moeg_ray_result *result);
moeg_status moeg_rays_plane_lines(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                                  moeg_ray_result *result);

/* Doubles that a block of `stride` lines of a stratum takes: what belongs to its rays or lines, values, errors and
 * scratch, laid out from `base`. */
typedef struct moeg_ray_buffers {
    size_t stride;
    double *u;
    moeg_ray_block block;
    moeg_line_block lines;
    double *values, *errors, *scratch;
} moeg_ray_buffers;
size_t moeg_rays_layout(const moeg_rays *rays, size_t stratum, const moeg_ray_quantity *quantity, size_t stride,
                        double *base, moeg_ray_buffers *buffers);

/* Room for blocks of `stride` lines of any stratum. */
size_t moeg_rays_room(const moeg_rays *rays, const moeg_ray_quantity *quantity, size_t stride);

/* Values and errors of the lines u. */
void moeg_rays_evaluate(const moeg_rays *rays, size_t stratum, const moeg_ray_quantity *quantity,
                        moeg_ray_buffers *buffers);

/* The lines that parts are made for: a run to a tolerance may need few of those it has. */
static inline uint64_t moeg_lines_expected(const moeg_sampling *s)
{
    const uint64_t first = 4096;
    return (s->rel_tol > 0 || s->abs_tol > 0) && s->n > first ? first : s->n;
}

static inline size_t moeg_rays_strata(const moeg_rays *rays)
{
    return rays->cells + rays->lines.count;
}

#endif
