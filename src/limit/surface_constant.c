/* The constants of masses of higher order [theory: surface integrals]. */
#include <moegeom/surface.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "limit/check.h"
#include "limit/line.h"
#include "limit/ray_estimate.h"
#include "limit/surface_sets.h"
#include "line/sampler.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct context {
    const char *function;
    const moeg_frame *frame;
    const moeg_tie_sets *sets;
} context;

/* A crowded set that is on top on less of its line than this may be so by rounding. */
static const double ROUNDING = 1e-13;

/* The constant from one point z (R) (step apart): its average over N(0, I_R) is C_r. NaN where more than r + 1 experts
 * tie at the top on what should be the tie of r + 1: the sum over sets would count it several times. *error: what
 * rounding may have done. */
static double constant_at(const context *c, const double *z, size_t step, double *scratch, double *error)
{
    const double times = (double)(c->sets->r + 1);
    double sum = 0, doubt = 0;
    for (size_t i = 0; i < c->sets->count; i++) {
        const moeg_tie_set *set = &c->sets->set[i];
        const double top = moeg_tie_set_top(c->frame, c->sets, set, z, step, scratch);
        if (!set->crowded)
            sum += set->density * top;
        else if (top > ROUNDING)
            sum = NAN;
        else
            doubt += set->density * top;
    }
    *error = times * (64 * DBL_EPSILON * sum + doubt);
    return times * sum;
}

static moeg_status crowded(const context *c)
{
    const size_t tie = c->sets->r + 1;
    return moeg_fail(MOEG_EDOM, "%s: more than %zu experts tie at the top wherever some %zu do", c->function, tie, tie);
}

static size_t room(const void *self, size_t stride)
{
    const context *c = self;
    return (c->sets->R + 4) * stride + moeg_round_lanes(2 * c->sets->R);
}

static void place(const void *self, size_t stratum, moeg_line_draw *draw)
{
    const context *c = self;
    (void)stratum;
    draw->u = draw->base;
    draw->values = draw->u + c->sets->R * draw->stride;
    draw->errors = draw->values + 2 * draw->stride;
}

static moeg_status evaluate(const void *self, size_t stratum, const moeg_line_draw *draw)
{
    const context *c = self;
    (void)stratum;
    for (size_t i = 0; i < draw->stride; i++) {
        draw->values[i] = constant_at(c, draw->u + i, draw->stride, draw->errors + 2 * draw->stride, &draw->errors[i]);
        if (isnan(draw->values[i]))
            return crowded(c);
    }
    return MOEG_OK;
}

/* The part of the tie's nearest point that comes from z. */
static int shift_of(const void *self, const moeg_ties *ties, size_t tie, size_t stratum, double *shift)
{
    const moeg_tie_sets *sets = self;
    (void)stratum;
    for (size_t i = 0; i < sets->count && ties->size == sets->r + 1; i++)
        if (memcmp(sets->set[i].member, ties->member + tie * ties->size, ties->size * sizeof(size_t)) == 0) {
            moeg_tie_set_across(sets, &sets->set[i], ties->point + tie * ties->r, shift);
            return 1;
        }
    return 0;
}

static moeg_status make_shifts(const context *c, uint64_t n, moeg_shifts *shifts)
{
    moeg_ties ties;
    moeg_status status =
        moeg_ties_init(c->function, c->frame, moeg_gap_order(c->sets->r), MOEG_TIES_NEAR, MOEG_TIES_CUT_ALIKE, &ties);
    if (status != MOEG_OK)
        return status;
    status = moeg_shifts_init(c->function, 1, c->sets->R, &ties, shift_of, c->sets, n, shifts);
    moeg_ties_free(&ties);
    return status;
}

static moeg_status sample(const char *function, const context *c, const moeg_sampling *s, moeg_estimate *constant)
{
    moeg_shifts shifts;
    moeg_status status = make_shifts(c, s->n, &shifts);
    if (status != MOEG_OK)
        return status;
    const moeg_line_source source = {
        .shifts = &shifts,
        .drawn = c->sets->R,
        .count = 1,
        .room = room,
        .place = place,
        .evaluate = evaluate,
        .self = c,
    };
    moeg_ray_result result = {0};
    status = moeg_ray_result_init(function, 1, &result);
    if (status == MOEG_OK)
        status = moeg_lines_expect(function, &source, s, &result);
    if (status >= 0) {
        const moeg_status one = moeg_ray_estimate(&result, 1, 0, 1, s->level, constant);
        constant->lo = fmax(constant->lo, 0);
        status = status == MOEG_OK ? one : status;
        moeg_ray_explain(function, status, s->n, 1, constant);
        if (status == MOEG_ECANCELED)
            moeg_fail(status, "%s: canceled by the progress callback", function);
    }
    moeg_ray_result_free(&result);
    moeg_shifts_free(&shifts);
    return status;
}

/* Where z has no part outside of the sets' differences and lines, any will do. */
static moeg_status exact(const char *function, const context *c, double level, moeg_estimate *constant)
{
    const size_t R = c->sets->R;
    double *z = moeg_alloc_zero(3, R * sizeof *z);
    if (z == NULL)
        return moeg_fail_memory(function);
    double error;
    const double value = constant_at(c, z, 1, z + R, &error);
    moeg_release(z);
    if (isnan(value))
        return crowded(c);
    *constant = moeg_line_estimate(value, error, level);
    return MOEG_OK;
}

static moeg_status check_frame(const char *function, const moeg_frame *frame, size_t r)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    const size_t R = frame->r;
    for (size_t i = 0; i < logits->K; i++)
        for (size_t j = 0; j < i; j++)
            if (logits->constant[i] == logits->constant[j] &&
                memcmp(logits->T + i * R, logits->T + j * R, R * sizeof *logits->T) == 0)
                return moeg_fail(MOEG_EDOM, "%s: experts %zu and %zu tie everywhere", function, logits->expert[j],
                                 logits->expert[i]);
    for (size_t i = 0; i < logits->K * R; i++)
        if (fabs(logits->T[i]) > 1e150)
            return moeg_fail(MOEG_ERANGE, "%s: the squares of the differences of the logits overflow", function);
    if (r > R)
        return moeg_fail(MOEG_EDOM, "%s: r must be at most the %zu dimensions in which the logits differ, got %zu",
                         function, R, r);
    return MOEG_OK;
}

static moeg_status check(const char *function, const moeg_router *router, size_t r, const moeg_law *law,
                         const moeg_sampling *s, const moeg_estimate *constant)
{
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK && !(r >= 1 && r < moeg_router_experts(router)))
        status = moeg_fail(MOEG_EINVAL, "%s: r must be at least 1 and below K = %zu, got %zu", function,
                           moeg_router_experts(router), r);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK)
        status = moeg_check_no_directions(function, s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "constant", constant);
    if (status == MOEG_OK && s->method == MOEG_METHOD_MC)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: no row lies on an interface: method must be auto or line, got mc",
                           function);
    const char *refusal = status == MOEG_OK ? moeg_frame_refusal(router, law) : NULL;
    return refusal != NULL ? moeg_fail(MOEG_EUNSUPPORTED, "%s: %s", function, refusal) : status;
}

moeg_status moeg_surface_order_constant(const moeg_router *router, size_t r, const moeg_law *law,
                                        const moeg_sampling *s, moeg_estimate *constant)
{
    static const char function[] = "surface_order_constant";
    moeg_frame frame;
    moeg_tie_sets sets = {0};
    moeg_estimate found;
    moeg_status status = check(function, router, r, law, s, constant);
    if (status == MOEG_OK)
        status = moeg_frame_init(function, 1, &router, law, &frame);
    if (status != MOEG_OK)
        return status;
    const context c = {function, &frame, &sets};
    if (frame.logits[0].K < r + 1) {
        found = moeg_line_estimate(0, 0, s->level);
    } else {
        status = check_frame(function, &frame, r);
        if (status == MOEG_OK)
            status = moeg_tie_sets_init(function, &frame, r, &sets);
        if (status == MOEG_OK)
            status = r + 1 >= frame.r ? exact(function, &c, s->level, &found) : sample(function, &c, s, &found);
    }
    if (status >= 0 && !isfinite(found.value) && status != MOEG_ECANCELED)
        status = moeg_fail(MOEG_ERANGE, "%s: the constant overflows", function);
    if (status >= 0)
        *constant = found;
    moeg_tie_sets_free(&sets);
    moeg_frame_free(&frame);
    return status;
}
