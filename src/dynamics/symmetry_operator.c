#include "dynamics/symmetry_frame.h"

#include <float.h>
#include <math.h>

/* M of one output: its column of the feature 1 is k mean + l, its columns of the features x are
 *
 *   R covariance + S mean mean' + mean l' + l mean' + ss f1 f1' + st (f1 f2' + f2 f1') + tt f2 f2',  l = s f1 + t f2.
 */
typedef struct form {
    double k, R, S, s, t, ss, st, tt;
} form;

/* With the residual of the best of the class in the place of Y. Without an intercept, E[X r] = 0 makes r = Y - c (mean
 * part) of E r = (E Y - on.E[Y (s, t)])/(1 + squares) = R and E[(X - mean) r] = -R mean. */
static form form_of(const moeg_symmetry_frame *f, moeg_symmetric symmetric, const moeg_symmetry_frame_moments *q)
{
    form a = {.ss = q->ss, .st = q->st, .tt = q->tt};
    switch (symmetric) {
    case MOEG_SYMMETRIC_ZERO:
        a.k = a.R = a.S = q->one;
        a.s = q->s;
        a.t = q->t;
        break;
    case MOEG_SYMMETRIC_CONSTANT:
        a.s = q->s;
        a.t = q->t;
        break;
    case MOEG_SYMMETRIC_LINEAR:
        a.R = (q->one - f->on[0] * q->s - f->on[1] * q->t) / (1 + f->squares);
        a.S = -a.R;
        break;
    case MOEG_SYMMETRIC_AFFINE:
        break;
    }
    return a;
}

/* The same of sizes, where nothing cancels; `on` sizes too. */
static form size_form_of(const moeg_symmetry_frame *f, const double *on, moeg_symmetric symmetric,
                         const moeg_symmetry_frame_moments *q)
{
    form a = form_of(f, symmetric, q);
    if (symmetric == MOEG_SYMMETRIC_LINEAR)
        a.S = a.R = (q->one + fabs(on[0]) * q->s + fabs(on[1]) * q->t) / (1 + f->squares);
    return a;
}

static double sum_of(size_t n, const double *terms, int sizes)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += sizes ? fabs(terms[i]) : terms[i];
    return sum;
}

/* f1 and f2, or the sizes that their roundings are relative to. */
typedef struct axes {
    const double *f1, *f2;
} axes;

/* M_ij, j counting the features: (1), x or (1, x), of axes for i and for j; or the sum of the sizes of its terms. */
static double entry(const moeg_symmetry_frame *f, axes to, axes from, const form *a, const moeg_contrast *contrast,
                    size_t i, size_t j, int sizes)
{
    const double li[] = {a->s * to.f1[i], a->t * to.f2[i]};
    if (contrast->kind != MOEG_CONTRAST_LINEAR) {
        if (j == 0) {
            const double terms[] = {a->k * f->mean[i], li[0], li[1]};
            return sum_of(3, terms, sizes);
        }
        j--;
    }
    const double lj[] = {a->s * from.f1[j], a->t * from.f2[j]};
    const double covariance = f->covariance != NULL ? f->covariance[i * f->d + j] : i == j;
    const double terms[] = {a->R * covariance,
                            a->S * f->mean[i] * f->mean[j],
                            f->mean[i] * lj[0],
                            f->mean[i] * lj[1],
                            f->mean[j] * li[0],
                            f->mean[j] * li[1],
                            a->ss * to.f1[i] * from.f1[j],
                            a->st * to.f1[i] * from.f2[j],
                            a->st * to.f2[i] * from.f1[j],
                            a->tt * to.f2[i] * from.f2[j]};
    return sum_of(sizeof terms / sizeof *terms, terms, sizes);
}

void moeg_symmetry_frame_operator(const moeg_symmetry_frame *f, moeg_symmetric symmetric, const moeg_contrast *contrast,
                                  const moeg_symmetry_frame_moments *moments, size_t stride, double *block)
{
    const form a = form_of(f, symmetric, moments);
    const axes exact = {f->f1, f->f2};
    const size_t p = moeg_contrast_features(contrast, f->d);
    for (size_t i = 0; i < f->d; i++)
        for (size_t j = 0; j < p; j++)
            block[i * stride + j] = entry(f, exact, exact, &a, contrast, i, j, 0);
}

/* What roundings of the spreads make of moments of functions that change over them. Squares: what roundings of L make
 * of v' L L' v. */
static double rounding(const moeg_symmetry_frame *f)
{
    return (double)(f->d + 32) * DBL_EPSILON *
           (1 + f->v_size * f->v_size + f->on_size[0] + f->w_size * f->w_size + f->shift_size);
}

static moeg_symmetry_frame_moments sizes_of(const moeg_symmetry_frame_moments *q)
{
    return (moeg_symmetry_frame_moments){
        .one = fabs(q->one), .s = fabs(q->s), .t = fabs(q->t), .ss = fabs(q->ss), .st = fabs(q->st), .tt = fabs(q->tt)};
}

/* errors + factor sizes. */
static moeg_symmetry_frame_moments with_rounding(const moeg_symmetry_frame_moments *errors, double factor,
                                                 const moeg_symmetry_frame_moments *sizes)
{
    return (moeg_symmetry_frame_moments){.one = errors->one + factor * sizes->one,
                                         .s = errors->s + factor * sizes->s,
                                         .t = errors->t + factor * sizes->t,
                                         .ss = errors->ss + factor * sizes->ss,
                                         .st = errors->st + factor * sizes->st,
                                         .tt = errors->tt + factor * sizes->tt};
}

/* Errors of the moments, and of what multiplies them: f1, f2, on, and squares. */
double moeg_symmetry_frame_error(const moeg_symmetry_frame *f, moeg_symmetric symmetric, const moeg_contrast *contrast,
                                 const moeg_symmetry_frame_moments *moments, const moeg_symmetry_frame_moments *errors,
                                 const moeg_symmetry_frame_moments *sizes, size_t stride, double *block)
{
    const moeg_symmetry_frame_moments off = with_rounding(errors, rounding(f), sizes), plain = sizes_of(moments);
    const form of_errors = size_form_of(f, f->on, symmetric, &off), of_sizes = size_form_of(f, f->on, symmetric, sizes);
    form frame = size_form_of(f, f->on_size, symmetric, &plain);
    frame.R *= 1 + 2 * f->squares_size / (1 + f->squares);
    frame.S *= 1 + 2 * f->squares_size / (1 + f->squares);
    const size_t p = moeg_contrast_features(contrast, f->d);
    const axes exact = {f->f1, f->f2}, rounded = {f->f1_size, f->f2_size};
    const double relative = (double)(f->d + 8) * DBL_EPSILON;
    double scale = 0;
    for (size_t i = 0; i < f->d; i++)
        for (size_t j = 0; j < p; j++) {
            block[i * stride + j] = entry(f, exact, exact, &of_errors, contrast, i, j, 1) +
                                    relative * (entry(f, rounded, exact, &frame, contrast, i, j, 1) +
                                                entry(f, exact, rounded, &frame, contrast, i, j, 1));
            scale = fmax(scale, entry(f, exact, exact, &of_sizes, contrast, i, j, 1));
        }
    return scale;
}
