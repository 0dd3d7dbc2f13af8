#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "dynamics/symmetry_sample.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* Rows whose mean is the origin. */
enum { PILOT = 64 };

/* The variables of a row: phi about the origin, then y about its own. */
static size_t count_variables(const moeg_symmetry_run *run)
{
    return run->features + run->m;
}

typedef struct fit_tile {
    moeg_symmetry_tile tile;
    double *root;     /* (stride) sqrt w */
    double *variable; /* (variables x stride), times sqrt w */
    double *gram;     /* (variables x variables) */
} fit_tile;

static size_t lay_out(const moeg_symmetry_run *run, size_t stride, double *base, fit_tile *t)
{
    const size_t variables = count_variables(run);
    size_t used = moeg_symmetry_layout(run, stride, base, &t->tile);
    t->root = moeg_take(base, &used, stride);
    t->variable = moeg_take(base, &used, variables * stride);
    t->gram = moeg_take(base, &used, variables * variables);
    return used;
}

/* `count` variables of the tile about their origins, times sqrt w. */
static void center(const fit_tile *t, size_t count, const double *values, const double *origin, double *out)
{
    const size_t stride = t->tile.stride;
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < stride; i++)
            out[j * stride + i] = (values[j * stride + i] - origin[j]) * t->root[i];
}

static void add_tile(const moeg_symmetry_run *run, const fit_tile *t, double *state)
{
    double squares;
    state[0] += moeg_kernel_deviations(t->tile.n, t->tile.w, 0, &squares);
    const size_t variables = count_variables(run), stride = t->tile.stride;
    double *next = t->variable;
    for (size_t i = 0; i < stride; i++) {
        t->root[i] = run->weights != NULL ? sqrt(t->tile.w[i]) : t->tile.w[i];
        if (run->intercept)
            next[i] = t->root[i];
    }
    next += run->intercept ? stride : 0;
    if (run->linear)
        center(t, run->d, t->tile.x, run->origin, next);
    next += run->linear ? run->d * stride : 0;
    center(t, run->m, t->tile.y, run->origin + run->d, next);
    moeg_kernel_products(variables, variables, stride, stride, t->variable, t->variable, t->gram);
    for (size_t i = 0; i < variables; i++)
        for (size_t j = 0; j <= i; j++)
            state[1 + i * variables + j] += t->gram[i * variables + j];
}

/* State: W, then the sums of w v v' (variables x variables), the lower triangle. */
static size_t state_size(const moeg_symmetry_run *run)
{
    return 1 + count_variables(run) * count_variables(run);
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const moeg_symmetry_run *run = context;
    moeg_status status = MOEG_OK;
    for (uint64_t done = 0; done < count && status == MOEG_OK; done += MOEG_SYMMETRY_TILE) {
        const size_t n = count - done < MOEG_SYMMETRY_TILE ? (size_t)(count - done) : MOEG_SYMMETRY_TILE;
        fit_tile t;
        lay_out(run, moeg_round_lanes(n), workspace, &t);
        status = moeg_symmetry_draw(run, first + done, n, &t.tile);
        if (status == MOEG_OK)
            add_tile(run, &t, state);
    }
    return status;
}

static void merge(const void *context, const double *right, double *left)
{
    const size_t size = state_size(context);
    for (size_t i = 0; i < size; i++)
        left[i] += right[i];
}

/* The mean of a few rows: sums about it lose nothing where x or y is far from 0. */
static moeg_status find_origin(moeg_symmetry_run *run)
{
    const size_t n = run->units < PILOT ? (size_t)run->units : PILOT, stride = moeg_round_lanes(n);
    moeg_symmetry_tile t;
    double *room = moeg_alloc(moeg_symmetry_layout(run, stride, NULL, &t), sizeof *room);
    if (room == NULL)
        return moeg_fail_memory(run->name);
    moeg_symmetry_layout(run, stride, room, &t);
    const moeg_status status = moeg_symmetry_draw(run, 0, n, &t);
    for (size_t j = run->linear ? 0 : run->d; j < run->d + run->m && status == MOEG_OK; j++) {
        const double *value = j < run->d ? t.x + j * stride : t.y + (j - run->d) * stride;
        for (size_t i = 0; i < n; i++)
            run->origin[j] += value[i] / (double)n;
    }
    moeg_release(room);
    return status;
}

size_t moeg_symmetry_factorize(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++) {
        const double least = 64 * (double)n * DBL_EPSILON * a[i * n + i];
        for (size_t j = 0; j <= i; j++) {
            double left = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                left -= a[i * n + k] * a[j * n + k];
            if (j == i && !(left > least))
                return i;
            a[i * n + j] = j == i ? sqrt(left) : left / a[j * n + j];
        }
    }
    return n;
}

void moeg_symmetry_solve(size_t n, const double *L, double *a)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            a[i] -= L[i * n + k] * a[k];
        a[i] /= L[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        a[i] /= L[i * n + i];
        for (size_t k = 0; k < i; k++)
            a[k] -= L[i * n + k] * a[i];
    }
}

static moeg_status fail_unique(const moeg_symmetry_run *run, size_t feature)
{
    const size_t coordinate = feature - (size_t)run->intercept;
    return moeg_fail(MOEG_EDOM,
                     "%s: the best symmetric expert is not unique: to rounding, x[%zu] is %s of the coordinates before "
                     "it",
                     run->name, coordinate, run->intercept ? "an affine function" : "a linear combination");
}

static moeg_status solve_fit(moeg_symmetry_run *run, double *state)
{
    const size_t n = run->features, variables = count_variables(run), first = (size_t)run->intercept;
    for (size_t i = 0; i < state_size(run); i++)
        if (!isfinite(state[i]))
            return moeg_fail(MOEG_ERANGE, "%s: the second moments of x and Y overflow", run->name);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            run->factor[i * n + j] = state[1 + i * variables + j] / state[0];
    const size_t spanned = moeg_symmetry_factorize(n, run->factor);
    if (spanned < n)
        return fail_unique(run, spanned);
    double *coefficient = state + 1; /* the first row, which has been read */
    for (size_t o = 0; o < run->m; o++) {
        for (size_t j = 0; j < n; j++)
            coefficient[j] = state[1 + (n + o) * variables + j] / state[0];
        moeg_symmetry_solve(n, run->factor, coefficient);
        run->constant[o] = run->origin[run->d + o] + (run->intercept ? coefficient[0] : 0);
        for (size_t j = 0; j < run->d && run->linear; j++)
            run->slope[o * run->d + j] = coefficient[first + j];
    }
    run->shifted = run->intercept && run->linear && run->contrast.kind != MOEG_CONTRAST_USER;
    return MOEG_OK;
}

static moeg_status allocate(moeg_symmetry_run *run)
{
    const size_t n = run->features;
    run->origin = moeg_alloc_zero(run->d + run->m, sizeof *run->origin);
    run->factor = moeg_alloc_zero(n * n, sizeof *run->factor);
    run->slope = moeg_alloc_zero(run->m * run->d, sizeof *run->slope);
    run->constant = moeg_alloc_zero(run->m, sizeof *run->constant);
    if (!run->origin || !run->factor || !run->slope || !run->constant)
        return moeg_fail_memory(run->name);
    return MOEG_OK;
}

static moeg_status run_fit(moeg_symmetry_run *run, const moeg_sampling *s, double *state)
{
    fit_tile t;
    const moeg_job_spec spec = {
        .name = run->name,
        .units = run->units,
        .block_size = run->group,
        .state_size = state_size(run),
        .workspace_size = lay_out(run, MOEG_SYMMETRY_TILE, NULL, &t) * sizeof(double),
        .context = run,
        .block = block,
        .merge = merge,
    };
    moeg_job *job = NULL;
    moeg_status status = moeg_job_create(&job, &spec);
    if (status == MOEG_OK)
        status = moeg_symmetry_run_job(job, s, state);
    moeg_job_free(job);
    return status == MOEG_OK ? solve_fit(run, state) : status;
}

moeg_status moeg_symmetry_fit(moeg_symmetry_run *run, const moeg_sampling *s)
{
    if (run->units < run->features)
        return moeg_fail(MOEG_EDOM,
                         "%s: the best symmetric expert is not unique: it has %zu coefficients, and there are "
                         "%" PRIu64 " rows",
                         run->name, run->features, run->units);
    double *state = moeg_alloc(state_size(run), sizeof *state);
    moeg_status status = state == NULL ? moeg_fail_memory(run->name) : allocate(run);
    if (status == MOEG_OK && run->intercept)
        status = find_origin(run);
    if (status == MOEG_OK)
        status = run_fit(run, s, state);
    moeg_release(state);
    return status;
}
