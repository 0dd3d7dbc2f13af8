/* Third moments E[phi x psi'] of the rows, for refits under laws and of features of which they are not known.
 *
 * They need fewer rows than M: an error of theirs adds to each group's deviation what the group's own refit, a number
 * of order 1/sqrt(W_g), makes of it, and so to the square of an error bar about features/rows of itself. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "dynamics/symmetry_sample.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* As many rows as cost so many times the products of M, and at least so many for each feature: the square of an error
 * bar is too long by a few parts in this. */
enum { TIMES = 4, EACH = 64 };

/* Doubles of a state, about: more features take another pass. */
enum { MOST = 1 << 20 };

/* Rows of one multiplication of a symmetric product. */
enum { PANEL = 4 };

typedef struct third_pass {
    const moeg_symmetry_run *run;
    size_t first, count; /* features of this pass */
} third_pass;

static uint64_t choose_rows(const moeg_symmetry_run *run)
{
    const uint64_t share = run->units / run->features, least = EACH * (uint64_t)run->features;
    const uint64_t rows = share > UINT64_MAX / TIMES ? UINT64_MAX : TIMES * share;
    const uint64_t wanted = rows > least ? rows : least;
    return wanted < run->units ? wanted : run->units;
}

/* State: the sum of w, those of w phi phi' (features x features), the lower triangle, and of w phi x psi' for the
 * features of the pass (count x d x p). */
static size_t third_at(const moeg_symmetry_run *run)
{
    return 1 + run->features * run->features;
}

static size_t state_size(const third_pass *pass)
{
    return third_at(pass->run) + pass->count * pass->run->d * pass->run->p;
}

typedef struct third_tile {
    moeg_symmetry_tile tile;
    double *phi;      /* (features x stride) */
    double *weighted; /* (features x stride) w phi */
    double *gram;     /* (features x 4) */
} third_tile;

static size_t lay_out(const moeg_symmetry_run *run, size_t stride, double *base, third_tile *t)
{
    size_t used = moeg_symmetry_layout(run, stride, base, &t->tile);
    t->phi = moeg_take(base, &used, run->features * stride);
    t->weighted = moeg_take(base, &used, run->features * stride);
    t->gram = moeg_take(base, &used, run->features * PANEL);
    return used;
}

static void find_phi(const moeg_symmetry_run *run, third_tile *t)
{
    const size_t stride = t->tile.stride;
    for (size_t l = 0; l < run->features; l++) {
        const int one = run->intercept && l == 0;
        const size_t j = one ? 0 : l - (size_t)run->intercept;
        const double *x = t->tile.x + j * stride, origin = run->shifted ? 0 : run->origin[j];
        for (size_t i = 0; i < stride; i++) {
            t->phi[l * stride + i] = one ? 1 : x[i] - origin;
            t->weighted[l * stride + i] = t->phi[l * stride + i] * t->tile.w[i];
        }
    }
}

static void add_second(const moeg_symmetry_run *run, third_tile *t, double *gram)
{
    const size_t n = run->features, stride = t->tile.stride;
    for (size_t i = 0; i < n; i += PANEL) {
        const size_t rows = n - i < PANEL ? n - i : PANEL, cols = i + rows;
        moeg_kernel_products(rows, cols, stride, stride, t->phi + i * stride, t->weighted, t->gram);
        for (size_t a = 0; a < rows; a++)
            for (size_t b = 0; b < cols; b++)
                gram[(i + a) * n + b] += t->gram[a * cols + b];
    }
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const third_pass *pass = context;
    const moeg_symmetry_run *run = pass->run;
    const size_t size = run->d * run->p;
    for (uint64_t done = 0; done < count; done += MOEG_SYMMETRY_TILE) {
        const size_t n = count - done < MOEG_SYMMETRY_TILE ? (size_t)(count - done) : MOEG_SYMMETRY_TILE;
        third_tile t;
        lay_out(run, moeg_round_lanes(n), workspace, &t);
        moeg_status status = moeg_symmetry_draw(run, first + done, n, &t.tile);
        if (status == MOEG_OK)
            status = moeg_symmetry_find_features(run, first + done, &t.tile);
        if (status != MOEG_OK)
            return status;
        double squares;
        state[0] += moeg_kernel_deviations(n, t.tile.w, 0, &squares);
        find_phi(run, &t);
        add_second(run, &t, state + 1);
        for (size_t l = 0; l < pass->count; l++)
            moeg_symmetry_add(run, &t.tile, !run->linear, t.weighted + (pass->first + l) * t.tile.stride, run->p,
                              state + third_at(run) + l * size);
    }
    return MOEG_OK;
}

static void merge(const void *context, const double *right, double *left)
{
    const size_t size = state_size(context);
    for (size_t i = 0; i < size; i++)
        left[i] += right[i];
}

static moeg_status run_pass(third_pass *pass, const moeg_sampling *s, uint64_t rows, double *state)
{
    const moeg_symmetry_run *run = pass->run;
    third_tile t;
    const moeg_job_spec spec = {
        .name = run->name,
        .units = rows,
        .block_size = run->group,
        .state_size = state_size(pass),
        .workspace_size = lay_out(run, MOEG_SYMMETRY_TILE, NULL, &t) * sizeof(double),
        .context = pass,
        .block = block,
        .merge = merge,
    };
    moeg_job *job = NULL;
    moeg_status status = moeg_job_create(&job, &spec);
    if (status == MOEG_OK)
        status = moeg_symmetry_run_job(job, s, state);
    moeg_job_free(job);
    return status;
}

/* E[phi phi'] of a Gaussian law, the lower triangle. */
static void find_gaussian(const moeg_symmetry_run *run, double *second)
{
    const size_t n = run->features, first = (size_t)run->intercept;
    const double *mean, *covariance;
    moeg_law_gaussian_parts(run->law, &mean, &covariance);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) {
            const size_t j = a - first, k = b - first; /* of x, past the intercept */
            const double left = a < first ? 1 : mean[j] - run->origin[j],
                         right = b < first ? 1 : mean[k] - run->origin[k];
            const double spread = b < first ? 0 : covariance == NULL ? (double)(j == k) : covariance[j * run->d + k];
            second[a * n + b] = left * right + spread;
        }
}

/* Third moments of the rows, and second ones of the same. Where features that all rows tell apart are not by these,
 * those of all rows stay. */
static moeg_status find_by_rows(moeg_symmetry_run *run, const moeg_sampling *s, double *second)
{
    const size_t size = run->d * run->p, n = run->features, most = MOST / size > 0 ? MOST / size : 1;
    const uint64_t rows = choose_rows(run);
    third_pass pass = {run, 0, most < n ? most : n};
    double *state = moeg_alloc(state_size(&pass), sizeof *state);
    run->third = moeg_alloc(n * size, sizeof *run->third);
    moeg_status status = state == NULL || run->third == NULL ? moeg_fail_memory(run->name) : MOEG_OK;
    for (; status == MOEG_OK && pass.first < n; pass.first += pass.count) {
        if (pass.count > n - pass.first)
            pass.count = n - pass.first;
        status = run_pass(&pass, s, rows, state);
        for (size_t i = 0; i < n * n && status == MOEG_OK; i++)
            second[i] = state[1 + i] / state[0];
        for (size_t l = 0; l < pass.count && status == MOEG_OK; l++) {
            double *third = run->third + (pass.first + l) * size;
            for (size_t i = 0; i < size; i++)
                third[i] = state[third_at(run) + l * size + i] / state[0];
            moeg_symmetry_mirror(run, run->p, third);
        }
    }
    moeg_release(state);
    return status;
}

moeg_status moeg_symmetry_find_moments(moeg_symmetry_run *run, const moeg_sampling *s)
{
    const size_t n = run->features;
    double *second = moeg_alloc_zero(n * n, sizeof *second);
    moeg_status status = second == NULL ? moeg_fail_memory(run->name) : MOEG_OK;
    if (status == MOEG_OK && run->refit == MOEG_REFIT_CLOSED)
        find_gaussian(run, second);
    else if (status == MOEG_OK)
        status = find_by_rows(run, s, second);
    if (status == MOEG_OK && moeg_symmetry_factorize(n, second) == n)
        memcpy(run->factor, second, n * n * sizeof *second);
    moeg_release(second);
    return status;
}
