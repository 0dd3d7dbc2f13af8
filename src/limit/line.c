#include "limit/line.h"

const char *moeg_line_refusal(const moeg_router *router, const moeg_law *law)
{
    return moeg_family_has(law) ? moeg_family_refusal(router) : moeg_binary_refusal(router, law);
}

moeg_status moeg_line_logit_init(const char *function, const moeg_router *router, const moeg_law *law,
                                 moeg_line_logit *logit)
{
    logit->is_family = moeg_family_has(law);
    if (!logit->is_family)
        return moeg_binary_logit_init(function, router, law, &logit->as.binary);
    moeg_family_logit_init(router, law, &logit->as.family);
    return MOEG_OK;
}

double moeg_line_mass(const moeg_line_logit *logit, double w)
{
    return logit->is_family ? moeg_family_mass(&logit->as.family, w) : moeg_binary_mass(&logit->as.binary, w);
}

const char *moeg_line_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law)
{
    if (moeg_moe_gate(moe).kind != MOEG_GATE_SOFTMAX)
        return "the gate is not SOFTMAX";
    return moeg_family_has(law) ? moeg_family_risk_refusal(moe, teacher) : moeg_binary_risk_refusal(moe, teacher, law);
}

moeg_status moeg_line_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                const moeg_law *law, moeg_line_risk *risk)
{
    risk->is_family = moeg_family_has(law);
    return risk->is_family ? moeg_family_risk_init(function, moe, teacher, law, &risk->as.family)
                           : moeg_binary_risk_init(function, moe, teacher, law, &risk->as.binary);
}

moeg_status moeg_line_hard(const char *function, const moeg_line_risk *risk, double *value, double *error)
{
    if (!risk->is_family)
        return moeg_binary_hard(function, &risk->as.binary, value, error);
    moeg_family_hard(&risk->as.family, value, error);
    return MOEG_OK;
}

moeg_status moeg_line_gap(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                          double *value, double *error)
{
    return risk->is_family ? moeg_family_gap(function, &risk->as.family, mixing, tau, value, error)
                           : moeg_binary_gap(function, &risk->as.binary, mixing, tau, value, error);
}
