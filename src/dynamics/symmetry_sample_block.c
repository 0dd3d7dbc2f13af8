#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/moments.h"
#include "base/vector.h"
#include "dynamics/symmetry_sample.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A group, and what it needs beside its tile. */
typedef struct group {
    uint64_t first, count;
    double weight, squares; /* sums of w and w^2 */
    double *moment;         /* (m x features) sums of w r phi about the origin */
    double *mean, *spread;  /* (d) */
    moeg_symmetry_tile tile;
} group;

static size_t lay_out(const moeg_symmetry_run *run, size_t stride, double *base, group *g)
{
    size_t used = 0;
    g->moment = moeg_take(base, &used, run->m * run->features);
    g->mean = moeg_take(base, &used, run->d);
    g->spread = moeg_take(base, &used, run->d);
    return used + moeg_symmetry_layout(run, stride, base == NULL ? NULL : base + used, &g->tile);
}

/* The parts of a state. */
typedef struct parts {
    size_t q; /* d m p */
    double *sum, *mean, *scatter;
} parts;

static parts find_parts(const moeg_symmetry_run *run, double *state)
{
    const size_t q = run->d * run->m * run->p;
    return (parts){q, state + MOEG_COUNTS, state + MOEG_COUNTS + q, state + MOEG_COUNTS + 2 * q};
}

/* The sums of w r phi, of phi = (1, x - origin). */
static void add_moments(const moeg_symmetry_run *run, group *g)
{
    moeg_symmetry_tile *t = &g->tile;
    const size_t n = run->features, first = (size_t)run->intercept;
    if (run->linear)
        moeg_kernel_products(run->d, run->m, t->stride, t->stride, moeg_symmetry_center(run, t), t->y, t->product);
    for (size_t o = 0; o < run->m; o++) {
        double squares;
        const double sum = moeg_kernel_deviations(t->stride, t->y + o * t->stride, 0, &squares);
        if (run->intercept)
            g->moment[o * n] += sum;
        for (size_t j = 0; j < run->d && run->linear; j++)
            g->moment[o * n + first + j] += t->product[j * run->m + o];
    }
}

/* Draws the group and adds it up, tile by tile. Of a class that is linear in x the residual is orthogonal to x, and M
 * is 0 for the feature 1, whatever the rows. */
static moeg_status add_tiles(const moeg_symmetry_run *run, group *g, double *workspace, double *sum)
{
    for (uint64_t done = 0; done < g->count; done += MOEG_SYMMETRY_TILE) {
        const size_t n = g->count - done < MOEG_SYMMETRY_TILE ? (size_t)(g->count - done) : MOEG_SYMMETRY_TILE;
        lay_out(run, moeg_round_lanes(n), workspace, g);
        moeg_symmetry_tile *t = &g->tile;
        moeg_status status = moeg_symmetry_draw(run, g->first + done, n, t);
        if (status == MOEG_OK)
            status = moeg_symmetry_find_features(run, g->first + done, t);
        if (status != MOEG_OK)
            return status;
        moeg_symmetry_residual(run, t);
        double squares;
        g->weight += moeg_kernel_deviations(n, t->w, 0, &squares);
        g->squares += squares;
        for (size_t o = 0; o < run->m; o++)
            moeg_symmetry_add(run, t, !run->linear, t->y + o * t->stride, run->m * run->p, sum + o * run->p);
        if (run->features > 0)
            add_moments(run, g);
    }
    for (size_t o = 0; o < run->m; o++)
        moeg_symmetry_mirror(run, run->m * run->p, sum + o * run->p);
    return MOEG_OK;
}

/* rest (d x p, rows m p apart) less A[delta] under a Gaussian law: with delta.phi = c + b.(x - E[x]), A is E[x] c + S b
 * of the feature 1, and (S + E[x] E[x]') c + E[x] (S b)' + (S b) E[x]' of the features x, as they are drawn. */
static void take_closed(const moeg_symmetry_run *run, group *g, const double *delta, double *rest)
{
    const size_t d = run->d, q = run->m * run->p;
    const double *mean, *covariance, *slope = delta + run->intercept;
    moeg_law_gaussian_parts(run->law, &mean, &covariance);
    double c = run->intercept ? delta[0] : 0;
    for (size_t j = 0; j < d; j++) {
        g->mean[j] = mean[j] - run->origin[j];
        c += run->linear ? slope[j] * g->mean[j] : 0;
        g->spread[j] = !run->linear ? 0 : covariance == NULL ? slope[j] : moeg_dot(d, covariance + j * d, slope);
    }
    const int ones = run->contrast.kind != MOEG_CONTRAST_LINEAR, x = run->contrast.kind != MOEG_CONTRAST_CONSTANT;
    for (size_t j = 0; j < d; j++) {
        double *row = rest + j * q;
        if (ones && !run->linear)
            row[0] -= g->mean[j] * c + g->spread[j];
        for (size_t k = 0; k < d && x; k++) {
            const double second = covariance == NULL ? (double)(j == k) : covariance[j * d + k];
            row[(size_t)ones + k] -=
                (second + g->mean[j] * g->mean[k]) * c + g->mean[j] * g->spread[k] + g->mean[k] * g->spread[j];
        }
    }
}

/* The same by third moments of the rows. */
static void take_third(const moeg_symmetry_run *run, const double *delta, double *rest)
{
    const size_t p = run->p, q = run->m * p;
    for (size_t l = 0; l < run->features; l++)
        for (size_t j = 0; j < run->d; j++) {
            const double *third = run->third + (l * run->d + j) * p;
            for (size_t k = 0; k < p; k++)
                rest[j * q + k] -= delta[l] * third[k];
        }
}

/* The group's mean of x r psi', less A[delta], delta = E[phi phi']^-1 (the group's mean of phi r): what is left is r
 * times the part of x psi' that is orthogonal to phi, so that second and third moments must be of one law. */
static void find_mean(const moeg_symmetry_run *run, group *g, const parts *p)
{
    for (size_t i = 0; i < p->q; i++)
        p->mean[i] = p->sum[i] / g->weight;
    for (size_t o = 0; o < run->m && run->features > 0; o++) {
        double *delta = g->moment + o * run->features;
        for (size_t j = 0; j < run->features; j++)
            delta[j] /= g->weight;
        moeg_symmetry_solve(run->features, run->factor, delta);
        if (run->refit == MOEG_REFIT_CLOSED)
            take_closed(run, g, delta, p->mean + o * run->p);
        else
            take_third(run, delta, p->mean + o * run->p);
    }
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const moeg_symmetry_run *run = context;
    const parts p = find_parts(run, state);
    group g = {.first = first, .count = count};
    lay_out(run, MOEG_LANES, workspace, &g);
    memset(g.moment, 0, run->m * run->features * sizeof *g.moment);
    const moeg_status status = add_tiles(run, &g, workspace, p.sum);
    if (status != MOEG_OK)
        return status;
    find_mean(run, &g, &p);
    for (size_t i = 0; i < p.q; i++)
        if (!(isfinite(p.sum[i]) && isfinite(p.mean[i])))
            return moeg_fail(MOEG_ERANGE, "%s: x r psi' overflows in samples %" PRIu64 " .. %" PRIu64, run->name,
                             moeg_symmetry_row(run, first), moeg_symmetry_row(run, first + count - 1));
    state[MOEG_COUNT_ROWS] = (double)count;
    state[MOEG_COUNT_WEIGHT] = g.weight;
    state[MOEG_COUNT_SQUARES] = g.squares;
    state[MOEG_COUNT_GROUP_WEIGHT] = g.weight * g.weight;
    state[MOEG_COUNT_GROUP_PRODUCT] = g.weight * g.squares;
    state[MOEG_COUNT_GROUP_SQUARES] = g.squares * g.squares;
    return MOEG_OK;
}

/* Means and scatters under the squares of the groups' weights, by Chan's update. */
static void merge(const void *context, const double *right, double *left)
{
    const size_t q = find_parts(context, left).q, mean = MOEG_COUNTS + q, scatter = mean + q;
    const double mass = left[MOEG_COUNT_GROUP_WEIGHT] + right[MOEG_COUNT_GROUP_WEIGHT];
    const double share = mass > 0 ? right[MOEG_COUNT_GROUP_WEIGHT] / mass : 0;
    const double both = left[MOEG_COUNT_GROUP_WEIGHT] * share;
    for (size_t i = 0; i < q; i++) {
        const double step = right[mean + i] - left[mean + i];
        left[scatter + i] =
            moeg_keep_spread(left[scatter + i] + right[scatter + i] + step * step * both, step != 0 && both > 0);
        left[mean + i] += step * share;
    }
    for (size_t i = 0; i < mean; i++)
        left[i] += right[i];
}

moeg_status moeg_symmetry_job(moeg_job **job, moeg_symmetry_run *run)
{
    group g;
    const moeg_job_spec spec = {
        .name = run->name,
        .units = run->units,
        .block_size = run->group,
        .state_size = MOEG_COUNTS + 3 * run->d * run->m * run->p,
        .workspace_size = lay_out(run, MOEG_SYMMETRY_TILE, NULL, &g) * sizeof(double),
        .context = run,
        .block = block,
        .merge = merge,
    };
    return moeg_job_create(job, &spec);
}

moeg_status moeg_symmetry_run_job(const moeg_job *job, const moeg_sampling *s, double *state)
{
    moeg_partial *partial = NULL;
    const moeg_status status = moeg_job_run(job, s, 0, moeg_job_blocks(job), &partial);
    if (status < 0)
        return status;
    const moeg_status read = moeg_partial_state(job, partial, state);
    moeg_partial_free(partial);
    return read == MOEG_OK ? status : read;
}
