#include "limit/binary.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"

#include <math.h>

/* Everything here is in long double: what is handed on is then rounded once. */
typedef long double real;

/* The forms whose products are wanted, each affine in x: delta, r_near, r_far and c. */
enum { DELTA, NEAR, FAR, CENTRE, FORMS };

/* What one output needs. Rows are (d) each; a projected row is the part of the form that does not move with s. */
struct scratch {
    double *affine;                                     /* A (m x d) and c (m) of near, far and m, in this order. */
    real *v, *direction;                                /* w_near - w_far; Cov(X, x). */
    real *row[FORMS], *projected[FORMS], *image[FORMS]; /* The form; its projection; that times the covariance. */
};

/* Value at x = 0, value at x = z, and slope of the conditional mean of one output of each form. */
struct means {
    real interface[FORMS], mean[FORMS], slope[FORMS];
};

const char *moeg_binary_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law)
{
    const char *refusal = moeg_binary_refusal(moeg_moe_router(moe), law);
    if (refusal != NULL)
        return refusal;
    if (!moeg_expert_is_affine(moeg_moe_expert(moe, 0)) || !moeg_expert_is_affine(moeg_moe_expert(moe, 1)))
        return "an expert is neither constant nor affine";
    const moeg_expert *expert = moeg_teacher_expert(teacher);
    if (expert == NULL)
        return "the teacher is not one expert";
    if (!moeg_expert_is_affine(expert))
        return "the teacher's expert is neither constant nor affine";
    return NULL;
}

static real dot(size_t d, const real *a, const real *b)
{
    real sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += a[j] * b[j];
    return sum;
}

/* y = S x; S NULL is the identity. */
static void multiply(size_t d, const double *S, const real *x, real *y)
{
    for (size_t i = 0; i < d; i++) {
        y[i] = S == NULL ? x[i] : 0;
        for (size_t j = 0; S != NULL && j < d; j++)
            y[i] += S[i * d + j] * x[j];
    }
}

/* v and direction = S v/deviation, 0 if s does not vary. */
static void place_interface(const moeg_binary_logit *logit, const moeg_router *router, const moeg_law *law,
                            const struct scratch *t)
{
    const double *W, *b, *mu, *S;
    const size_t d = moeg_router_dim(router);
    moeg_router_affine_parts(router, &W, &b);
    moeg_law_gaussian_parts(law, &mu, &S);
    const double *near = W + logit->near * d, *far = W + (1 - logit->near) * d;
    for (size_t j = 0; j < d; j++) {
        real size;
        const moeg_pair image = moeg_binary_image(d, j, near, far, S, &size);
        t->v[j] = (real)near[j] - far[j];
        t->direction[j] = logit->constant ? 0 : (image.high + image.low) / logit->deviation;
    }
}

/* The forms of output j: rows, projections a - (a.direction) v/deviation, their images under S, and conditional means.
 * Projecting both sides of a trace keeps it exactly 0 where nothing but s moves the forms (d = 1). */
static void form_output(const moeg_binary_logit *logit, const moeg_law *law, size_t m, size_t j,
                        const struct scratch *t, struct means *means)
{
    const double *mu, *S;
    const size_t d = moeg_law_dim(law);
    moeg_law_gaussian_parts(law, &mu, &S);
    const double *near = t->affine + j * d, *far = near + m * (d + 1), *teacher = far + m * (d + 1);
    const size_t offset = m * d - j * d + j; /* From row j of an A to entry j of its c. */
    const moeg_pair at_near = moeg_pair_affine(d, near, mu, near[offset]);
    const moeg_pair at_far = moeg_pair_affine(d, far, mu, far[offset]);
    const moeg_pair at_teacher = moeg_pair_affine(d, teacher, mu, teacher[offset]);
    means->mean[DELTA] = moeg_pair_difference(at_near, at_far);
    means->mean[NEAR] = moeg_pair_difference(at_near, at_teacher);
    means->mean[FAR] = moeg_pair_difference(at_far, at_teacher);
    means->mean[CENTRE] = (means->mean[NEAR] + means->mean[FAR]) / 2;
    for (size_t i = 0; i < d; i++) {
        t->row[DELTA][i] = (real)near[i] - far[i];
        t->row[NEAR][i] = (real)near[i] - teacher[i];
        t->row[FAR][i] = (real)far[i] - teacher[i];
        t->row[CENTRE][i] = ((real)near[i] + far[i]) / 2 - teacher[i];
    }
    for (int f = 0; f < FORMS; f++) {
        means->slope[f] = dot(d, t->row[f], t->direction);
        means->interface[f] = means->mean[f] - means->slope[f] * logit->z;
        for (size_t i = 0; i < d; i++) {
            t->projected[f][i] = t->row[f][i];
            if (!logit->constant)
                t->projected[f][i] -= means->slope[f] * t->v[i] / logit->deviation;
        }
        multiply(d, S, t->projected[f], t->image[f]);
    }
}

/* E[a.b | x] of one output, added to a running quadratic (five long doubles in the order of moeg_quadratic). */
static void add_product(size_t d, const struct scratch *t, const struct means *means, int a, int b, real *sum)
{
    const real trace = dot(d, t->projected[a], t->image[b]);
    sum[0] += means->interface[a] * means->interface[b] + trace;
    sum[1] += means->interface[a] * means->slope[b] + means->slope[a] * means->interface[b];
    sum[2] += means->mean[a] * means->mean[b] + trace;
    sum[3] += means->mean[a] * means->slope[b] + means->slope[a] * means->mean[b];
    sum[4] += means->slope[a] * means->slope[b];
}

static moeg_status round_quadratic(const char *function, const real *sum, double sign, moeg_quadratic *q)
{
    for (int i = 0; i < 5; i++)
        if (!isfinite((double)sum[i]))
            return moeg_fail(MOEG_ERANGE, "%s: a product of expert outputs overflows", function);
    *q = (moeg_quadratic){
        .interface = {sign * (double)sum[0], sign * (double)sum[1]},
        .mean = {sign * (double)sum[2], sign * (double)sum[3]},
        .curvature = sign * (double)sum[4],
    };
    return MOEG_OK;
}

/* Carves the arrays out of one allocation. */
static moeg_status make_scratch(const char *function, size_t d, size_t m, struct scratch *t)
{
    size_t coefficients;
    if (moeg_multiply_overflows(m, 3 * (d + 1), &coefficients))
        return moeg_fail_memory(function);
    t->affine = moeg_alloc(coefficients, sizeof *t->affine);
    t->v = moeg_alloc(d, (2 + 3 * FORMS) * sizeof *t->v);
    if (t->affine == NULL || t->v == NULL)
        return moeg_fail_memory(function);
    t->direction = t->v + d;
    for (size_t f = 0; f < FORMS; f++) {
        t->row[f] = t->v + (2 + f) * d;
        t->projected[f] = t->v + (2 + FORMS + f) * d;
        t->image[f] = t->v + (2 + 2 * FORMS + f) * d;
    }
    return MOEG_OK;
}

moeg_status moeg_binary_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_binary_risk *risk)
{
    static const int pairs[][2] = {{DELTA, DELTA}, {DELTA, CENTRE}, {DELTA, NEAR},
                                   {DELTA, FAR},   {NEAR, NEAR},    {FAR, FAR}};
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    const size_t d = moeg_moe_dim(moe), m = moeg_moe_outputs(moe);
    struct scratch t = {0};
    real sums[PAIRS][5] = {{0}};
    moeg_binary_risk r;
    moeg_status status = moeg_binary_logit_init(function, moeg_moe_router(moe), law, &r.logit);
    if (status == MOEG_OK)
        status = make_scratch(function, d, m, &t);
    if (status != MOEG_OK)
        goto cleanup;
    /* A masked expert is left out, whatever it gives: the near one stands in for it. */
    const size_t far = r.logit.masked ? r.logit.near : 1 - r.logit.near;
    const moeg_expert *experts[] = {moeg_moe_expert(moe, r.logit.near), moeg_moe_expert(moe, far),
                                    moeg_teacher_expert(teacher)};
    for (size_t e = 0; e < 3; e++) {
        double *A = t.affine + e * m * (d + 1);
        if ((status = moeg_expert_affine_form(experts[e], A, A + m * d)) != MOEG_OK)
            goto cleanup;
    }
    place_interface(&r.logit, moeg_moe_router(moe), law, &t);
    for (size_t j = 0; j < m; j++) {
        struct means means;
        form_output(&r.logit, law, m, j, &t, &means);
        for (int p = 0; p < PAIRS; p++)
            add_product(d, &t, &means, pairs[p][0], pairs[p][1], sums[p]);
    }
    moeg_quadratic *results[] = {&r.contrast, &r.centre, &r.near, &r.far, &r.near_risk, &r.far_risk};
    for (int p = 0; p < PAIRS && status == MOEG_OK; p++)
        status = round_quadratic(function, sums[p], results[p] == &r.far ? -1 : 1, results[p]);
    if (status == MOEG_OK)
        *risk = r;
cleanup:
    moeg_release(t.affine);
    moeg_release(t.v);
    return status;
}
