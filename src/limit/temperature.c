/* The temperature at which the gap reaches a size [theory: temperature]. All passes have the same rows, so that a
 * sampled gap is one function of tau too. */
#include <moegeom/risk.h>

#include "base/error.h"
#include "base/rounds.h"
#include "limit/check.h"
#include "limit/crossing.h"
#include "limit/line.h"
#include "limit/risk_result.h"
#include "model/model.h"

#include <math.h>

/* Brackets of a sampled gap end there: what is left is interpolated, with an error of the square. */
static const double narrow = 1e-4;

/* What is asked. */
struct question {
    const char *function;
    const moeg_moe *moe;
    const moeg_teacher *teacher;
    const moeg_law *law;
    moeg_mixing mixing;
    const moeg_sampling *s;
    int line;
    moeg_line_risk risk;
};

static moeg_status line_gaps(const void *user, size_t n, const double *tau, moeg_estimate *gap)
{
    const struct question *q = user;
    moeg_status status = MOEG_OK;
    for (size_t t = 0; t < n && status == MOEG_OK; t++) {
        double value, error;
        status = moeg_line_gap(q->function, &q->risk, q->mixing, tau[t], &value, &error);
        gap[t] = moeg_line_estimate(value, error, q->s->level);
    }
    return status;
}

/* Too few rows at a temperature are no news: their infinite limits speak for themselves. */
static moeg_status sampled_gaps(const void *user, size_t n, const double *tau, moeg_estimate *gap)
{
    const struct question *q = user;
    const moeg_status status =
        moeg_risk_sample(q->function, 0, q->moe, q->teacher, q->law, q->mixing, n, tau, q->s, NULL, NULL, gap, NULL);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

/* Where a crossing is, or what stands for one before the range, or none in it. */
static double place(const moeg_search *search, const moeg_crossing *c, double before, double none)
{
    return c->inside ? moeg_crossing_locate(search, c) : c->found ? before : none;
}

/* The estimate, of which a sampled one wants its error bar still. */
static moeg_estimate assemble(const struct question *q, const moeg_search *search, const moeg_crossing *c,
                              const moeg_estimate *gap)
{
    const double value = place(search, &c[MOEG_CROSSING_VALUE], 0, search->hi);
    /* Interpolation knows no order. */
    const double lo = fmin(place(search, &c[MOEG_CROSSING_UPPER], 0, search->hi), value);
    const double hi = fmax(place(search, &c[MOEG_CROSSING_LOWER], search->lo, INFINITY), value);
    return (moeg_estimate){
        .value = value,
        .std_error = q->line && c[MOEG_CROSSING_VALUE].inside ? 0 : INFINITY,
        .lo = lo,
        .hi = hi,
        .level = q->s->level,
        .quad_error = q->line ? fmax(hi - value, value - lo) : 0,
        .n = gap->n,
        .contributing = gap->contributing,
        .method = gap->method,
    };
}

/* se(G)/|dG/dtau| at the value. */
static moeg_status add_error(const struct question *q, moeg_estimate *tau)
{
    moeg_estimate gap, slope;
    moeg_status status = sampled_gaps(q, 1, &tau->value, &gap);
    if (status == MOEG_OK)
        status = moeg_risk_sample(q->function, 1, q->moe, q->teacher, q->law, q->mixing, 1, &tau->value, q->s, NULL,
                                  NULL, &slope, NULL);
    if (status < 0 || status == MOEG_ECANCELED)
        return status;
    /* The slope is tau dG/dtau. */
    tau->std_error = tau->value * (gap.std_error / fabs(slope.value));
    if (isnan(tau->std_error))
        tau->std_error = INFINITY;
    tau->contributing = gap.contributing;
    return MOEG_OK;
}

/* MOEG_OK, or which part of the answer is not in the range. */
static moeg_status judge(const char *function, const moeg_search *search, const moeg_crossing *c,
                         const moeg_estimate *tau)
{
    const moeg_crossing *upper = &c[MOEG_CROSSING_UPPER], *value = &c[MOEG_CROSSING_VALUE];
    if (!value->found)
        return moeg_fail(MOEG_EUNABLE, "%s: the gap stays within %g up to tau_hi = %g", function, search->size,
                         search->hi);
    if (!value->inside)
        return moeg_fail(MOEG_EUNABLE, "%s: the gap is above %g at tau_lo = %g already", function, search->size,
                         search->lo);
    if (!upper->inside && isinf(upper->at_above))
        return moeg_fail(MOEG_EUNABLE, "%s: tau_lo = %g is felt by too few rows to tell a gap", function, search->lo);
    if (!upper->inside)
        return moeg_fail(MOEG_EUNABLE, "%s: the gap may be above %g at tau_lo = %g already", function, search->size,
                         search->lo);
    if (!c[MOEG_CROSSING_LOWER].found)
        return moeg_fail(MOEG_EUNABLE, "%s: the gap may be within %g up to tau_hi = %g", function, search->size,
                         search->hi);
    if (isinf(tau->std_error))
        return moeg_fail(MOEG_EUNABLE, "%s: the gap or its slope is not known at tau = %g", function, tau->value);
    return MOEG_OK;
}

static moeg_status answer(const struct question *q, const moeg_search *search, moeg_estimate *tau)
{
    moeg_crossing c[MOEG_CROSSINGS];
    moeg_estimate gap, found;
    moeg_status status = moeg_search_run(search, c, &gap);
    if (status == MOEG_OK) {
        found = assemble(q, search, c, &gap);
        if (c[MOEG_CROSSING_VALUE].inside && !q->line)
            status = add_error(q, &found);
    }
    if (status < 0)
        return status;
    if (status == MOEG_ECANCELED)
        found = (moeg_estimate){
            .value = NAN, .std_error = INFINITY, .hi = INFINITY, .level = q->s->level, .method = MOEG_METHOD_MC};
    *tau = found;
    return status == MOEG_OK ? judge(q->function, search, c, tau) : status;
}

static moeg_status check_question(const char *function, double gap, double lo, double hi, const moeg_estimate *tau)
{
    moeg_status status = moeg_check_pointer(function, "tau", tau);
    if (status == MOEG_OK && !(gap > 0 && isfinite(gap)))
        status = moeg_fail(MOEG_EINVAL, "%s: gap must be positive and finite, got %g", function, gap);
    if (status == MOEG_OK && !(lo >= 1e-300 && hi <= 1e300 && lo < hi))
        status =
            moeg_fail(MOEG_EINVAL, "%s: tau_lo < tau_hi must be in [1e-300, 1e300], got %g and %g", function, lo, hi);
    return status;
}

moeg_status moeg_risk_temperature(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                  moeg_mixing mixing, double gap, double tau_lo, double tau_hi, const moeg_sampling *s,
                                  moeg_estimate *tau)
{
    static const char function[] = "risk_temperature";
    struct question q = {function, moe, teacher, law, mixing, .line = 0};
    moeg_sampling options;
    moeg_status status = check_question(function, gap, tau_lo, tau_hi, tau);
    if (status == MOEG_OK)
        status = moeg_check_risk(function, moe, teacher, law, mixing, 1, &tau_lo, s);
    if (status == MOEG_OK)
        status = moeg_check_no_directions(function, s);
    if (status == MOEG_OK)
        status = moeg_choose_line(function, moeg_line_risk_refusal(moe, teacher, law), s->method, &q.line);
    if (status == MOEG_OK) {
        options = moeg_without_tolerance(s);
        q.s = &options;
    }
    if (status == MOEG_OK && q.line)
        status = moeg_line_risk_init(function, moe, teacher, law, &q.risk);
    if (status != MOEG_OK)
        return status;
    const moeg_search search = {
        .curve = q.line ? line_gaps : sampled_gaps,
        .user = &q,
        .size = gap,
        .lo = tau_lo,
        .hi = tau_hi,
        .width = q.line ? 0 : narrow,
    };
    return answer(&q, &search, tau);
}
