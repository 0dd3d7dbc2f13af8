#include "dynamics/symmetry_frame.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double dot(size_t d, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += a[j] * b[j];
    return sum;
}

static double dot_size(size_t d, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += fabs(a[j] * b[j]);
    return sum;
}

static double largest(size_t d, const double *a)
{
    double top = 0;
    for (size_t j = 0; j < d; j++)
        top = fmax(top, fabs(a[j]));
    return top;
}

/* |a|, without overflow or underflow on the way. */
static double norm(size_t d, const double *a)
{
    const double top = largest(d, a);
    double sum = 0;
    if (top == 0 || !isfinite(top))
        return top;
    for (size_t j = 0; j < d; j++)
        sum += (a[j] / top) * (a[j] / top);
    return top * sqrt(sum);
}

/* out = L' a. */
static void whiten(const moeg_symmetry_frame *f, const double *a, double *out)
{
    if (f->factor == NULL) {
        memcpy(out, a, f->d * sizeof *out);
        return;
    }
    memset(out, 0, f->d * sizeof *out);
    for (size_t i = 0; i < f->d; i++)
        for (size_t j = 0; j < f->d; j++)
            out[j] += f->factor[i * f->d + j] * a[i];
}

/* out = L a. */
static void colour(const moeg_symmetry_frame *f, const double *a, double *out)
{
    for (size_t i = 0; i < f->d; i++)
        out[i] = f->factor == NULL ? a[i] : dot(f->d, f->factor + i * f->d, a);
}

/* The same of magnitudes, out = |L|' |a| and |L| |a|. */
static void whiten_size(const moeg_symmetry_frame *f, const double *a, double *out)
{
    for (size_t j = 0; j < f->d; j++) {
        out[j] = f->factor == NULL ? fabs(a[j]) : 0;
        for (size_t i = 0; f->factor != NULL && i < f->d; i++)
            out[j] += fabs(f->factor[i * f->d + j] * a[i]);
    }
}

static void colour_size(const moeg_symmetry_frame *f, const double *a, double *out)
{
    for (size_t i = 0; i < f->d; i++)
        out[i] = f->factor == NULL ? fabs(a[i]) : dot_size(f->d, f->factor + i * f->d, a);
}

/* The factor of a regular covariance is a Cholesky factor; of one that is singular, to rounding, it is none. */
static int is_regular(const moeg_symmetry_frame *f)
{
    const size_t d = f->d;
    if (f->factor == NULL)
        return 1;
    for (size_t i = 0; i < d; i++)
        for (size_t j = i + 1; j < d; j++)
            if (f->factor[i * d + j] != 0)
                return 0;
    return f->factor[d * d - 1] > 0;
}

/* h'h of L h = mean, L lower triangular. A rounding of the covariance by |L| |L|' changes it by |(|L|'|g|)|^2, L'g = h.
 */
static moeg_status set_squares(const char *function, moeg_symmetry_frame *f)
{
    const size_t d = f->d;
    double *h = f->f2, *g = f->scratch;
    if (largest(d, f->mean) == 0)
        return MOEG_OK;
    if (!is_regular(f))
        return moeg_fail(MOEG_EDOM,
                         "%s: without an intercept M has no value at a mean other than 0 and a singular covariance: it "
                         "jumps where the mean leaves the support",
                         function);
    for (size_t i = 0; i < d; i++)
        h[i] = f->factor == NULL ? f->mean[i] : (f->mean[i] - dot(i, f->factor + i * d, h)) / f->factor[i * d + i];
    for (size_t i = d; i-- > 0;) {
        g[i] = h[i];
        for (size_t k = i + 1; f->factor != NULL && k < d; k++)
            g[i] -= f->factor[k * d + i] * g[k];
        if (f->factor != NULL)
            g[i] /= f->factor[i * d + i];
    }
    f->squares = dot(d, h, h);
    whiten_size(f, g, f->e1);
    f->squares_size = dot(d, f->e1, f->e1);
    if (!isfinite(f->squares + f->squares_size))
        return moeg_fail(MOEG_ERANGE, "%s: the mean is too many standard deviations from 0", function);
    memset(f->f2, 0, d * sizeof *f->f2);
    return MOEG_OK;
}

/* The part of the frame that v makes: L'v = spread e1, f1 = L e1. */
static moeg_status set_separator(const char *function, const double *v, moeg_symmetry_frame *f)
{
    const size_t d = f->d;
    double *scaled = f->scratch;
    frexp(largest(d, v), &f->exponent);
    for (size_t j = 0; j < d; j++)
        scaled[j] = ldexp(v[j], -f->exponent);
    whiten_size(f, scaled, f->e1);
    colour_size(f, f->e1, f->f1_size);
    const double size = norm(d, f->e1), mean_size = dot_size(d, scaled, f->mean);
    whiten(f, scaled, f->e1);
    f->spread = norm(d, f->e1);
    f->centre = dot(d, scaled, f->mean);
    if (!isfinite(size + mean_size))
        return moeg_fail(MOEG_ERANGE, "%s: the moments of v.x overflow", function);
    if (f->spread <= (double)(d + 4) * DBL_EPSILON * size)
        return moeg_fail(MOEG_EDOM, "%s: v.x does not vary under the law", function);
    f->on[0] = f->centre / f->spread;
    f->on_size[0] = mean_size / f->spread;
    f->v_size = size / f->spread;
    for (size_t j = 0; j < d; j++)
        f->e1[j] /= f->spread;
    colour(f, f->e1, f->f1);
    for (size_t j = 0; j < d; j++)
        f->f1_size[j] = f->f1_size[j] / f->spread + f->v_size * f->v_size * fabs(f->f1[j]);
    return MOEG_OK;
}

moeg_status moeg_symmetry_frame_create(const char *function, const moeg_law *law, size_t d, const double *v,
                                       moeg_symmetric symmetric, moeg_symmetry_frame *frame)
{
    moeg_symmetry_frame f = {.d = d};
    if (moeg_law_dim(law) != d)
        return moeg_fail(MOEG_EINVAL, "%s: v has dimension %zu, the law %zu", function, d, moeg_law_dim(law));
    if (!moeg_law_gaussian_parts(law, &f.mean, &f.covariance))
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the law must be Gaussian", function);
    f.factor = moeg_law_gaussian_factor(law);
    double *buffer = moeg_alloc_zero(d, 6 * sizeof *buffer);
    if (buffer == NULL)
        return moeg_fail_memory(function);
    f.f1 = buffer;
    f.f2 = buffer + d;
    f.f1_size = buffer + 2 * d;
    f.f2_size = buffer + 3 * d;
    f.e1 = buffer + 4 * d;
    f.scratch = buffer + 5 * d;
    moeg_status status = symmetric == MOEG_SYMMETRIC_LINEAR ? set_squares(function, &f) : MOEG_OK;
    if (status == MOEG_OK)
        status = set_separator(function, v, &f);
    if (status == MOEG_OK)
        *frame = f;
    else
        moeg_release(buffer);
    return status;
}

void moeg_symmetry_frame_free(moeg_symmetry_frame *frame)
{
    moeg_release(frame->f1);
}

/* f2 = L e2, of `rest` = across e2; `size`: what roundings of that are relative to. */
static void set_second(moeg_symmetry_frame *f, double *rest, double size)
{
    const double across = f->across, relative = across > 0 ? size / across : 0;
    for (size_t j = 0; j < f->d; j++)
        rest[j] = across > 0 ? rest[j] / across : 0;
    colour(f, rest, f->f2);
    for (size_t j = 0; j < f->d; j++)
        f->f2_size[j] = across > 0 ? (f->f2_size[j] + fabs(f->along) * f->f1_size[j]) / across +
                                         relative * relative * fabs(f->f2[j])
                                   : 0;
}

/* L'w = along e1 + across e2. What is left of a multiple of v is rounding, and no direction. */
void moeg_symmetry_frame_set_across(moeg_symmetry_frame *f, const double *w)
{
    const size_t d = f->d;
    double *rest = f->scratch;
    whiten_size(f, w, rest);
    colour_size(f, rest, f->f2_size);
    const double size = norm(d, rest), mean_size = dot_size(d, w, f->mean);
    whiten(f, w, rest);
    f->shift = dot(d, w, f->mean);
    f->along = dot(d, rest, f->e1);
    for (size_t j = 0; j < d; j++)
        rest[j] -= f->along * f->e1[j];
    f->across = norm(d, rest);
    if (f->across <= (double)(d + 4) * DBL_EPSILON * size)
        f->across = 0;
    const double spread = hypot(f->along, f->across);
    f->w_size = spread > 0 ? size / spread : 0;
    f->shift_size = spread > 0 ? mean_size / spread : 0;
    f->on[1] = f->across > 0 ? (f->shift - f->on[0] * f->along) / f->across : 0;
    f->on_size[1] = f->across > 0 ? (mean_size + f->on_size[0] * fabs(f->along)) / f->across : 0;
    set_second(f, rest, size + fabs(f->along) * f->v_size);
}
