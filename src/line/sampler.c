#include "line/sampler.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "base/streams.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Pairs of lines of a part that the pilot looks at, fewer where these would be more than PILOT_TIMES what is drawn; the
 * share of pairs that goes to all parts alike; and the least share of the parts around 0, where what is not aimed at
 * lies, as a hard risk. */
enum { PILOT = 32, PILOT_LEAST = 4, PILOT_TIMES = 2 };
static const double FLOOR_SHARE = 0.1, CENTRE_SHARE = 0.2;

/* r = 1: crossings do not depend on the line. */
static moeg_status single_line(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                               moeg_ray_result *result)
{
    double *memory = moeg_alloc_zero(moeg_rays_room(rays, quantity, MOEG_LANES), sizeof *memory);
    if (memory == NULL)
        return moeg_fail_memory(function);
    for (size_t k = 0; k < moeg_rays_strata(rays); k++) {
        moeg_ray_buffers b;
        moeg_rays_layout(rays, k, quantity, MOEG_LANES, memory, &b);
        memset(b.u, 0, rays->r * MOEG_LANES * sizeof *b.u);
        moeg_rays_evaluate(rays, k, quantity, &b);
        for (size_t i = 0; i < quantity->count; i++) {
            result->value[i] += b.values[i * MOEG_LANES];
            result->error[i] += b.errors[i * MOEG_LANES];
        }
    }
    result->lines = 1;
    moeg_release(memory);
    return MOEG_OK;
}

/* Sampling: units are antithetic pairs of lines, s + u and s - u for a shift s, whose means vary less than those of two
 * lines do, for crossings are affine in u. A block belongs to one part of a stratum (shift.h). The state is a tally
 * (tally.h) for each part. */
typedef struct plan {
    const char *function;
    const moeg_line_source *source;
    uint64_t seed, block, blocks, pilot;
    int shifted;         /* values are as many as the source's and one more: what lines count for */
    size_t most;         /* parts of a stratum, if so */
    double *slope;       /* (parts x the source's count) of the values on that, by the pilot */
    size_t count;        /* of all of them */
    size_t parts, state; /* of one part */
    uint32_t *part;      /* (blocks) */
} plan;

/* From u (r x half) to u and -u, (r x 2 half), in place. */
static void mirror(size_t r, size_t half, double *u)
{
    for (size_t l = r; l-- > 0;)
        for (size_t i = half; i-- > 0;) {
            const double value = u[l * half + i];
            u[2 * l * half + half + i] = -value;
            u[2 * l * half + i] = value;
        }
}

/* From u around 0 to u around the shift of a part. */
static void displace(const moeg_shifts *shifts, size_t part, size_t stride, double *u)
{
    for (size_t l = 0; l < shifts->r; l++)
        for (size_t i = 0; i < stride; i++)
            u[l * stride + i] += shifts->shift[part * shifts->r + l];
}

/* Values and errors of lines times what they count for in their part, which becomes one more value. */
static void weigh(const moeg_shifts *shifts, size_t part, size_t count, const moeg_line_draw *b, double *workspace)
{
    double *share = b->values + count * b->stride;
    moeg_shifts_share(shifts, part, b->stride, b->u, workspace);
    memcpy(share, workspace, b->stride * sizeof *share);
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < b->stride; i++) {
            b->values[j * b->stride + i] *= share[i];
            b->errors[j * b->stride + i] *= share[i];
        }
    memset(b->errors + count * b->stride, 0, b->stride * sizeof *b->errors);
}

/* Draws pairs first .. first + n - 1 of a stream, evaluates them in part k and adds them to its state. */
static moeg_status add_pairs(const plan *p, size_t k, uint32_t stream, uint64_t first, size_t n, double *memory,
                             double *state)
{
    const moeg_line_source *source = p->source;
    const size_t half = moeg_round_lanes(n), stride = 2 * half, stratum = source->shifts->stratum[k];
    moeg_line_draw b = {.first = first, .n = n, .stride = stride, .base = memory + p->most * stride};
    source->place(source->self, stratum, &b);
    moeg_kernel_normals(p->seed, stream, first, source->drawn, half, b.u);
    mirror(source->drawn, half, b.u);
    if (p->shifted)
        displace(source->shifts, k, stride, b.u);
    const moeg_status status = source->evaluate(source->self, stratum, &b);
    if (status != MOEG_OK)
        return status;
    if (p->shifted)
        weigh(source->shifts, k, source->count, &b, memory);
    if (moeg_tally_add(p->count, n, stride, b.values, b.errors, state) != MOEG_OK)
        return moeg_fail(MOEG_ERANGE, "%s: a value of the lines from %llu on overflows", p->function,
                         2 * (unsigned long long)first);
    return MOEG_OK;
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const plan *p = context;
    const size_t k = p->part[first / p->block];
    return add_pairs(p, k, MOEG_STREAM_LINE, first, (size_t)count, workspace, state + k * p->state);
}

static void merge(const void *context, const double *right, double *left)
{
    const plan *p = context;
    for (size_t k = 0; k < p->parts; k++)
        if (right[k * p->state] > 0)
            moeg_tally_merge(p->count, right + k * p->state, left + k * p->state);
}

/* How much a part's values vary by its pilot, less what is known from what lines count for, each beside the size of the
 * sum over parts that it belongs to: the square root of the sum of squares is what Neyman's allocation is proportional
 * to. */
static void measure_spread(const plan *p, const double *states, double *spread)
{
    const size_t parts = p->parts, wanted = p->source->count;
    const size_t aim = p->source->aim, end = p->source->aims > 0 ? aim + p->source->aims : wanted;
    memset(spread, 0, parts * sizeof *spread);
    for (size_t j = aim; j < end; j++) {
        double size = 0;
        for (size_t k = 0; k < parts; k++)
            size += fabs(states[k * p->state + 1 + j]);
        for (size_t k = 0; k < parts && size > 0; k++) {
            const double b = p->shifted ? p->slope[k * wanted + j] : 0;
            spread[k] += fmax(moeg_tally_scatter(p->count, states + k * p->state, j, b), 0) / size / size;
        }
    }
    for (size_t k = 0; k < parts; k++)
        spread[k] = sqrt(spread[k]);
}

static moeg_status run_pilot(const char *function, const plan *p, double *memory, double *spread)
{
    const size_t parts = p->parts;
    double *states = moeg_alloc_zero(parts, p->state * sizeof *states);
    moeg_status status = states == NULL ? moeg_fail_memory(function) : MOEG_OK;
    for (size_t k = 0; k < parts && status == MOEG_OK; k++)
        status = add_pairs(p, k, MOEG_STREAM_PILOT, k * p->pilot, p->pilot, memory, states + k * p->state);
    if (status == MOEG_OK && p->shifted)
        moeg_tally_slopes(parts, p->source->shifts->stratum, p->source->count, states, p->slope);
    if (status == MOEG_OK)
        measure_spread(p, states, spread);
    moeg_release(states);
    return status;
}

static int is_around_0(const plan *p, size_t part)
{
    const uint32_t *stratum = p->source->shifts->stratum;
    return part == 0 || stratum[part] != stratum[part - 1];
}

/* Each part's share of the pairs. */
static void set_shares(const plan *p, const double *spread, double *share)
{
    const size_t parts = p->parts;
    double total = 0, centre = 0;
    for (size_t k = 0; k < parts; k++)
        total += spread[k];
    for (size_t k = 0; k < parts; k++) {
        share[k] =
            FLOOR_SHARE / (double)parts + (1 - FLOOR_SHARE) * (total > 0 ? spread[k] / total : 1 / (double)parts);
        centre += is_around_0(p, k) ? share[k] : 0;
    }
    for (size_t k = 0; k < parts && centre < CENTRE_SHARE; k++)
        share[k] = (1 - CENTRE_SHARE) / (1 - centre) * share[k] +
                   (is_around_0(p, k) ? (CENTRE_SHARE - centre) / (1 - centre) / (double)p->source->shifts->strata : 0);
}

/* Deals the blocks out, the next one to the part that is farthest behind its share: every beginning of the list is
 * shared out alike, and each part has its first block early. */
static moeg_status deal_blocks(const char *function, const double *spread, plan *p)
{
    const size_t parts = p->parts;
    double *share = moeg_alloc(2 * parts, sizeof *share);
    if (share == NULL)
        return moeg_fail_memory(function);
    double *dealt = share + parts;
    memset(dealt, 0, parts * sizeof *dealt);
    set_shares(p, spread, share);
    for (uint64_t b = 0; b < p->blocks; b++) {
        size_t next = 0;
        double most = -INFINITY;
        for (size_t k = 0; k < parts; k++) {
            /* The first round goes once through all parts. */
            const double behind = b < parts ? -dealt[k] : share[k] * (double)(b + 1) - dealt[k];
            if (behind > most) {
                most = behind;
                next = k;
            }
        }
        p->part[b] = (uint32_t)next;
        dealt[next]++;
    }
    moeg_release(share);
    return MOEG_OK;
}

/* Pairs of a block: few enough that every part gets several, whole lanes where there are enough of them. */
static uint64_t choose_block(uint64_t n, size_t parts)
{
    uint64_t size = n >= 3 * MOEG_LANES * (uint64_t)parts ? MOEG_LANES : 2;
    while (size < 128 && size * 16 * parts <= n)
        size *= 2;
    return size;
}

/* Where results of rounds are read to. */
typedef struct reading {
    const plan *plan;
    double *state;
    moeg_ray_result *result;
} reading;

/* From what was done of the job, afresh. */
static moeg_status read_partial(const reading *r, const moeg_job *job, const moeg_partial *partial)
{
    const size_t count = r->plan->source->count, size = count * sizeof(double);
    r->result->lines = 0;
    memset(r->result->value, 0, size);
    memset(r->result->error, 0, size);
    memset(r->result->freedom, 0, size);
    memset(r->result->covariance, 0, count * size);
    memset(r->result->contributing, 0, count * sizeof(uint64_t));
    const moeg_status status = moeg_partial_state(job, partial, r->state);
    if (status != MOEG_OK)
        return status;
    const plan *p = r->plan;
    if (p->shifted)
        moeg_tally_read_controlled(p->parts, p->source->shifts->stratum, count, r->state, p->slope, r->result);
    else
        moeg_tally_read(p->parts, count, r->state, r->result);
    return MOEG_OK;
}

/* MOEG_ERANGE: a value or its variance is not finite. */
static moeg_status check_range(const char *function, size_t count, const moeg_ray_result *result)
{
    for (size_t j = 0; j < count; j++)
        if (!isfinite(result->value[j]) || !isfinite(result->error[j]) ||
            !isfinite(result->covariance[j * (count + 1)]))
            return moeg_fail(MOEG_ERANGE, "%s: a mean over lines, or its variance, is not finite", function);
    return MOEG_OK;
}

static moeg_status judge(void *user, const moeg_job *job, const moeg_partial *partial, double *excess)
{
    const reading *r = user;
    const moeg_line_source *source = r->plan->source;
    const moeg_status status = read_partial(r, job, partial);
    *excess = status == MOEG_OK ? source->excess(source->self, r->result) : 0;
    return status;
}

static moeg_status run_job(const char *function, const plan *p, size_t workspace, const moeg_sampling *s,
                           moeg_ray_result *result)
{
    const moeg_job_spec spec = {
        .name = "line",
        .units = s->n / 2,
        .block_size = p->block,
        .state_size = p->parts * p->state,
        .workspace_size = workspace * sizeof(double),
        .context = (void *)(uintptr_t)p,
        .block = block,
        .merge = merge,
    };
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    double excess = 0;
    const moeg_sampling options = p->source->excess != NULL ? *s : moeg_without_tolerance(s);
    reading r = {p, moeg_alloc_zero(spec.state_size, sizeof *r.state), result};
    moeg_status status = r.state == NULL ? moeg_fail_memory(function) : moeg_job_create(&job, &spec);
    if (status == MOEG_OK)
        status = moeg_rounds_run(job, &options, judge, &r, &partial, &excess);
    if (status >= 0) {
        moeg_status read = read_partial(&r, job, partial);
        if (read == MOEG_OK && status != MOEG_ECANCELED) /* Then parts may have no line yet. */
            read = check_range(function, p->source->count, result);
        status = read == MOEG_OK ? moeg_rounds_status(function, status, s, excess) : read;
    }
    moeg_release(r.state);
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}

moeg_status moeg_lines_expect(const char *function, const moeg_line_source *source, const moeg_sampling *s,
                              moeg_ray_result *result)
{
    const size_t parts = source->shifts->count;
    const uint64_t pairs = s->n / 2;
    if (pairs < 2 * parts)
        return moeg_fail(MOEG_EINVAL, "%s: n must be at least 4 lines for each of %zu strata, got %llu", function,
                         parts, (unsigned long long)s->n);
    plan p = {.function = function,
              .source = source,
              .seed = s->seed,
              .shifted = source->shifts->count > source->shifts->strata,
              .count = source->count,
              .parts = parts};
    p.count += p.shifted ? 1 : 0;
    p.state = moeg_tally_size(p.count);
    p.most = p.shifted ? moeg_shifts_most(source->shifts) : 0;
    p.block = choose_block(moeg_lines_expected(s) / 2, parts);
    p.blocks = (pairs + p.block - 1) / p.block;
    p.pilot = PILOT_TIMES * pairs / parts;
    p.pilot = p.pilot < PILOT_LEAST ? PILOT_LEAST : p.pilot > PILOT ? PILOT : p.pilot;
    const size_t widest = 2 * moeg_round_lanes(p.block > p.pilot ? p.block : p.pilot);
    const size_t workspace = p.most * widest + source->room(source->self, widest);
    double *memory = moeg_alloc(workspace, sizeof *memory), *spread = moeg_alloc(parts, sizeof *spread);
    p.part = moeg_alloc(p.blocks, sizeof *p.part);
    p.slope = moeg_alloc(p.shifted ? parts : 0, source->count * sizeof *p.slope);
    moeg_status status =
        memory == NULL || spread == NULL || p.part == NULL || p.slope == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = run_pilot(function, &p, memory, spread);
    if (status == MOEG_OK)
        status = deal_blocks(function, spread, &p);
    if (status == MOEG_OK)
        status = run_job(function, &p, workspace, s, result);
    moeg_release(memory);
    moeg_release(spread);
    moeg_release(p.part);
    moeg_release(p.slope);
    return status;
}

/* Rays and the lines beside them as a source. */
typedef struct rays_source {
    const moeg_rays *rays;
    const moeg_ray_quantity *quantity;
} rays_source;

static size_t rays_room(const void *self, size_t stride)
{
    const rays_source *source = self;
    return moeg_rays_room(source->rays, source->quantity, stride);
}

static void place_rays(const void *self, size_t stratum, moeg_line_draw *draw)
{
    const rays_source *source = self;
    moeg_ray_buffers b;
    moeg_rays_layout(source->rays, stratum, source->quantity, draw->stride, draw->base, &b);
    draw->u = b.u;
    draw->values = b.values;
    draw->errors = b.errors;
}

static moeg_status evaluate_rays(const void *self, size_t stratum, const moeg_line_draw *draw)
{
    const rays_source *source = self;
    moeg_ray_buffers b;
    moeg_rays_layout(source->rays, stratum, source->quantity, draw->stride, draw->base, &b);
    moeg_rays_evaluate(source->rays, stratum, source->quantity, &b);
    return MOEG_OK;
}

static double rays_excess(const void *self, moeg_ray_result *result)
{
    const moeg_ray_quantity *quantity = ((const rays_source *)self)->quantity;
    return quantity->excess(quantity->self, result);
}

/* By how much lines of a stratum are to be shifted to meet a tie. */
static int shift_of(const void *self, const moeg_ties *ties, size_t tie, size_t stratum, double *shift)
{
    const moeg_rays *rays = self;
    const int on_ray = stratum < rays->cells;
    const size_t l = stratum - rays->cells;
    if (on_ray ? !moeg_ties_has(ties, tie, rays->ray[stratum].cell) : !moeg_strata_sees(&rays->lines, l, ties, tie))
        return 0; /* Nothing of it is for these lines. */
    moeg_shift_across(rays->r, on_ray ? rays->ray[stratum].direction : rays->lines.stratum[l].direction,
                      ties->point + tie * rays->r, shift);
    return 1;
}

static moeg_status make_shifts(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                               uint64_t n, moeg_shifts *shifts)
{
    moeg_ties ties;
    const double near = quantity->alike ? MOEG_TIES_NEAR : 0;
    const double cut = quantity->alike ? MOEG_TIES_CUT_ALIKE : MOEG_TIES_CUT_UNLIKE;
    moeg_status status = moeg_ties_init(function, &rays->frame, quantity->gap, near, cut, &ties);
    if (status != MOEG_OK)
        return status;
    status = moeg_shifts_init(function, moeg_rays_strata(rays), rays->r, &ties, shift_of, rays, n, shifts);
    moeg_ties_free(&ties);
    return status;
}

static moeg_status sample_rays(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                               const moeg_sampling *s, moeg_ray_result *result)
{
    const rays_source self = {rays, quantity};
    moeg_shifts shifts;
    moeg_status status = make_shifts(function, rays, quantity, moeg_lines_expected(s), &shifts);
    if (status != MOEG_OK)
        return status;
    const moeg_line_source source = {
        .shifts = &shifts,
        .drawn = rays->r + quantity->extra,
        .count = quantity->count,
        .aim = quantity->aim,
        .aims = quantity->aims,
        .excess = quantity->excess != NULL ? rays_excess : NULL,
        .room = rays_room,
        .place = place_rays,
        .evaluate = evaluate_rays,
        .self = &self,
    };
    status = moeg_lines_expect(function, &source, s, result);
    moeg_shifts_free(&shifts);
    return status;
}

static moeg_status plane(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                         moeg_ray_result *result)
{
    moeg_status status = moeg_rays_plane(function, rays, quantity, result);
    if (status == MOEG_OK)
        status = moeg_rays_plane_lines(function, rays, quantity, result);
    result->lines = 1;
    return status;
}

moeg_status moeg_rays_expect(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                             const moeg_sampling *s, moeg_ray_result *result)
{
    moeg_status status = moeg_ray_result_init(function, quantity->count, result);
    if (status != MOEG_OK)
        return status;
    status = rays->r > 2 || quantity->extra > 0 ? sample_rays(function, rays, quantity, s, result)
             : rays->r == 2                     ? plane(function, rays, quantity, result)
                                                : single_line(function, rays, quantity, result);
    if (status == MOEG_OK)
        status = check_range(function, quantity->count, result);
    if (status < 0)
        moeg_ray_result_free(result);
    return status;
}
