#include "limit/binary_risk.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Everything here is in long double: what is handed on is then rounded once. */
typedef long double real;

/* Affine in x: the outputs of the near and the far expert, of one piece of m, and of the other. */
enum { OUTPUT_NEAR, OUTPUT_FAR, TARGET, OTHER, OUTPUTS };

/* The forms whose products are wanted: d, r and c of either cell, and the jump of m, near less far. */
enum { D_NEAR, D_FAR, R_NEAR, R_FAR, C_NEAR, C_FAR, JUMP, FORMS };

/* The forms of the outputs. */
static const double soft_forms[FORMS][OUTPUTS] = {
    [D_NEAR] = {1, -1},      [D_FAR] = {-1, 1},      [R_NEAR] = {1, 0, -1},  [R_FAR] = {0, 1, -1},
    [C_NEAR] = {.5, .5, -1}, [C_FAR] = {.5, .5, -1}, [JUMP] = {0, 0, 1, -1},
};
static const double switch_forms[FORMS][OUTPUTS] = {
    [D_NEAR] = {1},         [D_FAR] = {0, 1},      [R_NEAR] = {1, 0, -1},  [R_FAR] = {0, 1, -1},
    [C_NEAR] = {.5, 0, -1}, [C_FAR] = {0, .5, -1}, [JUMP] = {0, 0, 1, -1},
};

/* The products, of forms of the near cell and of the far one; then the contrast with the jump. */
enum { CONTRAST, DIRECT, CENTRE, RESIDUAL, MIDDLE, PRODUCTS };
static const int pairs[PRODUCTS][2][2] = {
    {{D_NEAR, D_NEAR}, {D_FAR, D_FAR}}, {{D_NEAR, R_NEAR}, {D_FAR, R_FAR}}, {{D_NEAR, C_NEAR}, {D_FAR, C_FAR}},
    {{R_NEAR, R_NEAR}, {R_FAR, R_FAR}}, {{C_NEAR, C_NEAR}, {C_FAR, C_FAR}},
};

/* A product summed over the outputs: value and slope at x = 0 and at x = z, curvature; Q_1 at x = 0 and at x = z, its
 * slope, Q_2. */
enum { AT_0, SLOPE_0, AT_MEAN, SLOPE_MEAN, SQUARE, ALONG_0, ALONG_MEAN, ALONG_SLOPE, ALONG_SQUARE, SUMS };

typedef struct sums {
    real product[2][PRODUCTS][2][SUMS]; /* With either piece; near, far. */
    real jump[SUMS];                    /* COINCIDENT: d_near.(m_near - m_far). */
} sums;

/* What one output needs. Rows are (d) each; a projected row is the part of the form that does not move with s. */
struct scratch {
    double *affine;                                     /* A (m x d) and c (m) of the outputs. */
    real *s, *direction, *along;                        /* The row of s; Cov(X, x); Cov(X, y). */
    real *row[FORMS], *projected[FORMS], *image[FORMS]; /* The form; its projection; that times the covariance. */
};

/* Of one output of each form: the conditional mean at x = 0 and at x = z, its slope, and the slope along y. */
struct means {
    real interface[FORMS], mean[FORMS], slope[FORMS], along[FORMS];
};

const char *moeg_binary_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law)
{
    moeg_binary_teacher pieces;
    const char *refusal = moeg_binary_refusal(moeg_moe_router(moe), law);
    if (refusal != NULL)
        return refusal;
    if (!moeg_expert_is_affine(moeg_moe_expert(moe, 0)) || !moeg_expert_is_affine(moeg_moe_expert(moe, 1)))
        return "an expert is neither constant nor affine";
    return moeg_binary_teacher_read(teacher, &pieces);
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

/* The rows that s and y are, in units of their deviations; 0 where they do not vary. y is the part of t that is
 * independent of s, and deviation(y) = slope of t/h1. */
static void place_interfaces(const moeg_binary_risk *r, const moeg_router *router, const moeg_law *law,
                             const struct scratch *t)
{
    const double *mu, *S;
    const size_t d = moeg_law_dim(law);
    real size;
    moeg_law_gaussian_parts(law, &mu, &S);
    memset(t->s, 0, 3 * d * sizeof *t->s);
    const moeg_row s = r->logit.masked ? (moeg_row){0} : moeg_binary_row(&r->logit, router);
    for (size_t j = 0; j < d && !r->logit.constant; j++) {
        t->s[j] = moeg_pair_value(moeg_row_entry(&s, j)) / r->logit.deviation;
        t->direction[j] = moeg_pair_value(moeg_row_image(&s, S, j, &size)) / r->logit.deviation;
    }
    if (r->teacher.lay != MOEG_LAY_OBLIQUE)
        return;
    moeg_row rest = r->teacher.row;
    if (!r->logit.constant)
        rest = moeg_row_without(&r->teacher.row, &s, S);
    const real deviation = sqrtl(moeg_binary_variance(&rest, S));
    for (size_t j = 0; j < d; j++)
        t->along[j] = moeg_pair_value(moeg_row_image(&rest, S, j, &size)) / deviation;
}

/* The forms of output j: rows, projections a - (a.direction) s/deviation, their images under S, and conditional means.
 * Projecting both sides of a trace keeps it exactly 0 where nothing but s moves the forms (d = 1). */
static void form_output(const moeg_binary_risk *r, const moeg_law *law, size_t m, size_t j, const size_t *outputs,
                        const struct scratch *t, struct means *means)
{
    const double(*forms)[OUTPUTS] = r->gates == MOEG_TWO_SWITCH ? switch_forms : soft_forms;
    const double *mu, *S, *row[OUTPUTS];
    const size_t d = moeg_law_dim(law);
    moeg_pair at[OUTPUTS];
    moeg_law_gaussian_parts(law, &mu, &S);
    for (size_t o = 0; o < OUTPUTS; o++) {
        const double *A = t->affine + outputs[o] * m * (d + 1);
        const moeg_row form = {.d = d, .plus = A + j * d, .plus_constant = A[m * d + j]};
        row[o] = form.plus;
        at[o] = moeg_row_at(&form, mu);
    }
    for (int f = 0; f < FORMS; f++) {
        moeg_pair mean = {0, 0};
        for (size_t o = 0; o < OUTPUTS; o++)
            mean = moeg_pair_add(mean, (moeg_pair){forms[f][o] * at[o].high, forms[f][o] * at[o].low});
        for (size_t i = 0; i < d; i++) {
            t->row[f][i] = 0;
            for (size_t o = 0; o < OUTPUTS; o++)
                t->row[f][i] += (real)forms[f][o] * row[o][i];
        }
        means->mean[f] = moeg_pair_value(mean);
        means->slope[f] = dot(d, t->row[f], t->direction);
        means->interface[f] = means->mean[f] - means->slope[f] * r->logit.z;
        means->along[f] = dot(d, t->row[f], t->along);
        for (size_t i = 0; i < d; i++)
            t->projected[f][i] = t->row[f][i] - means->slope[f] * t->s[i];
        multiply(d, S, t->projected[f], t->image[f]);
    }
}

/* E[a.b | x] of one output, and its rise along y. */
static void add_product(size_t d, const struct scratch *t, const struct means *means, int a, int b, real *sum)
{
    const real trace = dot(d, t->projected[a], t->image[b]);
    sum[AT_0] += means->interface[a] * means->interface[b] + trace;
    sum[SLOPE_0] += means->interface[a] * means->slope[b] + means->slope[a] * means->interface[b];
    sum[AT_MEAN] += means->mean[a] * means->mean[b] + trace;
    sum[SLOPE_MEAN] += means->mean[a] * means->slope[b] + means->slope[a] * means->mean[b];
    sum[SQUARE] += means->slope[a] * means->slope[b];
    sum[ALONG_0] += means->interface[a] * means->along[b] + means->along[a] * means->interface[b];
    sum[ALONG_MEAN] += means->mean[a] * means->along[b] + means->along[a] * means->mean[b];
    sum[ALONG_SLOPE] += means->slope[a] * means->along[b] + means->along[a] * means->slope[b];
    sum[ALONG_SQUARE] += means->along[a] * means->along[b];
}

/* All products with piece p of m. */
static void add_piece(const moeg_binary_risk *r, const moeg_law *law, size_t m, size_t p, const struct scratch *t,
                      sums *sum)
{
    const size_t d = moeg_law_dim(law), outputs[OUTPUTS] = {OUTPUT_NEAR, OUTPUT_FAR, TARGET + p, TARGET + 1 - p};
    for (size_t j = 0; j < m; j++) {
        struct means means;
        form_output(r, law, m, j, outputs, t, &means);
        for (int q = 0; q < PRODUCTS; q++)
            for (int side = 0; side < 2; side++)
                add_product(d, t, &means, pairs[q][side][0], pairs[q][side][1], sum->product[p][q][side]);
        if (p == r->teacher.near)
            add_product(d, t, &means, D_NEAR, JUMP, sum->jump);
    }
}

static moeg_quadratic round_quadratic(const real *sum)
{
    return (moeg_quadratic){
        .interface = {(double)sum[AT_0], (double)sum[SLOPE_0]},
        .mean = {(double)sum[AT_MEAN], (double)sum[SLOPE_MEAN]},
        .curvature = (double)sum[SQUARE],
    };
}

static moeg_binary_along round_along(const real *first, const real *second)
{
    return (moeg_binary_along){
        .interface = (double)(first[ALONG_0] - second[ALONG_0]),
        .mean = (double)(first[ALONG_MEAN] - second[ALONG_MEAN]),
        .slope = (double)(first[ALONG_SLOPE] - second[ALONG_SLOPE]),
        .square = (double)(first[ALONG_SQUARE] - second[ALONG_SQUARE]),
    };
}

/* near(x) + far(-x). */
static void round_fold(const real *near, const real *far, double *fold)
{
    fold[0] = (double)(near[AT_0] + far[AT_0]);
    fold[1] = (double)(near[SLOPE_0] - far[SLOPE_0]);
    fold[2] = (double)(near[SQUARE] + far[SQUARE]);
}

static void round_product(const moeg_binary_teacher *teacher, const sums *s, int q, moeg_binary_product *result)
{
    const int whole = teacher->lay == MOEG_LAY_WHOLE || teacher->lay == MOEG_LAY_COINCIDENT;
    *result = (moeg_binary_product){0};
    for (size_t p = 0; p < (whole ? 1 : 2); p++) {
        const real *near = s->product[whole ? teacher->near : p][q][0],
                   *far = s->product[whole ? teacher->far : p][q][1];
        result->near.piece[p] = round_quadratic(near);
        result->far.piece[p] = round_quadratic(far);
        round_fold(near, far, result->fold[p]);
    }
    if (teacher->lay != MOEG_LAY_OBLIQUE)
        return;
    const real(*first)[SUMS] = s->product[0][q], (*second)[SUMS] = s->product[1][q];
    result->near.along = round_along(first[0], second[0]);
    result->far.along = round_along(first[1], second[1]);
    result->fold_along[0] =
        (double)((first[0][ALONG_0] - second[0][ALONG_0]) + (first[1][ALONG_0] - second[1][ALONG_0]));
    result->fold_along[1] =
        (double)((first[0][ALONG_SLOPE] - second[0][ALONG_SLOPE]) - (first[1][ALONG_SLOPE] - second[1][ALONG_SLOPE]));
    result->fold_along[2] = (double)((first[0][ALONG_SQUARE] - second[0][ALONG_SQUARE]) +
                                     (first[1][ALONG_SQUARE] - second[1][ALONG_SQUARE]));
}

/* d.c of gates that sum to 1, with one piece of m in each cell: far(-x) = -near(-x) - P(-x), P = d_near.(m_near -
 * m_far) the jump, so that what is left of the sum is formed from differences alone. */
static void fold_jump(const sums *s, const moeg_binary_teacher *teacher, double *fold)
{
    const real *near = s->product[teacher->near][CENTRE][0], *P = s->jump;
    fold[0] = -(double)P[AT_0];
    fold[1] = (double)(2 * near[SLOPE_0] + P[SLOPE_0]);
    fold[2] = -(double)P[SQUARE];
}

/* Whether every output of `plus` less `minus` is a multiple of s, in exact arithmetic: 0 where s is. */
static int vanishes_with(const moeg_row *s, size_t m, const double *plus, const double *minus)
{
    const size_t d = s->d;
    size_t pivot;
    for (size_t j = 0; j < m; j++) {
        const moeg_row row = {.d = d,
                              .plus = plus + j * d,
                              .minus = minus + j * d,
                              .plus_constant = plus[m * d + j],
                              .minus_constant = minus[m * d + j]};
        if (!moeg_row_is_multiple(s, &row, 1, &pivot))
            return 0;
    }
    return 1;
}

/* What is exactly 0 at the interface: d.(m_near - m_far) where m or both experts are continuous across it, and then
 * |d|^2 of gates that sum to 1. */
static void settle_zeros(const moeg_row *s, size_t m, const double *affine, moeg_binary_risk *r)
{
    const size_t size = m * (s->d + 1);
    const int experts_meet = vanishes_with(s, m, affine + OUTPUT_NEAR * size, affine + OUTPUT_FAR * size);
    if (experts_meet ||
        (r->teacher.lay == MOEG_LAY_COINCIDENT && vanishes_with(s, m, affine + TARGET * size, affine + OTHER * size)))
        r->centre.fold[0][0] = 0;
    if (!experts_meet)
        return;
    moeg_binary_side *sides[] = {&r->contrast.near, &r->contrast.far};
    for (int i = 0; i < 2; i++)
        sides[i]->piece[0].interface[0] = sides[i]->piece[0].interface[1] = 0;
    memset(r->contrast.fold[0], 0, 2 * sizeof(double));
}

/* Whether every sum is finite once it is rounded. */
static int is_finite(const sums *s)
{
    int finite = 1;
    for (size_t p = 0; p < 2; p++)
        for (int q = 0; q < PRODUCTS; q++)
            for (int side = 0; side < 2; side++)
                for (int i = 0; i < SUMS; i++)
                    finite = finite && isfinite((double)s->product[p][q][side][i]);
    return finite;
}

/* Carves the arrays out of one allocation. */
static moeg_status make_scratch(const char *function, size_t d, size_t m, struct scratch *t)
{
    size_t coefficients;
    if (moeg_multiply_overflows(m, OUTPUTS * (d + 1), &coefficients))
        return moeg_fail_memory(function);
    t->affine = moeg_alloc(coefficients, sizeof *t->affine);
    t->s = moeg_alloc(d, (3 + 3 * FORMS) * sizeof *t->s);
    if (t->affine == NULL || t->s == NULL)
        return moeg_fail_memory(function);
    t->direction = t->s + d;
    t->along = t->s + 2 * d;
    for (size_t f = 0; f < FORMS; f++) {
        t->row[f] = t->s + (3 + f) * d;
        t->projected[f] = t->s + (3 + FORMS + f) * d;
        t->image[f] = t->s + (3 + 2 * FORMS + f) * d;
    }
    return MOEG_OK;
}

/* A masked expert is left out, whatever it gives: the near one stands in for it. */
static moeg_status read_outputs(const moeg_moe *moe, const moeg_binary_risk *r, double *affine)
{
    const size_t d = moeg_moe_dim(moe), m = moeg_moe_outputs(moe);
    const moeg_expert *experts[OUTPUTS] = {
        [OUTPUT_NEAR] = moeg_moe_expert(moe, r->logit.near),
        [OUTPUT_FAR] = moeg_moe_expert(moe, r->logit.masked ? r->logit.near : 1 - r->logit.near),
        [TARGET] = r->teacher.piece[0],
        [OTHER] = r->teacher.piece[1],
    };
    moeg_status status = MOEG_OK;
    for (size_t o = 0; o < OUTPUTS && status == MOEG_OK; o++) {
        double *A = affine + o * m * (d + 1);
        status = moeg_expert_affine_form(experts[o], A, A + m * d);
    }
    return status;
}

/* Whether some product is not 0, and none is so large that rounding the sums to double leaves it all its digits. */
static int has_underflowed(const sums *s)
{
    real largest = 0;
    for (size_t p = 0; p < 2; p++)
        for (int q = 0; q < PRODUCTS; q++)
            for (int side = 0; side < 2; side++)
                for (int i = 0; i < SUMS; i++)
                    largest = fmaxl(largest, fabsl(s->product[p][q][side][i]));
    return largest > 0 && largest < DBL_MIN / DBL_EPSILON;
}

static void round_risk(const sums *s, moeg_binary_risk *r)
{
    moeg_binary_product *results[PRODUCTS] = {&r->contrast, &r->direct, &r->centre, &r->residual, &r->middle};
    for (int q = 0; q < PRODUCTS; q++)
        round_product(&r->teacher, s, q, results[q]);
    if (r->gates != MOEG_TWO_SWITCH && r->teacher.lay == MOEG_LAY_COINCIDENT)
        fold_jump(s, &r->teacher, r->centre.fold[0]);
}

moeg_status moeg_binary_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_binary_risk *risk)
{
    const size_t d = moeg_moe_dim(moe), m = moeg_moe_outputs(moe);
    const moeg_router *router = moeg_moe_router(moe);
    struct scratch t = {0};
    sums s = {0};
    moeg_binary_risk r = {.gates = moeg_two_gates_of(moeg_moe_gate(moe)), .noise = moeg_teacher_noise(teacher)};
    moeg_status status = moeg_binary_logit_init(function, router, law, &r.logit);
    if (status == MOEG_OK && moeg_binary_teacher_read(teacher, &r.teacher) != NULL)
        status = MOEG_EUNSUPPORTED; /* moeg_binary_risk_refusal() was asked before. */
    if (status == MOEG_OK)
        status = moeg_binary_teacher_place(function, &r.logit, router, law, &r.teacher);
    if (status == MOEG_OK)
        status = make_scratch(function, d, m, &t);
    if (status == MOEG_OK)
        status = read_outputs(moe, &r, t.affine);
    if (status != MOEG_OK)
        goto cleanup;
    place_interfaces(&r, router, law, &t);
    for (size_t p = 0; p < 2; p++)
        if (r.teacher.lay != MOEG_LAY_WHOLE || p == r.teacher.near)
            add_piece(&r, law, m, p, &t, &s);
    if (!is_finite(&s)) {
        status = moeg_fail(MOEG_ERANGE, "%s: a product of expert outputs overflows", function);
        goto cleanup;
    }
    round_risk(&s, &r);
    r.underflows = has_underflowed(&s) && r.noise == 0;
    if (r.gates != MOEG_TWO_SWITCH && !r.logit.constant) {
        const moeg_row row = moeg_binary_row(&r.logit, router);
        settle_zeros(&row, m, t.affine, &r);
    }
    *risk = r;
cleanup:
    moeg_release(t.affine);
    moeg_release(t.s);
    return status;
}
