#include "limit/binary_risk.h"

#include "base/error.h"

#include <math.h>

static const long double ln_two = 0.69314718055994530941723212145818L;
static const long double pi_squared_over_6 = 1.64493406684822643647241516664603L;

/* At the interface. */
static moeg_binary_place interface(const moeg_binary_risk *risk)
{
    const moeg_binary_teacher *t = &risk->teacher;
    moeg_binary_place at = {.x = 0, .t = -(double)risk->logit.z};
    if (t->lay == MOEG_LAY_STEP)
        at.h_near = at.h_far = copysign(INFINITY, t->edge_far ? t->h1 : -t->h1);
    if (t->lay == MOEG_LAY_OBLIQUE)
        at.h_near = at.h_far = t->h0;
    return at;
}

/* The integrals over w of the weights at the interface, times what they weigh: of q ln 2, of p q 1/2. */
static long double first_order(const moeg_binary_risk *r, moeg_mixing mixing)
{
    const moeg_binary_place at = interface(r);
    if (mixing == MOEG_MIX_LOSS && r->gates == MOEG_TWO_SWITCH)
        return -ln_two * (moeg_binary_folded(r, &r->residual, &at).value + 2 * (long double)r->noise);
    const long double centre = -2 * ln_two * moeg_binary_folded(r, &r->centre, &at).value;
    if (mixing == MOEG_MIX_LOSS)
        return centre;
    return centre - ((long double)moeg_binary_contrast_near(r, &at).value + moeg_binary_contrast_far(r, &at).value) / 2;
}

/* Loss mixing where the two cells cancel at x = 0. Their sum over the density there is then linear in x as x -> 0, and
 * the integral of q w is pi^2/12. */
static long double second_order(const moeg_binary_risk *r)
{
    const moeg_binary_place at = interface(r);
    return -pi_squared_over_6 * moeg_binary_folded_slope(r, &r->centre, &at) / r->logit.deviation;
}

moeg_status moeg_binary_leading(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing,
                                moeg_leading *leading)
{
    *leading = (moeg_leading){.coefficient = 0, .power = 1, .rate = 0};
    if (risk->logit.masked || !moeg_two_gates_move(risk->gates))
        return MOEG_OK;
    if (risk->logit.deviation == 0)
        return moeg_fail(MOEG_EDOM, "%s: the difference of the logits is constant and has no density", function);
    if (risk->underflows)
        return moeg_fail(MOEG_ERANGE, "%s: the coefficient underflows", function);
    long double factor = first_order(risk, mixing);
    if (mixing == MOEG_MIX_LOSS && factor == 0) {
        factor = second_order(risk);
        leading->power = 2;
    }
    const long double coefficient = factor * moeg_binary_density(&risk->logit);
    leading->coefficient = coefficient == 0 ? 0 : (double)coefficient; /* no -0 */
    if (!isfinite(leading->coefficient) || (coefficient != 0 && leading->coefficient == 0))
        return moeg_fail(MOEG_ERANGE, "%s: the coefficient %s", function,
                         isfinite(leading->coefficient) ? "underflows" : "overflows");
    return MOEG_OK;
}
