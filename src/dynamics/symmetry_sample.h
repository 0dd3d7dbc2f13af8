/* M by sampling: what its passes over the same rows share. The first fits the symmetric expert (symmetry_sample_fit.c),
 * the last sums x r psi' and finds error bars (symmetry_sample_block.c); third moments that are not known take another
 * (symmetry_sample_moments.c). A block is a group of rows, which goes by in tiles (symmetry_sample_rows.c). */
#ifndef MOEG_DYNAMICS_SYMMETRY_SAMPLE_H
#define MOEG_DYNAMICS_SYMMETRY_SAMPLE_H

#include <moegeom/job.h>
#include <moegeom/law.h>
#include <moegeom/symmetry.h>
#include <moegeom/teacher.h>
#include <stddef.h>
#include <stdint.h>

/* What a refit of the symmetric expert would do to M is A[delta] = E[x psi' (delta.phi)], delta what it does to the
 * coefficients and phi their features: nothing without any; in closed form; or by third moments of the rows. */
typedef enum moeg_refit { MOEG_REFIT_NONE, MOEG_REFIT_CLOSED, MOEG_REFIT_ROWS } moeg_refit;

typedef struct moeg_symmetry_run {
    const char *name; /* Of the public function, in messages. */
    const moeg_teacher *teacher;
    const moeg_law *law;
    moeg_contrast contrast;
    size_t d, m, p;
    size_t features;       /* of the symmetric expert: phi = (1, x), one of them, or none */
    int intercept, linear; /* which */
    uint64_t seed;
    uint64_t units;        /* rows; of an empirical law, those of positive weight */
    uint64_t group;        /* rows of a block */
    uint64_t *order;       /* (units) the rows of an empirical law in an order of chance; or NULL: sample i is i */
    const double *weights; /* (rows of the law), or NULL: all 1 */
    moeg_refit refit;
    /* What the first pass drew, for those after it, or NULL: x and y of the tile that begins at row i, kept_rows[i] of
     * them (0: not there), from i (d + m) on, variable-major. Blocks write to their own rows alone; a runner whose
     * blocks do so in another process finds nothing here, and draws again. */
    double *kept;
    uint16_t *kept_rows; /* (units) */
    /* Found by the first pass; none of it without features. About the origin they are (1, x - origin). */
    double *origin; /* (d + m) of x, of an affine expert, and of y, of one with an intercept; else 0 */
    int shifted; /* x is drawn less its origin from now on. An affine fit leaves a residual that is orthogonal to x, so
                  * that M of the features x is the same about any point; far from 0 it would lose its digits. */
    double *slope;    /* (m x d) of the best symmetric expert */
    double *constant; /* (m) of it, at the origin */
    /* Found by the second. */
    double *factor; /* (features x features) L, L L' = E[phi phi'], under what `third` is under */
    double *third;  /* (features x d x p) means of phi x psi'; NULL of refits in closed form */
} moeg_symmetry_run;

/* moeg_symmetry_sample() that keeps x and y of all rows if these are no more than `most` doubles. */
enum { MOEG_SYMMETRY_KEPT = 1 << 22 };
moeg_status moeg_symmetry_sample_within(size_t most, const moeg_teacher *teacher, const moeg_law *law,
                                        moeg_symmetric symmetric, const moeg_contrast *contrast, const moeg_sampling *s,
                                        moeg_estimate *M);

/* Rows of a tile, at most: an odd number of cache lines. So many of four variables by four are multiplied within the
 * cache of the first level, beside little else than the products. */
enum { MOEG_SYMMETRY_TILE = 504 };

/* A tile of rows. Rows past n are as the last one, with weight 0. */
typedef struct moeg_symmetry_tile {
    size_t n, stride;
    double *x;       /* (d x stride) */
    double *y;       /* (m x stride) the teacher, then w r */
    double *w;       /* (stride) */
    double *fit;     /* (m x stride) */
    double *psi;     /* (p x stride) of the user's features */
    double *rows;    /* (stride x (d + p)) of theirs: x, then psi, row-major */
    double *scaled;  /* (max(d, p) x stride) */
    double *product; /* (max(d, p) max(4, p, m)) of one multiplication */
    double *one;     /* ((d + m) x MOEG_LANES) a row of data alone */
    double *scratch; /* of the law and the teacher */
} moeg_symmetry_tile;

/* Lays a tile of `stride` rows out from `base` (NULL: it is only measured). Returns the doubles used. */
size_t moeg_symmetry_layout(const moeg_symmetry_run *run, size_t stride, double *base, moeg_symmetry_tile *tile);

/* x, y and w of rows first .. first + n - 1 of the run. MOEG_OK; MOEG_ECALLBACK, MOEG_ERANGE as the law and the
 * teacher. */
moeg_status moeg_symmetry_draw(const moeg_symmetry_run *run, uint64_t first, size_t n, moeg_symmetry_tile *tile);

/* x less its origin (d x stride), in place of `scaled` unless that is what is drawn. */
const double *moeg_symmetry_center(const moeg_symmetry_run *run, moeg_symmetry_tile *tile);

/* y becomes w r, which may overflow. */
void moeg_symmetry_residual(const moeg_symmetry_run *run, moeg_symmetry_tile *tile);

/* psi, if the features are the user's. MOEG_OK; MOEG_ECALLBACK, MOEG_ERANGE. */
moeg_status moeg_symmetry_find_features(const moeg_symmetry_run *run, uint64_t first, moeg_symmetry_tile *tile);

/* sum (d x p, rows `step` apart) += x times v psi, v (stride). Of features x only the lower triangle:
 * moeg_symmetry_mirror() fills the rest. The feature 1 is left out where `ones` is 0. */
void moeg_symmetry_add(const moeg_symmetry_run *run, const moeg_symmetry_tile *tile, int ones, const double *v,
                       size_t step, double *sum);
void moeg_symmetry_mirror(const moeg_symmetry_run *run, size_t step, double *sum);

/* The number of a row in messages: the sample's, or the row of the data. */
uint64_t moeg_symmetry_row(const moeg_symmetry_run *run, uint64_t unit);

/* First pass: the parts of the run that it finds. MOEG_OK; MOEG_ECANCELED (not found); MOEG_EDOM (the best expert is
 * not unique); MOEG_ERANGE, MOEG_ENOMEM, MOEG_ECALLBACK. */
moeg_status moeg_symmetry_fit(moeg_symmetry_run *run, const moeg_sampling *s);

/* Second and third moments of the law, or of as many rows as it takes. MOEG_OK; MOEG_ECANCELED (not found); errors as
 * above. */
moeg_status moeg_symmetry_find_moments(moeg_symmetry_run *run, const moeg_sampling *s);

/* L in place of the lower triangle of a (n x n), row-major. Returns n, or the first row that the ones above span, to
 * the rounding of sums. */
size_t moeg_symmetry_factorize(size_t n, double *a);

/* L L' b = a, in place. */
void moeg_symmetry_solve(size_t n, const double *L, double *a);

/* The job of the last pass, which only reads the run. Its state: numbers of moeg_symmetry_count, then, (d x m p)
 * each, the sum of w x r psi', and of the groups' means, refit and all, the mean and the scatter under the squares of
 * the groups' weights. */
typedef enum moeg_symmetry_count {
    MOEG_COUNT_ROWS,
    MOEG_COUNT_WEIGHT,        /* W, the sum of weights w */
    MOEG_COUNT_SQUARES,       /* Q, of w^2 */
    MOEG_COUNT_GROUP_WEIGHT,  /* of W_g^2 over the groups */
    MOEG_COUNT_GROUP_PRODUCT, /* of W_g Q_g */
    MOEG_COUNT_GROUP_SQUARES, /* of Q_g^2 */
    MOEG_COUNTS
} moeg_symmetry_count;

moeg_status moeg_symmetry_job(moeg_job **job, moeg_symmetry_run *run);

/* Runs all of a job into `state`, zeros if nothing of it was done. MOEG_OK, MOEG_ECANCELED or an error. */
moeg_status moeg_symmetry_run_job(const moeg_job *job, const moeg_sampling *s, double *state);

#endif
