#include "limit/family.h"

#include "base/error.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

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
    const size_t positive = moeg_family_positive(moeg_moe_router(moe));
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

/* Sums of products a b, each of a and b a difference of two numbers. */
struct sum {
    long double value, slack;
};

/* a - b rounded once, and what that loses (Knuth's two-sum). */
struct difference {
    long double value, lost;
};

static struct difference subtract(double a, double b)
{
    const long double d = (long double)a - b, back = d - a;
    return (struct difference){d, fabsl((a - (d - back)) - (b + back))};
}

/* Adds a b; a sum of m of them has the rounding `rounding`. */
static void add(struct sum *sum, struct difference a, struct difference b, long double rounding)
{
    sum->value += a.value * b.value;
    sum->slack += rounding * fabsl(a.value * b.value) + fabsl(a.value) * b.lost + fabsl(b.value) * a.lost;
}

/* The sums over the outputs of gates that sum to 1: |delta|^2, J.delta, delta.(J - delta). */
static void add_soft(const double *f[2], const double *m[2], size_t j, long double rounding, struct sum *square,
                     struct sum *centre, struct sum *direct)
{
    const struct difference delta = subtract(f[0][j], f[1][j]), J = subtract(m[0][j], m[1][j]);
    const struct difference beyond = {J.value - delta.value, J.lost + delta.lost};
    add(square, delta, delta, rounding);
    add(centre, delta, J, rounding);
    add(direct, delta, beyond, rounding);
}

/* Of SWITCH, with d = f and the mean over both signs: |f|^2, -2 f.(f/2 - m), -2 f.(f - m). */
static void add_switch(const double *f[2], const double *m[2], size_t j, long double rounding, struct sum *square,
                       struct sum *centre, struct sum *direct)
{
    for (int i = 0; i < 2; i++) {
        const struct difference output = {f[i][j], 0}, half = {f[i][j] / 2.0L, 0};
        add(square, output, half, rounding);
        add(centre, output, (struct difference){m[i][j] - f[i][j] / 2.0L, 0}, rounding);
        add(direct, output, subtract(m[i][j], f[i][j]), rounding);
    }
}

static moeg_family_sum rounded(struct sum s)
{
    return (moeg_family_sum){(double)s.value, (double)s.slack};
}

moeg_status moeg_family_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_family_risk *risk)
{
    const size_t outputs = moeg_moe_outputs(moe);
    const long double rounding = ((long double)outputs + 2) * LDBL_EPSILON;
    moeg_family_risk r = {.gates = moeg_two_gates_of(moeg_moe_gate(moe)), .noise = moeg_teacher_noise(teacher)};
    moeg_family_logit_init(moeg_moe_router(moe), law, &r.logit);
    const double *m[2], *f[2] = {moeg_expert_constant_output(moeg_moe_expert(moe, r.logit.positive)),
                                 moeg_expert_constant_output(moeg_moe_expert(moe, 1 - r.logit.positive))};
    teacher_values(teacher, &m[0], &m[1]);
    struct sum square = {0}, centre = {0}, direct = {0};
    long double hard = 0, middle = 0, spread = 0;
    for (size_t j = 0; j < outputs; j++) {
        (r.gates == MOEG_TWO_SWITCH ? add_switch : add_soft)(f, m, j, rounding, &square, &centre, &direct);
        for (int i = 0; i < 2; i++) {
            const long double residual = (long double)f[i][j] - m[i][j];
            const long double other = r.gates == MOEG_TWO_SWITCH ? 0 : f[1 - i][j];
            const long double c = (f[i][j] + other) / 2 - m[i][j];
            hard += residual * residual / 2;
            middle += c * c / 2;
            spread += (f[i][j] - other) * (f[i][j] - other) / 8;
        }
    }
    if (!isfinite((double)(fabsl(centre.value) + fabsl(direct.value) + square.value + hard)))
        return moeg_fail(MOEG_ERANGE, "%s: a product of expert outputs overflows", function);
    const int mean = r.gates == MOEG_TWO_MEAN;
    r.square = (double)square.value;
    r.direct = rounded(direct);
    r.centre = rounded(centre);
    r.residual = (double)hard;
    r.middle = (double)middle;
    r.hard[MOEG_MIX_OUTPUT] = (double)((mean ? middle : hard) + r.noise);
    r.hard[MOEG_MIX_LOSS] = (double)((mean ? middle + spread : hard) + r.noise);
    r.loss = r.gates == MOEG_TWO_SWITCH ? (moeg_family_sum){-r.hard[MOEG_MIX_LOSS], 0} : r.centre;
    *risk = r;
    return MOEG_OK;
}

void moeg_family_hard(const moeg_family_risk *risk, moeg_mixing mixing, double *value, double *error)
{
    *value = risk->hard[mixing];
    *error = 4 * DBL_EPSILON * risk->hard[mixing];
}
