/* gsl_odeiv2 takes a step whose error is NaN, since NaN is not above the tolerance, and steps on without end where time
 * no longer moves. Here no slope that is not finite gets out of the right side, and every step must move time. */
#include "dynamics/ode.h"

#include "base/error.h"
#include "base/guard.h"
#include "base/memory.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <math.h>
#include <string.h>

typedef struct problem {
    size_t dim;
    moeg_ode_function f;
    void *user;
    moeg_status status; /* an error of f that ends the run */
    int infinite;       /* whether the last slope or state was not finite */
} problem;

typedef struct solver {
    gsl_odeiv2_step *step;
    gsl_odeiv2_control *control;
    gsl_odeiv2_evolve *evolve;
    double *y, *rows; /* (dim), (count x dim) */
} solver;

static int all_finite(size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return 0;
    return 1;
}

/* The right side as GSL wants it: GSL_EBADFUNC ends the run, GSL_ERANGE asks for a shorter step. */
static int slope(double t, const double y[], double out[], void *params)
{
    problem *p = params;
    p->infinite = 1;
    if (!all_finite(p->dim, y))
        return GSL_ERANGE;
    const moeg_status status = p->f(t, y, out, p->user);
    if (status != MOEG_OK && status != MOEG_ERANGE) {
        p->status = status;
        return GSL_EBADFUNC;
    }
    if (status == MOEG_ERANGE || !all_finite(p->dim, out))
        return GSL_ERANGE;
    p->infinite = 0;
    return GSL_SUCCESS;
}

static void solver_free(solver *s)
{
    if (s->evolve != NULL)
        gsl_odeiv2_evolve_free(s->evolve);
    if (s->control != NULL)
        gsl_odeiv2_control_free(s->control);
    if (s->step != NULL)
        gsl_odeiv2_step_free(s->step);
    moeg_release(s->y);
    moeg_release(s->rows);
}

static moeg_status solver_alloc(const char *function, size_t dim, size_t count, double rel_tol, double abs_tol,
                                solver *s)
{
    size_t doubles;
    if (moeg_multiply_overflows(count, dim, &doubles))
        return moeg_fail_memory(function);
    s->y = moeg_alloc(dim, sizeof(double));
    s->rows = moeg_alloc(doubles, sizeof(double));
    if (s->y == NULL || s->rows == NULL)
        return moeg_fail_memory(function);
    s->step = gsl_odeiv2_step_alloc(gsl_odeiv2_step_rk8pd, dim);
    s->control = gsl_odeiv2_control_y_new(abs_tol, rel_tol);
    s->evolve = gsl_odeiv2_evolve_alloc(dim);
    return s->step != NULL && s->control != NULL && s->evolve != NULL ? MOEG_OK : moeg_fail_memory(function);
}

/* A first step over which y changes by about a hundredth of itself, or of what the tolerances resolve; the whole way if
 * it does not change. Not 0, from a y of 0 with tolerances that are tiny. */
static double first_step(problem *p, const double *y, double *out, double rel_tol, double abs_tol, double whole)
{
    if (slope(0, y, out, p) != GSL_SUCCESS)
        return whole;
    double rate = 0;
    for (size_t i = 0; i < p->dim; i++)
        rate = fmax(rate, fabs(out[i]) / (fabs(y[i]) + abs_tol / rel_tol));
    return rate * whole > 0.01 ? fmin(whole, fmax(0.01 / rate, DBL_MIN)) : whole;
}

/* Whether y is at time `end` now. */
static int advance(const gsl_odeiv2_system *system, solver *s, double end, double *t, double *h, size_t *steps)
{
    while (*t < end) {
        const double before = *t;
        const int code = gsl_odeiv2_evolve_apply(s->evolve, s->control, s->step, system, t, end, h, s->y);
        if (code != GSL_SUCCESS || !(*t > before)) {
            *t = before;
            return 0;
        }
        if (++*steps > MOEG_ODE_STEPS)
            return 0;
    }
    return 1;
}

static moeg_status report(const char *function, const problem *p, double t, size_t steps)
{
    if (p->status != MOEG_OK)
        return p->status; /* with its own message */
    if (steps > MOEG_ODE_STEPS)
        return moeg_fail(MOEG_EUNABLE, "%s: more than %d steps, at time %.17g", function, MOEG_ODE_STEPS, t);
    return moeg_fail(MOEG_EUNABLE, "%s: %s from time %.17g on", function,
                     p->infinite ? "the state or its slope is not finite" : "no step is short enough", t);
}

/* Steps through the times, on NaN rows. */
static moeg_status follow(const char *function, problem *p, solver *s, const double *start, size_t count,
                          const double *times, double rel_tol, double abs_tol)
{
    const gsl_odeiv2_system system = {.function = slope, .jacobian = NULL, .dimension = p->dim, .params = p};
    for (size_t i = 0; i < count * p->dim; i++)
        s->rows[i] = NAN;
    double t = 0, h = first_step(p, start, s->y, rel_tol, abs_tol, times[count - 1]);
    size_t steps = 0;
    memcpy(s->y, start, p->dim * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        if (p->status != MOEG_OK || !advance(&system, s, times[i], &t, &h, &steps))
            return report(function, p, t, steps);
        memcpy(s->rows + i * p->dim, s->y, p->dim * sizeof(double));
    }
    return MOEG_OK;
}

moeg_status moeg_ode_run(const char *function, size_t dim, moeg_ode_function f, void *user, const double *start,
                         size_t count, const double *times, double rel_tol, double abs_tol, double *states)
{
    problem p = {.dim = dim, .f = f, .user = user, .status = MOEG_OK};
    solver s = {0};
    moeg_guard_enter();
    moeg_status status = solver_alloc(function, dim, count, rel_tol, abs_tol, &s);
    if (status == MOEG_OK)
        status = follow(function, &p, &s, start, count, times, rel_tol, abs_tol);
    if (status >= 0)
        memcpy(states, s.rows, count * dim * sizeof(double));
    solver_free(&s);
    moeg_guard_leave();
    return status;
}
