#include <moegeom/leading.h>

#include "base/error.h"
#include "limit/check.h"
#include "limit/line.h"

#include <math.h>

/* J = 0 and alpha = 1. */
static moeg_status binary_leading(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing,
                                  moeg_leading *leading)
{
    if (!risk->logit.masked && risk->logit.deviation == 0)
        return moeg_fail(MOEG_EDOM, "%s: the difference of the logits is constant and has no density", function);
    const int none = mixing == MOEG_MIX_LOSS || risk->logit.masked;
    const double c = none ? 0 : -moeg_binary_density(&risk->logit) * risk->contrast.interface[0];
    if (!isfinite(c))
        return moeg_fail(MOEG_ERANGE, "%s: the coefficient overflows", function);
    *leading = (moeg_leading){.coefficient = c, .power = 1, .rate = 0};
    return MOEG_OK;
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
    return risk.is_family ? moeg_family_leading(function, &risk.as.family, mixing, leading)
                          : binary_leading(function, &risk.as.binary, mixing, leading);
}
