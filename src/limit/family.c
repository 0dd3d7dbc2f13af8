#include "limit/family.h"

#include "base/error.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

static const long double sqrt_half = 0.70710678118654752440084436210485L;
static const long double sqrt_two_over_pi = 0.79788456080286535587989211986876L;

int moeg_family_has(const moeg_law *law)
{
    moeg_margin_family family;
    double parameter;
    return moeg_law_margin_parts(law, &family, &parameter);
}

const char *moeg_family_refusal(const moeg_router *router)
{
    const double *W, *b;
    const size_t d = moeg_router_dim(router);
    if (moeg_router_experts(router) != 2)
        return moeg_router_experts(router) < 2 ? "there is but one expert" : "there are more than two experts";
    if (!moeg_router_affine_parts(router, &W, &b))
        return "the router is not affine";
    if (b[0] != b[1])
        return "the logits have different biases";
    for (size_t j = 1; j < d; j++)
        if (W[j] != W[d + j])
            return "the difference of the logits depends on more than the first coordinate";
    return W[0] != W[d] ? NULL : "the logits are equal";
}

/* Of a router without a refusal. */
static size_t positive_expert(const moeg_router *router)
{
    const double *W, *b;
    moeg_router_affine_parts(router, &W, &b);
    return W[0] > W[moeg_router_dim(router)] ? 0 : 1;
}

void moeg_family_logit_init(const moeg_router *router, const moeg_law *law, moeg_family_logit *logit)
{
    const double *W, *b;
    moeg_margin_family family = MOEG_MARGIN_POWER;
    double parameter = 1;
    moeg_router_affine_parts(router, &W, &b);
    moeg_law_margin_parts(law, &family, &parameter);
    const int rayleigh = family == MOEG_MARGIN_RAYLEIGH;
    *logit = (moeg_family_logit){
        .positive = positive_expert(router),
        .scale = fabsl((long double)W[0] - W[moeg_router_dim(router)]),
        .power = family == MOEG_MARGIN_POWER ? parameter : 1,
        .offset = family == MOEG_MARGIN_BOUNDED ? parameter : 0,
        .order = rayleigh ? 2 : 1,
        .normal = rayleigh ? 1 : sqrt_two_over_pi,
    };
}

/* w - scale Delta_0 is rounded once, whatever cancels in it. */
double moeg_family_mass(const moeg_family_logit *logit, double w)
{
    const long double beyond = fmal(-logit->scale, logit->offset, w) / logit->scale;
    if (!(beyond > 0))
        return 0;
    if (logit->order == 2)
        return (double)-expm1l(-beyond * beyond / 2);
    return (double)erfl(powl(beyond, 1 / (long double)logit->power) * sqrt_half);
}

/* 1/p, rounded down: (t/c)^alpha is then too large for t < c, which does no harm. With r = (t/c)^(1/p) > 1 it is too
 * small by at most r^(-2 epsilon), while erf(r/sqrt 2) < 0.86 sqrt(2/pi) r; and where r^(-2 epsilon) < 0.9, r is larger
 * than any 1/sqrt(2/pi) needed, since P <= 1. */
static double exponent_below(double p)
{
    const double alpha = 1 / p;
    return isfinite(alpha) && fma(alpha, p, -1) > 0 ? nextafter(alpha, 0) : alpha;
}

/* erf(y/sqrt 2) <= sqrt(2/pi) y and 1 - e^(-y^2/2) <= y^2/2 for y >= 0: with y = (t/scale)^(1/p) the condition holds
 * for every t. A margin above scale Delta_0 needs no C up to there. */
moeg_status moeg_family_condition(const char *function, const moeg_family_logit *logit,
                                  moeg_margin_condition *condition)
{
    const long double floor = logit->scale * logit->offset * (1 - 2 * (long double)DBL_EPSILON);
    if (floor > DBL_MIN) {
        *condition = (moeg_margin_condition){.C = 0, .alpha = 1, .t0 = (double)fminl(floor, DBL_MAX)};
        return MOEG_OK;
    }
    const double alpha = logit->order == 2 ? 2 : exponent_below(logit->power);
    const long double C = logit->normal / logit->order * powl(logit->scale, -(long double)alpha);
    const double above = fmax((double)(C * (1 + 2 * (long double)DBL_EPSILON)), DBL_TRUE_MIN);
    if (!isfinite(alpha) || !isfinite(above))
        return moeg_fail(MOEG_ERANGE, "%s: the margin condition overflows: alpha = %g, C = %Lg", function, alpha, C);
    *condition = (moeg_margin_condition){.C = above, .alpha = alpha, .t0 = INFINITY};
    return MOEG_OK;
}

/* The constant teacher, or both values of a hard mixture; 0 if it is neither. The expert of x_1 > 0 is *plus. */
static int teacher_values(const moeg_teacher *teacher, const double **plus, const double **minus)
{
    const moeg_expert *expert = moeg_teacher_expert(teacher);
    if (expert != NULL) {
        *plus = *minus = moeg_expert_constant_output(expert);
        return *plus != NULL;
    }
    double tau = 1;
    const moeg_moe *moe = moeg_teacher_moe(teacher, &tau);
    if (moe == NULL || tau != 0 || (moeg_moe_gate(moe).kind == MOEG_GATE_SUBSET && moeg_moe_gate(moe).k > 1) ||
        moeg_family_refusal(moeg_moe_router(moe)) != NULL)
        return 0;
    const size_t positive = positive_expert(moeg_moe_router(moe));
    *plus = moeg_expert_constant_output(moeg_moe_expert(moe, positive));
    *minus = moeg_expert_constant_output(moeg_moe_expert(moe, 1 - positive));
    return *plus != NULL && *minus != NULL;
}

const char *moeg_family_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher)
{
    const double *plus, *minus;
    const char *refusal = moeg_family_refusal(moeg_moe_router(moe));
    if (refusal != NULL)
        return refusal;
    if (moeg_expert_constant_output(moeg_moe_expert(moe, 0)) == NULL ||
        moeg_expert_constant_output(moeg_moe_expert(moe, 1)) == NULL)
        return "an expert is not constant";
    if (!teacher_values(teacher, &plus, &minus))
        return "the teacher is neither constant nor a hard mixture of two constants, split at x_1 = 0";
    return NULL;
}

/* a - b rounded once, and what that loses (Knuth's two-sum). */
static long double difference(double a, double b, long double *lost)
{
    const long double d = (long double)a - b, back = d - a;
    *lost = fabsl((a - (d - back)) - (b + back));
    return d;
}

moeg_status moeg_family_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_family_risk *risk)
{
    const size_t m = moeg_moe_outputs(moe);
    const double *m_plus, *m_minus;
    moeg_family_logit logit;
    moeg_family_logit_init(moeg_moe_router(moe), law, &logit);
    teacher_values(teacher, &m_plus, &m_minus);
    const double *f_plus = moeg_expert_constant_output(moeg_moe_expert(moe, logit.positive));
    const double *f_minus = moeg_expert_constant_output(moeg_moe_expert(moe, 1 - logit.positive));
    long double contrast = 0, hard = 0, jump = 0, excess = 0, jump_slack = 0, excess_slack = 0;
    const long double rounding = ((long double)m + 2) * LDBL_EPSILON;
    for (size_t j = 0; j < m; j++) {
        long double delta_lost, J_lost;
        const long double r_plus = (long double)f_plus[j] - m_plus[j], r_minus = (long double)f_minus[j] - m_minus[j];
        const long double delta = difference(f_plus[j], f_minus[j], &delta_lost);
        const long double J = difference(m_plus[j], m_minus[j], &J_lost), beyond = J - delta;
        contrast += delta * delta;
        hard += (r_plus * r_plus + r_minus * r_minus) / 2;
        jump += delta * J;
        jump_slack += rounding * fabsl(delta * J) + fabsl(delta) * J_lost + fabsl(J) * delta_lost;
        excess += delta * beyond;
        excess_slack += rounding * fabsl(delta * beyond) + fabsl(delta) * (J_lost + delta_lost);
    }
    if (!isfinite((double)(fabsl(jump) + fabsl(excess) + contrast + hard)))
        return moeg_fail(MOEG_ERANGE, "%s: a product of expert outputs overflows", function);
    *risk = (moeg_family_risk){
        .logit = logit,
        .contrast = (double)contrast,
        .jump = (double)jump,
        .jump_slack = (double)jump_slack,
        .excess = (double)excess,
        .excess_slack = (double)excess_slack,
        .hard = (double)hard,
    };
    return MOEG_OK;
}

void moeg_family_hard(const moeg_family_risk *risk, double *value, double *error)
{
    *value = risk->hard;
    *error = 4 * DBL_EPSILON * risk->hard;
}

/* The alternating series sum_k (-1)^k k^j (k + 1)^-a, j = 0 or 1: Dirichlet's eta(a), and eta(a - 1) - eta(a), for a >
 * 0. Cohen, Rodriguez Villegas and Zagier (2000), algorithm 1: it continues the series where that diverges, and the
 * weights of the first terms are off by no more than 5.8^-n. */
static long double alternating(long double a, int j)
{
    enum { N = 28 };
    long double d = powl(3 + sqrtl(8), N), b = -1, sum = 0;
    d = (d + 1 / d) / 2;
    long double c = -d;
    for (int k = 0; k < N; k++) {
        c = b - c;
        sum += c * (j == 0 ? 1 : k) * powl(k + 1, -a);
        b *= (long double)(k + N) * (k - N) / ((k + 0.5L) * (k + 1));
    }
    return sum / d;
}

/* J.delta eta(a) - |delta|^2 eta(a - 1), from the smaller terms of two ways to write it. */
static long double power_factor(const moeg_family_risk *risk, int loss, long double a)
{
    const long double eta = alternating(a, 0), below = alternating(a, 1);
    if (loss)
        return risk->jump * eta;
    const long double lower = eta + below;
    if (fabsl(risk->jump * eta) + risk->contrast * lower < fabsl(risk->excess * eta) + risk->contrast * fabsl(below))
        return risk->jump * eta - risk->contrast * lower;
    return risk->excess * eta - risk->contrast * below;
}

/* With a = alpha = order/p, tau << scale: E q ~ C Gamma(a + 1) eta(a) (tau/scale)^a and E q^2 the same with
 * eta(a) - eta(a - 1), C = normal/order. With Delta_0 > 0, q ~ e^(-|s|/tau): E q^k ~ normal tau/(k scale)
 * e^(-k scale Delta_0/tau), and of output mixing with J = delta only q^2 is left. */
moeg_status moeg_family_leading(const char *function, const moeg_family_risk *risk, moeg_mixing mixing,
                                moeg_leading *leading)
{
    const moeg_family_logit *l = &risk->logit;
    const double a = l->order / l->power, rate = (double)(l->scale * l->offset);
    const int loss = mixing == MOEG_MIX_LOSS, squares = !loss && risk->excess == 0 && risk->excess_slack == 0;
    long double factor, scaled;
    moeg_leading result = {.power = l->offset > 0 ? 1 : a, .rate = squares ? 2 * rate : rate};
    if (l->offset > 0) {
        factor = loss ? risk->jump : squares ? risk->contrast / 2.0L : risk->excess;
        scaled = factor * l->normal / l->scale;
    } else {
        factor = power_factor(risk, loss, a);
        scaled = factor * l->normal / l->order * expl(lgammal((long double)a + 1) - a * logl(l->scale));
    }
    result.coefficient = (double)scaled;
    if (!isfinite(result.coefficient) || !isfinite(result.rate) || (factor != 0 && result.coefficient == 0))
        return moeg_fail(MOEG_ERANGE, "%s: the coefficient or the rate is out of range: %Lg, %g", function, scaled,
                         result.rate);
    *leading = result;
    return MOEG_OK;
}
