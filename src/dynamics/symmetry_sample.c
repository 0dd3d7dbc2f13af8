#include "dynamics/symmetry_sample.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "base/streams.h"
#include "base/tail.h"
#include "dynamics/symmetry.h"
#include "limit/check.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

static const char function[] = "symmetry_sample";

/* Groups at least, of rows enough. */
enum { GROUPS = 64 };

/* Everything that is multiplied below fits size_t: the largest are third moments, and tiles. */
static moeg_status check_sizes(const moeg_teacher *teacher, const moeg_law *law, const moeg_contrast *contrast,
                               const moeg_estimate *M)
{
    const size_t d = moeg_law_dim(law), m = moeg_teacher_outputs(teacher), p = moeg_contrast_features(contrast, d);
    size_t q, all;
    if (moeg_multiply_overflows(m, p, &q) || q > SIZE_MAX - 4096 ||
        moeg_multiply_overflows(q + 4096, d + m + 4, &all) ||
        moeg_multiply_overflows(all, (d + 4) * sizeof(moeg_estimate), &all) || all > PTRDIFF_MAX)
        return moeg_fail_memory(function);
    return moeg_check_array(function, "M", d, q, M);
}

static moeg_status check_arguments(const moeg_teacher *teacher, const moeg_law *law, moeg_symmetric symmetric,
                                   const moeg_contrast *contrast, const moeg_sampling *s, const moeg_estimate *M)
{
    moeg_status status = moeg_check_teacher_law(function, teacher, law);
    if (status == MOEG_OK)
        status = moeg_check_symmetric(function, symmetric);
    if (status == MOEG_OK)
        status = moeg_check_contrast(function, contrast);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK)
        status = check_sizes(teacher, law, contrast, M);
    if (status == MOEG_OK && s->method == MOEG_METHOD_LINE)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: rows are sampled: method must be auto or mc, got line", function);
    return status;
}

/* The rows of positive weight of an empirical law in an order of chance, by Fisher and Yates: groups are then as good
 * as drawn, however the data are sorted. */
static moeg_status shuffle(moeg_symmetry_run *run)
{
    const uint64_t rows = moeg_law_rows(run->law);
    const double *weights = moeg_law_weights(run->law);
    run->order = moeg_alloc((size_t)rows, sizeof *run->order);
    if (run->order == NULL)
        return moeg_fail_memory(function);
    run->units = 0;
    for (uint64_t i = 0; i < rows; i++)
        if (weights == NULL || weights[i] > 0)
            run->order[run->units++] = i;
    run->weights = moeg_has_equal_weights(run->law) ? NULL : weights;
    double u[MOEG_LANES];
    for (uint64_t i = run->units; i > 1; i--) {
        if (i == run->units || i % MOEG_LANES == MOEG_LANES - 1)
            moeg_kernel_uniforms(0, MOEG_STREAM_GROUP, i - i % MOEG_LANES, 1, MOEG_LANES, u);
        const uint64_t at = (uint64_t)(u[i % MOEG_LANES] * (double)i), kept = run->order[i - 1];
        run->order[i - 1] = run->order[at];
        run->order[at] = kept;
    }
    return MOEG_OK;
}

/* Room for the rows, which more than one pass wants. */
static moeg_status make_room(moeg_symmetry_run *run, size_t most)
{
    const size_t each = run->d + run->m;
    if (run->features == 0 || run->units > most / each)
        return MOEG_OK;
    run->kept = moeg_alloc((size_t)run->units, each * sizeof *run->kept);
    run->kept_rows = moeg_alloc_zero((size_t)run->units, sizeof *run->kept_rows);
    return run->kept == NULL || run->kept_rows == NULL ? moeg_fail_memory(function) : MOEG_OK;
}

static moeg_status prepare(moeg_symmetry_run *run, size_t most)
{
    const double *mean, *covariance;
    const moeg_status status = moeg_law_rows(run->law) != 0 ? shuffle(run) : MOEG_OK;
    const int closed =
        run->contrast.kind != MOEG_CONTRAST_USER && moeg_law_gaussian_parts(run->law, &mean, &covariance);
    run->refit = run->features == 0 ? MOEG_REFIT_NONE : closed ? MOEG_REFIT_CLOSED : MOEG_REFIT_ROWS;
    const uint64_t group = run->units / GROUPS;
    run->group = group > 0 ? group : 1;
    return status == MOEG_OK ? make_room(run, most) : status;
}

static void release(moeg_symmetry_run *run)
{
    moeg_release(run->order);
    moeg_release(run->kept);
    moeg_release(run->kept_rows);
    moeg_release(run->origin);
    moeg_release(run->factor);
    moeg_release(run->slope);
    moeg_release(run->constant);
    moeg_release(run->third);
}

/* What the counts of a state say. */
typedef struct account {
    double worth;  /* rows in equal ones, less the coefficients */
    double groups; /* in equal ones */
    double raise;  /* of means: over rows less coefficients */
    double spread; /* of error bars: likewise */
    double weight; /* W */
    double mass;   /* sum of W_g^2 */
    double factor; /* variance = factor scatter */
    int enough;
} account;

/* Groups' sums D_g deviate from their shares W_g M of the whole. Were all rows alike, the sum of squares of these would
 * be Q - 2 sum W_g Q_g/W + Q sum W_g^2/W^2 instead of Q variances of a row. */
static account take_account(const moeg_symmetry_run *run, const double *state)
{
    const double W = state[MOEG_COUNT_WEIGHT], Q = state[MOEG_COUNT_SQUARES], n = (double)run->features;
    account a = {.weight = W, .mass = state[MOEG_COUNT_GROUP_WEIGHT]};
    a.worth = W * (W / Q) - n;
    a.groups = Q * (Q / state[MOEG_COUNT_GROUP_SQUARES]);
    a.spread = a.worth > 0 ? 1 + n / a.worth : 1;
    /* The fit is of all rows, also of a run that was canceled. */
    a.raise = run->order == NULL && (double)run->units > n ? (double)run->units / ((double)run->units - n) : 1;
    const double left = Q - 2 * state[MOEG_COUNT_GROUP_PRODUCT] / W + Q * (a.mass / W / W);
    a.factor = Q / left / W / W * a.spread * a.spread;
    a.enough = a.worth >= MOEG_ENOUGH_UNITS * (1 - 1e-10) && a.groups >= MOEG_ENOUGH_UNITS * (1 - 1e-10);
    return a;
}

static moeg_status fail_few(const moeg_symmetry_run *run, const account *a, const double *state)
{
    return moeg_fail(MOEG_EUNABLE,
                     "%s: %.0f rows, worth %g beyond the %zu coefficients of the symmetric expert, in groups worth %g, "
                     "are too few for error bars: %d are needed of either",
                     function, state[MOEG_COUNT_ROWS], a->worth, run->features, a->groups, MOEG_ENOUGH_UNITS);
}

/* All estimates of a state. */
static moeg_status read(const moeg_symmetry_run *run, const double *state, double level, moeg_estimate *M)
{
    const size_t q = run->d * run->m * run->p;
    const double *sum = state + MOEG_COUNTS, *mean = sum + q, *scatter = mean + q;
    const uint64_t rows = (uint64_t)state[MOEG_COUNT_ROWS];
    account a = {.enough = 0, .weight = 1};
    if (rows > 0)
        a = take_account(run, state);
    const double reach = a.enough ? moeg_tail_student_reach(a.groups - 1, level) : 0;
    moeg_status status = a.enough ? MOEG_OK : fail_few(run, &a, state);
    for (size_t i = 0; i < q; i++) {
        const double whole = sum[i] / a.weight, off = mean[i] - whole;
        const double variance = (scatter[i] + a.mass * off * off) * a.factor;
        moeg_estimate *e = &M[i];
        *e = (moeg_estimate){.value = rows > 0 ? whole * a.raise : NAN,
                             .std_error = INFINITY,
                             .lo = -INFINITY,
                             .hi = INFINITY,
                             .level = level,
                             .n = rows,
                             .contributing = rows,
                             .method = MOEG_METHOD_MC};
        if (!a.enough)
            continue;
        if (!isfinite(variance) || (variance < DBL_MIN && (variance > 0 || scatter[i] > 0))) {
            status = moeg_fail(MOEG_EUNABLE, "%s: the variance of M[%zu] leaves the range of doubles: no error bar",
                               function, i);
            continue;
        }
        e->std_error = sqrt(variance);
        e->lo = e->value - reach * e->std_error;
        e->hi = e->value + reach * e->std_error;
    }
    return status;
}

static moeg_status sample(moeg_symmetry_run *run, size_t most, const moeg_sampling *s, double *state, moeg_estimate *M)
{
    moeg_job *job = NULL;
    moeg_status status = prepare(run, most);
    if (status == MOEG_OK && run->features > 0)
        status = moeg_symmetry_fit(run, s);
    if (status == MOEG_OK && run->features > 0)
        status = moeg_symmetry_find_moments(run, s);
    if (status == MOEG_OK) {
        status = moeg_symmetry_job(&job, run);
        if (status == MOEG_OK)
            status = moeg_symmetry_run_job(job, s, state);
    }
    moeg_job_free(job);
    return status < 0 ? status : moeg_sampled_status(function, status, read(run, state, s->level, M));
}

moeg_status moeg_symmetry_sample_within(size_t most, const moeg_teacher *teacher, const moeg_law *law,
                                        moeg_symmetric symmetric, const moeg_contrast *contrast, const moeg_sampling *s,
                                        moeg_estimate *M)
{
    moeg_status status = check_arguments(teacher, law, symmetric, contrast, s, M);
    if (status != MOEG_OK)
        return status;
    const size_t d = moeg_law_dim(law);
    moeg_symmetry_run run = {
        .name = function,
        .teacher = teacher,
        .law = law,
        .contrast = *contrast,
        .d = d,
        .m = moeg_teacher_outputs(teacher),
        .p = moeg_contrast_features(contrast, d),
        .features = moeg_symmetric_features(symmetric, d),
        .intercept = symmetric == MOEG_SYMMETRIC_CONSTANT || symmetric == MOEG_SYMMETRIC_AFFINE,
        .linear = symmetric == MOEG_SYMMETRIC_LINEAR || symmetric == MOEG_SYMMETRIC_AFFINE,
        .seed = s->seed,
        .units = moeg_sample_units(law, s),
    };
    /* Zeros stay where a run is canceled before its second pass. */
    const size_t q = run.d * run.m * run.p;
    double *state = moeg_alloc_zero(MOEG_COUNTS + 3 * q, sizeof *state);
    moeg_estimate *estimates = moeg_alloc(q, sizeof *estimates);
    status = state == NULL || estimates == NULL ? moeg_fail_memory(function) : sample(&run, most, s, state, estimates);
    if (status >= 0) {
        const moeg_sampling asked = moeg_law_rows(law) != 0 ? moeg_without_tolerance(s) : *s;
        status = moeg_rounds_status(function, status, s, moeg_tolerance_excess(&asked, q, estimates));
        for (size_t i = 0; i < q; i++)
            M[i] = estimates[i];
    }
    moeg_release(state);
    moeg_release(estimates);
    release(&run);
    return status;
}

moeg_status moeg_symmetry_sample(const moeg_teacher *teacher, const moeg_law *law, moeg_symmetric symmetric,
                                 const moeg_contrast *contrast, const moeg_sampling *s, moeg_estimate *M)
{
    return moeg_symmetry_sample_within(MOEG_SYMMETRY_KEPT, teacher, law, symmetric, contrast, s, M);
}
