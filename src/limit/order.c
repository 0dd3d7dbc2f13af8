#include <moegeom/order.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/tail.h"
#include "limit/boundary_job.h"
#include "limit/check.h"
#include "limit/order.h"

#include <math.h>

static double variance(const moeg_order_gaps *g, size_t i)
{
    return g->covariance == NULL ? g->gap[i].std_error * g->gap[i].std_error : g->covariance[i * g->ntau + i];
}

static double entry(const moeg_order_gaps *g, size_t i, size_t j)
{
    if (i == j)
        return variance(g, i);
    return g->covariance == NULL ? 0 : g->covariance[i > j ? i * g->ntau + j : j * g->ntau + i];
}

/* A gap whose numbers can be used: those of a run that was canceled at once, or too short, are not finite. */
static int has_error_bar(const moeg_order_gaps *g, size_t i)
{
    const moeg_estimate *e = &g->gap[i];
    return isfinite(e->value) && isfinite(e->std_error) && isfinite(variance(g, i));
}

/* No variance is negative, and no covariance larger than the variances allow, where they are finite. */
static moeg_status check_covariance(const char *function, const moeg_order_gaps *g)
{
    static const double rounding = 1e-6;
    for (size_t i = 0; i < g->ntau; i++) {
        const double v = g->covariance[i * g->ntau + i];
        if (!(v >= 0))
            return moeg_fail(MOEG_EINVAL, "%s: covariance[%zu, %zu] must be at least 0, got %g", function, i, i, v);
        for (size_t j = 0; j < i; j++) {
            const double u = g->covariance[j * g->ntau + j], c = g->covariance[i * g->ntau + j];
            const double most = sqrt(u) * sqrt(v);
            if (has_error_bar(g, i) && has_error_bar(g, j) && !(fabs(c) <= most * (1 + rounding)))
                return moeg_fail(MOEG_EINVAL,
                                 "%s: covariance[%zu, %zu] must be at most %g in magnitude, as the variances of the "
                                 "gaps are, got %g",
                                 function, i, j, most, c);
        }
    }
    return MOEG_OK;
}

moeg_status moeg_order_check(const char *function, const moeg_order_gaps *g, double level)
{
    if (g->ntau < 2)
        return moeg_fail(MOEG_EINVAL, "%s: ntau must be at least 2, got %zu", function, g->ntau);
    moeg_status status = moeg_check_temperatures(function, g->ntau, g->tau);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "gap", g->gap);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    for (size_t i = 0; status == MOEG_OK && i < g->ntau; i++)
        if (g->gap[i].std_error < 0 || !(g->gap[i].quad_error >= 0))
            status = moeg_fail(MOEG_EINVAL, "%s: the errors of gap[%zu] must be at least 0, got %g and %g", function, i,
                               g->gap[i].std_error, g->gap[i].quad_error);
    return status == MOEG_OK && g->covariance != NULL ? check_covariance(function, g) : status;
}

double moeg_order_covariance(const moeg_order_gaps *g, size_t i, size_t j)
{
    return entry(g, i, j) / g->gap[i].value / g->gap[j].value;
}

double moeg_order_quad_error(const moeg_estimate *gap)
{
    const double share = gap->quad_error / fabs(gap->value);
    return share < 1 ? -log1p(-share) : INFINITY;
}

int moeg_order_tells(const moeg_order_gaps *g, size_t i, double reach)
{
    const moeg_estimate *e = &g->gap[i];
    if (!has_error_bar(g, i) || (variance(g, i) > 0 && e->n < MOEG_ENOUGH_UNITS))
        return 0;
    return g->tau[i] > 0 && fabs(e->value) > e->quad_error + reach * sqrt(variance(g, i));
}

double moeg_order_reach(uint64_t n, double level)
{
    return n < MOEG_ENOUGH_UNITS ? 0 : moeg_tail_student_reach((double)(n - 1), level);
}

/* log(b/a), a and b of one sign. */
static double log_ratio(double a, double b)
{
    const double u = fabs(a), v = fabs(b);
    return v < u ? -moeg_log_ratio(u, v) : moeg_log_ratio(v, u);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Fieller's interval of log(G_j/G_i) around its estimate. With u, v, w the relative variances and covariance of G_i and
 * G_j, and t the reach, the true ratio is x times the estimate where
 *
 *   (1 - t^2 u) x^2 - 2 (1 - t^2 w) x + (1 - t^2 v) <= 0,    whose discriminant is t^2 (u + v - 2 w) + t^4 (w^2 - u v);
 *
 * 1 less than the larger root, and than the inverse of the smaller, are sums of small terms. */
static void fieller(double u, double v, double w, double t, double *below, double *above)
{
    const double t2 = t * t, root = sqrt(fmax(0, t2 * (u + v - 2 * w) + t2 * t2 * (w * w - u * v)));
    *above = log1p(fmax(0, (t2 * (u - w) + root) / (1 - t2 * u)));
    *below = log1p(fmax(0, (t2 * (v - w) + root) / (1 - t2 * v)));
}

/* The order between gaps i and i + 1. Returns whether they tell it. */
static int observe(const moeg_order_gaps *g, size_t i, double level, moeg_estimate *out)
{
    const moeg_estimate *a = &g->gap[i], *b = &g->gap[i + 1];
    const uint64_t n = smaller(a->n, b->n);
    const double t = moeg_order_reach(n, level);
    const int finite = isfinite(a->value) && isfinite(b->value) && g->tau[i] > 0 && g->tau[i + 1] > 0;
    const int same_sign = (a->value > 0 && b->value > 0) || (a->value < 0 && b->value < 0);
    *out = (moeg_estimate){
        .value = NAN,
        .std_error = INFINITY,
        .lo = -INFINITY,
        .hi = INFINITY,
        .level = level,
        .n = n,
        .contributing = smaller(a->contributing, b->contributing),
        .method = a->method == b->method ? a->method : MOEG_METHOD_MC,
    };
    if (!finite || !same_sign)
        return 0;
    const double span = log_ratio(g->tau[i], g->tau[i + 1]);
    out->value = log_ratio(a->value, b->value) / span;
    if (!moeg_order_tells(g, i, t) || !moeg_order_tells(g, i + 1, t))
        return 0;
    double below, above;
    const double u = moeg_order_covariance(g, i, i), v = moeg_order_covariance(g, i + 1, i + 1);
    const double w = moeg_order_covariance(g, i + 1, i);
    fieller(u, v, w, t, &below, &above);
    out->quad_error = (moeg_order_quad_error(a) + moeg_order_quad_error(b)) / fabs(span);
    out->std_error = sqrt(fmax(0, u + v - 2 * w)) / fabs(span);
    out->lo = out->value - (span > 0 ? below : above) / fabs(span) - out->quad_error;
    out->hi = out->value + (span > 0 ? above : below) / fabs(span) + out->quad_error;
    return 1;
}

moeg_status moeg_order_local(size_t ntau, const double *tau, const moeg_estimate *gap, const double *covariance,
                             double level, moeg_estimate *order)
{
    static const char function[] = "order_local";
    const moeg_order_gaps g = {ntau, tau, gap, covariance};
    moeg_status status = moeg_order_check(function, &g, level);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "order", order);
    for (size_t i = 0; status == MOEG_OK && i + 1 < ntau; i++)
        if (tau[i] == tau[i + 1])
            status = moeg_fail(MOEG_EINVAL, "%s: tau[%zu] must differ from its neighbour, got %g twice", function,
                               i + 1, tau[i]);
    if (status != MOEG_OK)
        return status;
    for (size_t i = 0; i + 1 < ntau; i++)
        if (!observe(&g, i, level, &order[i]) && status == MOEG_OK)
            status = moeg_fail(MOEG_EUNABLE, "%s: the gaps at tau[%zu] = %g and tau[%zu] = %g do not tell an order",
                               function, i, tau[i], i + 1, tau[i + 1]);
    return status;
}
