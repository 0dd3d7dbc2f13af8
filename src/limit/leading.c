#include <moegeom/leading.h>

#include "base/error.h"
#include "limit/check.h"
#include "limit/line.h"

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
    status = risk.is_family ? moeg_family_leading(function, &risk.as.family, mixing, &result)
                            : moeg_binary_leading(function, &risk.as.binary, mixing, &result);
    if (status == MOEG_OK)
        *leading = result;
    return status;
}
