/* The rate at which a run leaves the symmetric state. In coordinates (u/sqrt(eta_u), c/sqrt(eta_c)) the linear flow is
 * symmetric, so that its eigenvectors are orthogonal: the length of what is along the fastest of them grows at their
 * rate from the start, whatever else there is. */
#include "base/error.h"
#include "base/interval.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/vector.h"
#include "dynamics/flow.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

static const char function[] = "flow_growth";

/* How small the root mean squares of u.x/(2 tau), and of h beside the residual, are: what is nonlinear is of second
 * order in them, or their product. Eigenvalues that are the largest, as a share of it, beyond their rounding; and an M
 * that is 0, of what its entries might be. */
static const double SMALL = 0.03, SAME = 1e-6, NOTHING = 1e-13;
enum { LEAST_ROWS = 8 };

typedef struct modes {
    size_t n, count; /* d + q; how many are the fastest: the last rows of V */
    double *V, *values, *M, *Psi, *z;
} modes;

static void modes_free(modes *m)
{
    moeg_release(m->V);
    moeg_release(m->values);
    moeg_release(m->M);
    moeg_release(m->Psi);
    moeg_release(m->z);
}

static moeg_status modes_alloc(const moeg_flow *flow, modes *m)
{
    const size_t d = flow->d, q = moeg_flow_q(flow);
    m->n = d + q;
    size_t size;
    if (moeg_multiply_overflows(m->n, m->n, &size))
        return moeg_fail_memory(function);
    m->V = moeg_alloc_zero(size, sizeof(double));
    m->values = moeg_alloc(m->n, sizeof(double));
    m->M = moeg_alloc(d, q * sizeof(double));
    m->Psi = moeg_alloc(flow->p, flow->p * sizeof(double));
    m->z = moeg_alloc(m->n, sizeof(double));
    return m->V && m->values && m->M && m->Psi && m->z ? MOEG_OK : moeg_fail_memory(function);
}

/* The lower triangle of the linear flow: [[-lambda_u, .], [sqrt(eta_u eta_c) M'/tau, -lambda_c - 2 eta_c Psi]], Psi of
 * each output, and of loss mixing alone. */
static void fill_linear(const moeg_flow *flow, modes *m)
{
    const size_t d = flow->d, q = moeg_flow_q(flow), p = flow->p;
    const moeg_symmetry_rates *rates = &flow->options.rates;
    const double scale = sqrt(rates->eta_u) * sqrt(rates->eta_c) / flow->options.tau;
    for (size_t i = 0; i < d; i++)
        m->V[i * m->n + i] = -rates->lambda_u;
    for (size_t j = 0; j < q; j++) {
        double *row = m->V + (d + j) * m->n;
        for (size_t i = 0; i < d; i++)
            row[i] = scale * m->M[i * q + j];
        if (flow->options.mixing == MOEG_MIX_LOSS)
            for (size_t l = j - j % p; l <= j; l++)
                row[d + l] = -2 * rates->eta_c * m->Psi[(j % p) * p + l % p];
        row[d + j] -= rates->lambda_c;
    }
}

/* The fastest directions; none, m->count = 0, where M is 0. */
static moeg_status find_modes(const moeg_flow *flow, modes *m)
{
    const size_t d = flow->d, q = moeg_flow_q(flow);
    moeg_status status = modes_alloc(flow, m);
    if (status == MOEG_OK)
        status = moeg_flow_operator(flow, m->M);
    if (status == MOEG_OK)
        status = flow->kind->feature_gram(flow, function, m->Psi);
    if (status != MOEG_OK)
        return status;
    double trace = 0;
    for (size_t j = 0; j < flow->p; j++)
        trace += m->Psi[j * flow->p + j];
    if (moeg_largest(d * q, m->M) <= NOTHING * flow->spread * flow->residual * sqrt(trace))
        return MOEG_OK;
    fill_linear(flow, m);
    for (size_t i = 0; i < m->n * m->n; i++)
        if (!isfinite(m->V[i]))
            return moeg_fail(MOEG_ERANGE, "%s: the rates of the linear flow overflow", function);
    status = moeg_linalg_eigen(function, m->n, m->V, m->values);
    if (status != MOEG_OK)
        return status;
    const double top = m->values[m->n - 1], size = fmax(fabs(top), fabs(m->values[0]));
    const double same = SAME * fabs(top) + 8 * (double)m->n * DBL_EPSILON * size;
    while (m->count < m->n && m->values[m->n - 1 - m->count] >= top - same)
        m->count++;
    return MOEG_OK;
}

static double length(size_t n, const double *x)
{
    const double largest = moeg_largest(n, x);
    double sum = 0;
    for (size_t i = 0; largest > 0 && i < n; i++)
        sum += x[i] / largest * (x[i] / largest);
    return largest * sqrt(sum);
}

/* The root of E |h|^2. */
static double contrast_root(const moeg_flow *flow, const modes *m, const double *c)
{
    const size_t p = flow->p;
    const double largest = moeg_largest(moeg_flow_q(flow), c);
    double sum = 0;
    for (size_t k = 0; largest > 0 && k < moeg_flow_q(flow); k++)
        sum += c[k] / largest * (moeg_dot(p, m->Psi + k % p * p, c + k / p * p) / largest);
    return largest * sqrt(fmax(0, sum));
}

/* log |z| of a state that is near the symmetric one; NaN of another. */
static moeg_status measure(const moeg_flow *flow, const modes *m, const double *state, double *log_size)
{
    double logit = NAN;
    const moeg_status status = isnan(state[0]) ? MOEG_OK : flow->kind->logit_root(flow, function, state, &logit);
    *log_size = NAN;
    if (status != MOEG_OK || !(logit <= 2 * flow->options.tau * SMALL) ||
        !(contrast_root(flow, m, state + flow->d) <= SMALL * flow->residual))
        return status;
    for (size_t i = 0; i < m->n; i++)
        m->z[i] = state[i] / sqrt(i < flow->d ? flow->options.rates.eta_u : flow->options.rates.eta_c);
    double size = m->count == 0 ? length(m->n, m->z) : 0;
    for (size_t k = 0; k < m->count; k++)
        size = hypot(size, moeg_dot(m->n, m->V + (m->n - 1 - k) * m->n, m->z));
    if (size > 0)
        *log_size = log(size);
    return MOEG_OK;
}

/* The slope of y over t, n >= 2 of them, by least squares; of times over a power of 2, whose squares do not overflow or
 * underflow. */
static double fit_slope(size_t n, const double *t, const double *y)
{
    int unit;
    frexp(fmax(fabs(t[0]), fabs(t[n - 1])), &unit);
    const double first = ldexp(t[0], -unit);
    double t_mean = 0, y_mean = 0, products = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        t_mean += (ldexp(t[i], -unit) - first) / (double)n;
        y_mean += (y[i] - y[0]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double away = ldexp(t[i], -unit) - first - t_mean;
        products += away * (y[i] - y[0] - y_mean);
        squares += away * away;
    }
    return ldexp(products / squares, -unit);
}

static moeg_status check_growth(const moeg_flow *flow, size_t count, const double *times, const double *states,
                                double level, const moeg_estimate *growth)
{
    moeg_status status = moeg_check_pointer(function, "flow", flow);
    if (status == MOEG_OK && count == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: count must be at least 1, got 0", function);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "times", count, 1, times);
    for (size_t i = 1; i < count && status == MOEG_OK; i++)
        if (!(times[i] > times[i - 1]))
            status = moeg_fail(MOEG_EINVAL, "%s: times must increase, got times[%zu] = %g after %g", function, i,
                               times[i], times[i - 1]);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "states", count, moeg_flow_size(flow), states);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    return status == MOEG_OK ? moeg_check_pointer(function, "growth", growth) : status;
}

/* The estimate from `n` rows. */
static moeg_status estimate(size_t n, const double *times, const double *y, double level, moeg_estimate *growth)
{
    const double value = n >= 2 ? fit_slope(n, times, y) : NAN;
    double error = INFINITY;
    if (n >= LEAST_ROWS)
        error = fabs(fit_slope(n / 2, times, y) - fit_slope(n - n / 2, times + n / 2, y + n / 2)) / 2;
    if (n >= LEAST_ROWS && !(isfinite(value) && isfinite(error)))
        return moeg_fail(MOEG_ERANGE, "%s: the rate overflows", function);
    const double half = error * gsl_cdf_ugaussian_Pinv(0.5 + level / 2);
    *growth = (moeg_estimate){.value = value,
                              .std_error = error,
                              .lo = n >= 2 ? value - half : -INFINITY,
                              .hi = n >= 2 ? value + half : INFINITY,
                              .level = level,
                              .n = n,
                              .contributing = n,
                              .method = MOEG_METHOD_MC};
    if (n >= LEAST_ROWS)
        return MOEG_OK;
    return moeg_fail(MOEG_EUNABLE, "%s: only %zu rows are near the symmetric state, of the %d that a rate wants",
                     function, n, LEAST_ROWS);
}

moeg_status moeg_flow_growth(const moeg_flow *flow, size_t count, const double *times, const double *states,
                             double level, moeg_estimate *growth)
{
    moeg_status status = check_growth(flow, count, times, states, level, growth);
    if (status != MOEG_OK)
        return status;
    modes m = {0};
    double *y = moeg_alloc(count, sizeof *y);
    status = y != NULL ? find_modes(flow, &m) : moeg_fail_memory(function);
    if (status == MOEG_OK) {
        size_t n = 0;
        while (n < count && status == MOEG_OK) {
            status = measure(flow, &m, states + n * moeg_flow_size(flow), &y[n]);
            if (status != MOEG_OK || isnan(y[n]))
                break;
            n++;
        }
        if (status == MOEG_OK)
            status = estimate(n, times, y, level, growth);
    }
    moeg_release(y);
    modes_free(&m);
    return status;
}
