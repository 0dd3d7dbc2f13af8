#include <moegeom/leading.h>

#include "base/error.h"
#include "base/memory.h"
#include "limit/check.h"
#include "limit/line.h"
#include "limit/many_lines.h"

#include <float.h>
#include <math.h>
#include <string.h>

static moeg_status line_leading(const char *function, const moeg_line_risk *risk, moeg_mixing mixing,
                                moeg_leading *leading)
{
    return risk->is_family ? moeg_family_leading(function, &risk->as.family, mixing, leading)
                           : moeg_binary_leading(function, &risk->as.binary, mixing, leading);
}

moeg_status moeg_leading_term(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                              moeg_leading *leading)
{
    static const char function[] = "leading_term";
    moeg_status status = moeg_check_risk_objects(function, moe, teacher, law, mixing);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "leading", leading);
    if (status != MOEG_OK)
        return status;
    const char *refusal = moeg_line_risk_refusal(moe, teacher, law);
    if (refusal != NULL)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: %s", function, refusal);
    moeg_line_risk risk;
    if ((status = moeg_line_risk_init(function, moe, teacher, law, &risk)) != MOEG_OK)
        return status;
    moeg_leading result;
    status = line_leading(function, &risk, mixing, &result);
    if (status == MOEG_OK)
        *leading = result;
    return status;
}

/* One line: the slope from the leading term, and differences. */
static moeg_status expand_line(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, size_t ntau,
                               const double *tau, double level, moeg_estimate *slope, moeg_estimate *remainder)
{
    moeg_leading leading;
    moeg_status status = line_leading(function, risk, mixing, &leading);
    if (status == MOEG_OK && leading.coefficient != 0 && leading.rate == 0 && leading.power < 1)
        status =
            moeg_fail(MOEG_EDOM, "%s: the gap is of the order tau^%g and has no slope at 0", function, leading.power);
    if (status != MOEG_OK)
        return status;
    const double value = leading.power == 1 && leading.rate == 0 ? leading.coefficient : 0;
    const double error = 16 * DBL_EPSILON * fabs(value);
    *slope = moeg_line_estimate(value, error, level);
    for (size_t t = 0; t < ntau && status == MOEG_OK; t++) {
        double gap[2];
        status = moeg_line_gap(function, risk, mixing, tau[t], &gap[0], &gap[1]);
        if (status == MOEG_OK)
            remainder[t] =
                moeg_line_estimate((gap[0] / tau[t] - value) / tau[t], (gap[1] / tau[t] + error) / tau[t], level);
    }
    return status;
}

/* What is not above its rounding is not told. */
static int make_blank(moeg_estimate *e)
{
    if (e->quad_error == 0 || e->quad_error < fmax(fabs(e->value), e->std_error))
        return 0;
    e->value = NAN;
    e->std_error = INFINITY;
    e->lo = -INFINITY;
    e->hi = INFINITY;
    return 1;
}

/* More lines than one; refusal tells why one is not enough. */
static moeg_status expand_lines(const char *function, const char *refusal, const moeg_moe *moe,
                                const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing, size_t ntau,
                                const double *tau, const moeg_sampling *s, moeg_estimate *slope,
                                moeg_estimate *remainder)
{
    moeg_many_lines m;
    moeg_status status = moeg_many_lines_init(function, moe, teacher, law, s, &m);
    if (status == MOEG_OK)
        status = moeg_many_lines_check(function, refusal, &m);
    if (status == MOEG_OK)
        status = m.no_rays == NULL ? moeg_ray_remainder(function, &m.rays, mixing, ntau, tau, s, slope, remainder)
                                   : moeg_nodes_remainder(function, &m.nodes, mixing, ntau, tau, s, slope, remainder);
    moeg_many_lines_free(&m);
    return status;
}

static moeg_status expand(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                          moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                          moeg_estimate *slope, moeg_estimate *remainder)
{
    const char *refusal = moeg_line_risk_refusal(moe, teacher, law);
    if (s->method == MOEG_METHOD_MC)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: method mc does not apply: no row lies on an interface", function);
    if (refusal != NULL)
        return expand_lines(function, refusal, moe, teacher, law, mixing, ntau, tau, s, slope, remainder);
    moeg_line_risk line;
    moeg_status status = moeg_check_no_directions(function, s);
    if (status == MOEG_OK)
        status = moeg_line_risk_init(function, moe, teacher, law, &line);
    return status == MOEG_OK ? expand_line(function, &line, mixing, ntau, tau, s->level, slope, remainder) : status;
}

moeg_status moeg_leading_slope(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                               moeg_mixing mixing, const moeg_sampling *s, moeg_estimate *slope)
{
    static const char function[] = "leading_slope";
    moeg_estimate result;
    moeg_status status = moeg_check_risk_objects(function, moe, teacher, law, mixing);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "slope", slope);
    if (status == MOEG_OK)
        status = expand(function, moe, teacher, law, mixing, 0, NULL, s, &result, NULL);
    if (status >= 0)
        *slope = result;
    return status;
}

moeg_status moeg_leading_remainder(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                   moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                                   moeg_estimate *slope, moeg_estimate *remainder)
{
    static const char function[] = "leading_remainder";
    moeg_status status = moeg_check_risk(function, moe, teacher, law, mixing, ntau, tau, s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "remainder", remainder);
    for (size_t t = 0; t < ntau && status == MOEG_OK; t++)
        if (tau[t] == 0)
            status = moeg_fail(MOEG_EDOM, "%s: tau[%zu] must be above 0, got 0", function, t);
    if (status != MOEG_OK)
        return status;
    moeg_estimate at_0, *all = moeg_alloc(ntau, sizeof *all);
    if (all == NULL)
        return moeg_fail_memory(function);
    status = expand(function, moe, teacher, law, mixing, ntau, tau, s, &at_0, all);
    for (size_t t = 0; t < ntau && status >= 0; t++)
        if (make_blank(&all[t]) && status == MOEG_OK)
            status = moeg_fail(MOEG_EUNABLE, "%s: remainder[%zu] is below rounding", function, t);
    if (status >= 0) {
        memcpy(remainder, all, ntau * sizeof *remainder);
        if (slope != NULL)
            *slope = at_0;
    }
    moeg_release(all);
    return status;
}
