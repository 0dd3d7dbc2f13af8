/* G = c tau^p by generalised least squares in logarithms.
 *
 * y_i = log |G_i| + S_ii/2 is log |E G_i| to second order, with the covariance S_ij + S_ij^2/2 of normal G. With
 * weights M^{-1}, M the covariance and a floor where that is too small, the fit is a linear map of y: p = sum a_i y_i,
 * log c = sum b_i y_i; and whatever M is, these have the variances a'Ca and b'Cb.
 *
 * S_ij = V_ij/(h_i h_j) with h_i^2 = |G_i| F_i, F the power law of the pass before (of the first: G). Few rows make a
 * small gap, and its variance goes with it: V_ii/G_i^2 is too large where G_i came out too small, and V_ii/F_i^2 too
 * small. The weights would follow the errors of the gaps, and bias the order at second order; V_ii/(G_i F_i) does not.
 */
#include <moegeom/order.h>

#include "base/error.h"
#include "base/memory.h"
#include "limit/order.h"
#include "limit/order_squares.h"

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

typedef moeg_order_real real;

typedef struct fit {
    size_t *index; /* (n) the gaps used */
    moeg_order_squares squares;
} fit;

static void fit_free(fit *f)
{
    moeg_release(f->index);
    moeg_release(f->squares.covariance);
}

static moeg_status fit_alloc(const char *function, size_t ntau, fit *f)
{
    const size_t reals = moeg_order_squares_size(ntau);
    *f = (fit){0};
    if (reals == 0)
        return moeg_fail_memory(function);
    f->index = moeg_alloc(ntau, sizeof *f->index);
    real *base = moeg_alloc(reals, sizeof *base);
    if (f->index == NULL || base == NULL) {
        moeg_release(f->index);
        moeg_release(base);
        return moeg_fail_memory(function);
    }
    moeg_order_squares_place(&f->squares, ntau, base);
    return MOEG_OK;
}

/* The gaps to use: those that tell, of the sign of the one at the lowest temperature. */
static moeg_status select_gaps(const char *function, const moeg_order_gaps *g, fit *f)
{
    size_t lowest = g->ntau, n = 0;
    int spread = 0;
    for (size_t i = 0; i < g->ntau; i++)
        if (moeg_order_tells(g, i, clear) && (lowest == g->ntau || g->tau[i] < g->tau[lowest]))
            lowest = i;
    for (size_t i = 0; i < g->ntau; i++)
        if (moeg_order_tells(g, i, clear) && (g->gap[i].value > 0) == (g->gap[lowest].value > 0)) {
            spread = spread || g->tau[i] != g->tau[lowest];
            f->index[n++] = i;
        }
    f->squares.n = n;
    if (n < 2)
        return moeg_fail(MOEG_EDOM, "%s: %zu of %zu gaps are told from 0, with one sign; an order takes 2", function, n,
                         g->ntau);
    if (!spread)
        return moeg_fail(MOEG_EDOM, "%s: the %zu gaps that are told from 0 are all at tau = %g", function, n,
                         g->tau[lowest]);
    return MOEG_OK;
}

/* log h_i - log |G_i|. */
static real half_change(const moeg_order_gaps *g, const fit *f, int pass, size_t i)
{
    if (pass == 0)
        return 0;
    const real fitted = f->squares.log_constant + f->squares.order * logl((real)g->tau[f->index[i]]);
    const real change = fitted - logl(fabsl((real)g->gap[f->index[i]].value));
    return fmaxl(-most_change, fminl(change, most_change)) / 2;
}

static void set_up(const moeg_order_gaps *g, fit *f, int pass, double least)
{
    moeg_order_squares *s = &f->squares;
    const real share = least;
    for (size_t i = 0; i < s->n; i++)
        s->a[i] = expl(-half_change(g, f, pass, i));
    for (size_t i = 0; i < s->n; i++) {
        const moeg_estimate *gap = &g->gap[f->index[i]];
        const real own = fmax(moeg_order_quad_error(gap), least_error);
        real v = 0;
        for (size_t j = 0; j <= i; j++) {
            v = s->a[i] * s->a[j] * (real)moeg_order_covariance(g, f->index[i], f->index[j]);
            s->covariance[i * s->n + j] = v + v * v / 2;
        }
        s->y[i] = logl(fabsl((real)gap->value)) + v / 2;
        s->x[i] = logl((real)g->tau[f->index[i]]);
        s->floor[i] = fmaxl(own * own, share * share * s->covariance[i * s->n + i]);
    }
}

/* A pass: weights from the law before, then the next one. */
static moeg_status improve(const char *function, const moeg_order_gaps *g, int pass, double share, fit *f)
{
    set_up(g, f, pass, share);
    const size_t definite = moeg_order_squares_solve(&f->squares);
    if (definite < f->squares.n)
        return moeg_fail(MOEG_EINVAL, "%s: covariance must be positive semidefinite, but its first %zu rows are not",
                         function, f->index[definite] + 1);
    return MOEG_OK;
}

/* What quadrature may have done to sum w_i y_i. */
static double quad_error_of(const moeg_order_gaps *g, const fit *f, const real *w)
{
    double sum = 0;
    for (size_t i = 0; i < f->squares.n; i++)
        sum += (double)fabsl(w[i]) * moeg_order_quad_error(&g->gap[f->index[i]]);
    return sum;
}

/* What results have of the gaps they are made of. */
static moeg_estimate describe(const moeg_order_gaps *g, const fit *f, double level)
{
    moeg_estimate e = {.level = level, .n = UINT64_MAX, .contributing = UINT64_MAX, .method = MOEG_METHOD_LINE};
    for (size_t i = 0; i < f->squares.n; i++) {
        const moeg_estimate *gap = &g->gap[f->index[i]];
        e.n = gap->n < e.n ? gap->n : e.n;
        e.contributing = gap->contributing < e.contributing ? gap->contributing : e.contributing;
        e.method = gap->method == MOEG_METHOD_LINE ? e.method : MOEG_METHOD_MC;
    }
    return e;
}

static moeg_status read_law(const char *function, const moeg_order_gaps *g, const fit *f, double level,
                            moeg_power_law *law)
{
    const moeg_order_squares *s = &f->squares;
    const int negative = g->gap[f->index[0]].value < 0;
    const double c = (double)expl(s->log_constant);
    moeg_estimate p = describe(g, f, level), constant = p;
    if (!isnormal(c))
        return moeg_fail(MOEG_ERANGE, "%s: the constant, exp(%Lg), is not in the range of a double", function,
                         s->log_constant);
    const double t = moeg_order_reach(p.n, level);
    p.value = (double)s->order;
    p.std_error = (double)sqrtl(moeg_order_squares_variance(s, s->a));
    p.quad_error = quad_error_of(g, f, s->a);
    p.lo = p.value - t * p.std_error - p.quad_error;
    p.hi = p.value + t * p.std_error + p.quad_error;
    const double error = (double)sqrtl(moeg_order_squares_variance(s, s->b)), quad_error = quad_error_of(g, f, s->b);
    const double reach = t * error + quad_error;
    const double below = (double)expl(s->log_constant - reach), above = (double)expl(s->log_constant + reach);
    constant.value = negative ? -c : c;
    constant.std_error = c * error;
    constant.quad_error = c * expm1(quad_error);
    constant.lo = negative ? -above : below;
    constant.hi = negative ? -below : above;
    *law = (moeg_power_law){.order = p, .constant = constant, .used = s->n};
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
        law.chi_square = (double)f.squares.left;
        *out = law;
    }
    fit_free(&f);
    return status;
}
