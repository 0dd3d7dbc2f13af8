/* G = c tau^p by generalised least squares in logarithms.
 *
 * y_i = log |G_i| + S_ii/2 is log |E G_i| to second order, with the covariance S_ij + S_ij^2/2 of normal G. With
 * weights M^{-1}, M = L L' the covariance or, where that is too small, a floor, the fit is a linear map of y:
 * p = sum a_i y_i, log c = sum b_i y_i; and whatever M is, these have the variances a'Ca and b'Cb.
 *
 * S_ij = V_ij/(h_i h_j) with h_i^2 = |G_i| F_i, F the power law of the pass before (of the first: G). Few rows make a
 * small gap, and its variance goes with it: V_ii/G_i^2 is too large where G_i came out too small, and V_ii/F_i^2 too
 * small. The weights would follow the errors of the gaps, and bias the order at second order; V_ii/(G_i F_i) does not.
 */
#include <moegeom/order.h>

#include "base/error.h"
#include "base/memory.h"
#include "limit/order.h"

#include <inttypes.h>
#include <math.h>

/* A gap this many standard errors from 0 has a logarithm that is near to normal. */
static const double clear = 4;

/* No gaps are a power law to more digits than this: floor of the errors of log G. */
static const double least_error = 1e-12;

/* Floors in units of the gaps' own errors. The errors of gaps at near temperatures are nearly equal, and what is known
 * best of them are their differences of high order. Weights C^{-1} would make all of these: sums of a thousand times
 * the gaps, for an error bar smaller by a third, and with it a thousand times what the gaps differ from a power law by.
 * With the first floor sum |a_i| is a few. The second is there for singular C alone: what is left by weights C^{-1} is
 * the sharpest test of the power law. */
static const double least_share = 0.1, test_share = 1e-5;

/* Passes: the first leaves an F with errors of second order, and each next one of one order more. */
enum { PASSES = 4 };

/* Largest |log F - log G| that is believed. */
static const double most_change = 0.7;

typedef long double real;

typedef struct fit {
    size_t n;          /* gaps used */
    size_t *index;     /* (n) */
    real *covariance;  /* (n x n) C, lower triangle */
    real *factor;      /* (n x n) L */
    real *y, *one, *x; /* (n) y, 1 and log tau, then L^{-1} of them */
    real *a, *b;       /* (n) */
    real order, log_constant, left;
} fit;

static void fit_free(fit *f)
{
    moeg_release(f->index);
    moeg_release(f->covariance);
}

static moeg_status fit_alloc(const char *function, size_t ntau, fit *f)
{
    size_t square, reals;
    *f = (fit){0};
    if (ntau > SIZE_MAX / 64 || moeg_multiply_overflows(ntau, 2 * ntau + 5, &reals))
        return moeg_fail_memory(function);
    square = ntau * ntau;
    f->index = moeg_alloc(ntau, sizeof *f->index);
    f->covariance = moeg_alloc(reals, sizeof *f->covariance);
    if (f->index == NULL || f->covariance == NULL) {
        fit_free(f);
        return moeg_fail_memory(function);
    }
    f->factor = f->covariance + square;
    f->y = f->factor + square;
    f->one = f->y + ntau;
    f->x = f->one + ntau;
    f->a = f->x + ntau;
    f->b = f->a + ntau;
    return MOEG_OK;
}

/* The gaps to use: those that tell, of the sign of the one at the lowest temperature. */
static moeg_status select_gaps(const char *function, const moeg_order_gaps *g, fit *f)
{
    size_t lowest = g->ntau;
    int spread = 0;
    for (size_t i = 0; i < g->ntau; i++)
        if (moeg_order_tells(g, i, clear) && (lowest == g->ntau || g->tau[i] < g->tau[lowest]))
            lowest = i;
    for (size_t i = 0; i < g->ntau; i++)
        if (moeg_order_tells(g, i, clear) && (g->gap[i].value > 0) == (g->gap[lowest].value > 0)) {
            spread = spread || g->tau[i] != g->tau[lowest];
            f->index[f->n++] = i;
        }
    if (f->n < 2)
        return moeg_fail(MOEG_EDOM, "%s: %zu of %zu gaps are told from 0, with one sign; an order takes 2", function,
                         f->n, g->ntau);
    if (!spread)
        return moeg_fail(MOEG_EDOM, "%s: the %zu gaps that are told from 0 are all at tau = %g", function, f->n,
                         g->tau[lowest]);
    return MOEG_OK;
}

/* log h_i - log |G_i|. */
static real half_change(const moeg_order_gaps *g, const fit *f, int pass, size_t i)
{
    if (pass == 0)
        return 0;
    const real fitted = f->log_constant + f->order * logl((real)g->tau[f->index[i]]);
    const real change = fitted - logl(fabsl((real)g->gap[f->index[i]].value));
    return fmaxl(-most_change, fminl(change, most_change)) / 2;
}

static void set_up(const moeg_order_gaps *g, fit *f, int pass)
{
    const size_t n = f->n;
    for (size_t i = 0; i < n; i++)
        f->a[i] = expl(-half_change(g, f, pass, i));
    for (size_t i = 0; i < n; i++) {
        const size_t at = f->index[i];
        for (size_t j = 0; j <= i; j++) {
            const real s = f->a[i] * f->a[j] * (real)moeg_order_covariance(g, at, f->index[j]);
            f->covariance[i * n + j] = s + s * s / 2;
            if (i == j)
                f->y[i] = logl(fabsl((real)g->gap[at].value)) + s / 2;
        }
        f->x[i] = logl((real)g->tau[at]);
        f->one[i] = 1;
    }
}

/* v <- L^{-1} v. */
static void solve_lower(const fit *f, real *v)
{
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < i; j++)
            v[i] -= f->factor[i * f->n + j] * v[j];
        v[i] /= f->factor[i * f->n + i];
    }
}

/* v <- L'^{-1} v. */
static void solve_upper(const fit *f, real *v)
{
    for (size_t i = f->n; i-- > 0;) {
        v[i] /= f->factor[i * f->n + i];
        for (size_t j = 0; j < i; j++)
            v[j] -= f->factor[i * f->n + j] * v[i];
    }
}

/* Cholesky of C with the floor on its diagonal. */
static moeg_status factorise(const char *function, const moeg_order_gaps *g, double least, fit *f)
{
    const size_t n = f->n;
    for (size_t i = 0; i < n; i++) {
        const real own = f->covariance[i * n + i], share = least;
        const real floor = fmax(moeg_order_quad_error(&g->gap[f->index[i]]), least_error);
        for (size_t j = 0; j <= i; j++) {
            real sum = f->covariance[i * n + j];
            if (i == j)
                sum += fmaxl(floor * floor, share * share * own);
            for (size_t k = 0; k < j; k++)
                sum -= f->factor[i * n + k] * f->factor[j * n + k];
            if (i == j && !(sum > 0))
                return moeg_fail(MOEG_EINVAL,
                                 "%s: covariance must be positive semidefinite, but its first %zu rows are not",
                                 function, f->index[i] + 1);
            f->factor[i * n + j] = i == j ? sqrtl(sum) : sum / f->factor[j * n + j];
        }
    }
    return MOEG_OK;
}

static real dot(size_t n, const real *u, const real *v)
{
    real sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += u[i] * v[i];
    return sum;
}

/* The maps a and b, and p, log c and what is left, from the whitened columns: x' = x - m 1 with m = x.1/1.1 is
 * orthogonal to 1, p = x'.y/x'.x', and log c = y.1/1.1 - m p. */
static void solve(fit *f)
{
    const size_t n = f->n;
    solve_lower(f, f->y);
    solve_lower(f, f->one);
    solve_lower(f, f->x);
    const real ones = dot(n, f->one, f->one), mean = dot(n, f->x, f->one) / ones;
    for (size_t i = 0; i < n; i++)
        f->a[i] = f->x[i] - mean * f->one[i];
    const real spread = dot(n, f->a, f->a);
    for (size_t i = 0; i < n; i++) {
        f->a[i] /= spread;
        f->b[i] = f->one[i] / ones - mean * f->a[i];
    }
    f->order = dot(n, f->a, f->y);
    f->log_constant = dot(n, f->b, f->y);
    f->left = 0;
    for (size_t i = 0; i < n; i++) {
        const real r = f->y[i] - f->log_constant * f->one[i] - f->order * f->x[i];
        f->left += r * r;
    }
    solve_upper(f, f->a);
    solve_upper(f, f->b);
}

/* sqrt(w'C w), and sum |w_i| quad_error_i. */
static double error_of(const moeg_order_gaps *g, const fit *f, const real *w, double *quad_error)
{
    real sum = 0;
    *quad_error = 0;
    for (size_t i = 0; i < f->n; i++) {
        real row = f->covariance[i * f->n + i] * w[i];
        for (size_t j = 0; j < i; j++)
            row += 2 * f->covariance[i * f->n + j] * w[j];
        sum += row * w[i];
        *quad_error += (double)fabsl(w[i]) * moeg_order_quad_error(&g->gap[f->index[i]]);
    }
    return sum > 0 ? (double)sqrtl(sum) : 0;
}

/* What results have of the gaps they are made of. */
static moeg_estimate describe(const moeg_order_gaps *g, const fit *f, double level)
{
    moeg_estimate e = {.level = level, .n = UINT64_MAX, .contributing = UINT64_MAX, .method = MOEG_METHOD_LINE};
    for (size_t i = 0; i < f->n; i++) {
        const moeg_estimate *gap = &g->gap[f->index[i]];
        e.n = gap->n < e.n ? gap->n : e.n;
        e.contributing = gap->contributing < e.contributing ? gap->contributing : e.contributing;
        e.method = gap->method == MOEG_METHOD_LINE ? e.method : MOEG_METHOD_MC;
    }
    return e;
}

/* A pass: weights from the law before, then the next one. */
static moeg_status improve(const char *function, const moeg_order_gaps *g, int pass, double share, fit *f)
{
    set_up(g, f, pass);
    const moeg_status status = factorise(function, g, share, f);
    if (status == MOEG_OK)
        solve(f);
    return status;
}

static moeg_status read_law(const char *function, const moeg_order_gaps *g, const fit *f, double level,
                            moeg_power_law *law)
{
    const real log_constant = f->log_constant;
    const int negative = g->gap[f->index[0]].value < 0;
    const double c = (double)expl(log_constant);
    moeg_estimate p = describe(g, f, level), constant = p;
    if (!isnormal(c))
        return moeg_fail(MOEG_ERANGE, "%s: the constant, exp(%Lg), is not in the range of a double", function,
                         log_constant);
    const double t = moeg_order_reach(p.n, level);
    p.value = (double)f->order;
    p.std_error = error_of(g, f, f->a, &p.quad_error);
    p.lo = p.value - t * p.std_error - p.quad_error;
    p.hi = p.value + t * p.std_error + p.quad_error;
    double quad_error;
    const double error = error_of(g, f, f->b, &quad_error), reach = t * error + quad_error;
    const double below = (double)expl(log_constant - reach), above = (double)expl(log_constant + reach);
    constant.value = negative ? -c : c;
    constant.std_error = c * error;
    constant.quad_error = c * expm1(quad_error);
    constant.lo = negative ? -above : below;
    constant.hi = negative ? -below : above;
    *law = (moeg_power_law){.order = p, .constant = constant, .used = f->n};
    return MOEG_OK;
}

moeg_status moeg_order_fit(size_t ntau, const double *tau, const moeg_estimate *gap, const double *covariance,
                           double level, moeg_power_law *out)
{
    static const char function[] = "order_fit";
    const moeg_order_gaps g = {ntau, tau, gap, covariance};
    moeg_status status = moeg_order_check(function, &g, level);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "fit", out);
    if (status != MOEG_OK)
        return status;
    fit f;
    moeg_power_law law;
    if ((status = fit_alloc(function, ntau, &f)) != MOEG_OK)
        return status;
    status = select_gaps(function, &g, &f);
    for (int pass = 0; pass < PASSES && status == MOEG_OK; pass++)
        status = improve(function, &g, pass, least_share, &f);
    if (status == MOEG_OK)
        status = read_law(function, &g, &f, level, &law);
    if (status == MOEG_OK)
        status = improve(function, &g, PASSES, test_share, &f);
    if (status == MOEG_OK) {
        law.chi_square = (double)f.left;
        *out = law;
    }
    fit_free(&f);
    return status;
}
