#include <moegeom/bound.h>

#include "base/error.h"
#include "limit/check.h"
#include "limit/line.h"

#include <float.h>
#include <math.h>

static const long double sqrt_two_pi = 2.50662827463100050241576528481105L;
static const long double up = 1 + 2 * (long double)DBL_EPSILON, down = 1 - 2 * (long double)DBL_EPSILON;

/* s ~ N(mu, sigma^2), mu = z sigma >= 0: P(|s| <= t) is the integral over [0, t] of
 *
 *   p(x) + p(-x) = sqrt(2/pi)/sigma e^(-z^2/2) e^(-y^2/2) cosh(z y),   y = x/sigma.
 *
 * For z <= 1 this falls with y (its logarithm has the slope z tanh(z y) - y <= (z^2 - 1) y), so it is at most its value
 * at 0, which as t -> 0 no smaller C would do. For any z, p(x) is at most 1/(sigma sqrt(2 pi)), and p(-x) at most p(0).
 */
static moeg_status binary_condition(const char *function, const moeg_binary_logit *logit,
                                    moeg_margin_condition *condition)
{
    *condition = (moeg_margin_condition){.C = 0, .alpha = 1, .t0 = INFINITY};
    if (logit->masked)
        return MOEG_OK;
    if (logit->deviation == 0) {
        condition->t0 = (double)(logit->mean * down);
        if (condition->t0 > 0)
            return MOEG_OK;
        return moeg_fail(MOEG_EDOM, "%s: the logits tie everywhere", function);
    }
    const long double z = logit->mean / logit->deviation, at_0 = expl(-z * z / 2);
    const long double C = (z <= 1 ? 2 * at_0 : 1 + at_0) / (sqrt_two_pi * logit->deviation);
    condition->C = (double)(C * up) + DBL_TRUE_MIN; /* where it is subnormal */
    if (!isfinite(condition->C))
        return moeg_fail(MOEG_ERANGE, "%s: C overflows", function);
    return MOEG_OK;
}

moeg_status moeg_bound_margin_condition(const moeg_router *router, const moeg_law *law,
                                        moeg_margin_condition *condition)
{
    static const char function[] = "bound_margin_condition";
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "condition", condition);
    if (status != MOEG_OK)
        return status;
    const char *refusal = moeg_line_refusal(router, law);
    if (refusal != NULL)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: %s", function, refusal);
    moeg_line_logit logit;
    moeg_margin_condition result;
    status = moeg_line_logit_init(function, router, law, &logit);
    if (status == MOEG_OK)
        status = logit.is_family ? moeg_family_condition(function, &logit.as.family, &result)
                                 : binary_condition(function, &logit.as.binary, &result);
    if (status == MOEG_OK)
        *condition = result;
    return status;
}
