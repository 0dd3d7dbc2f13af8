#include <moegeom/leading.h>

#include "base/error.h"
#include "limit/binary.h"
#include "limit/check.h"

#include <math.h>

moeg_status moeg_leading_coefficient(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                     moeg_mixing mixing, double *coefficient)
{
    static const char function[] = "leading_coefficient";
    moeg_status status = moeg_check_risk_objects(function, moe, teacher, law, mixing);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "coefficient", coefficient);
    if (status != MOEG_OK)
        return status;
    const char *refusal = moeg_binary_risk_refusal(moe, teacher, law);
    if (refusal != NULL)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: %s", function, refusal);
    moeg_binary_risk risk;
    if ((status = moeg_binary_risk_init(function, moe, teacher, law, &risk)) != MOEG_OK)
        return status;
    if (!risk.logit.masked && risk.logit.deviation == 0)
        return moeg_fail(MOEG_EDOM, "%s: the difference of the logits is constant and has no density", function);
    const int none = mixing == MOEG_MIX_LOSS || risk.logit.masked;
    const double c = none ? 0 : -moeg_binary_density(&risk.logit) * risk.contrast.interface[0];
    if (!isfinite(c))
        return moeg_fail(MOEG_ERANGE, "%s: the coefficient overflows", function);
    *coefficient = c;
    return MOEG_OK;
}
