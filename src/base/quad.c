#include "base/quad.h"

#include "base/error.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Kronrod's extension of the 10-point Gauss-Legendre rule: exact to degree 31, and 19. */
const moeg_quad_node moeg_quad_rule[MOEG_QUAD_NODES] = {
    {0.0, 0.14944555400291690566, 0.0},
    {0.14887433898163121088, 0.14773910490133849137, 0.29552422471475287017},
    {0.29439286270146019813, 0.1427759385770600808, 0.0},
    {0.4333953941292471908, 0.13470921731147332593, 0.26926671930999635509},
    {0.56275713466860468334, 0.12349197626206585108, 0.0},
    {0.67940956829902440623, 0.1093871588022976419, 0.219086362515982044},
    {0.78081772658641689706, 0.093125454583697605535, 0.0},
    {0.86506336668898451073, 0.075039674810919952767, 0.14945134915058059315},
    {0.930157491355708226, 0.054755896574351996031, 0.0},
    {0.97390652851717172008, 0.032558162307964727479, 0.066671344308688137594},
    {0.99565716302580808074, 0.011694638867371874278, 0.0},
};

/* Panels may reach this many times `widest` away from offset 0: a slip in the units must not run for ever. */
static const double FARTHEST = 1048576;

/* One call's integrands and running sums, `count` of each. */
typedef struct sums {
    moeg_quad_function f;
    void *user;
    size_t count;
    double *values;
    double *kronrod, *gauss; /* of this panel */
    double *total, *carry;   /* of the panels so far: Neumaier's compensated sum */
    double *magnitude;       /* integral of |f| */
    double *difference;      /* sum of |Kronrod - Gauss| */
} sums;

/* Adds the integrands' values at one node of a panel of this half-width to the panel's sums. */
static moeg_status add_node(sums *s, double offset, double half, const moeg_quad_node *node)
{
    s->f(offset, s->user, s->values);
    for (size_t j = 0; j < s->count; j++) {
        const double value = s->values[j];
        if (!isfinite(value))
            return moeg_fail(MOEG_ERANGE, "quad_graded: integrand %zu is %g at offset %g", j, value, offset);
        s->kronrod[j] += node->kronrod * half * value;
        s->gauss[j] += node->gauss * half * value;
        s->magnitude[j] += node->kronrod * half * fabs(value);
    }
    return MOEG_OK;
}

/* Neumaier: what a sum loses to rounding is kept in carry. */
static void add_compensated(double term, double *total, double *carry)
{
    const double sum = *total + term;
    *carry += fabs(*total) >= fabs(term) ? (*total - sum) + term : (term - sum) + *total;
    *total = sum;
}

/* The panel of offsets sign * [begin, end]. */
static moeg_status add_panel(sums *s, double sign, double begin, double end)
{
    const double half = 0.5 * (end - begin), middle = begin + half;
    memset(s->kronrod, 0, s->count * sizeof(double));
    memset(s->gauss, 0, s->count * sizeof(double));
    for (size_t i = 0; i < MOEG_QUAD_NODES; i++) {
        const moeg_quad_node *node = &moeg_quad_rule[i];
        moeg_status status = add_node(s, sign * (middle + half * node->node), half, node);
        if (status == MOEG_OK && i > 0)
            status = add_node(s, sign * (middle - half * node->node), half, node);
        if (status != MOEG_OK)
            return status;
    }
    for (size_t j = 0; j < s->count; j++) {
        add_compensated(s->kronrod[j], &s->total[j], &s->carry[j]);
        s->difference[j] += fabs(s->kronrod[j] - s->gauss[j]);
    }
    return MOEG_OK;
}

/* The panels of one side, cut to distances [begin, end] from offset 0. */
static moeg_status add_side(sums *s, double sign, double begin, double end, double finest, double widest)
{
    moeg_status status = MOEG_OK;
    double left = 0, width = finest;
    while (left < end && status == MOEG_OK) {
        const double right = left + width;
        if (right > begin)
            status = add_panel(s, sign, fmax(left, begin), fmin(right, end));
        left = right;
        width = fmin(2 * width, widest);
    }
    return status;
}

static moeg_status check_arguments(double lo, double hi, double finest, double widest)
{
    if (!(isfinite(lo) && isfinite(hi) && lo <= hi))
        return moeg_fail(MOEG_EINVAL, "quad_graded: lo and hi must be finite and lo <= hi, got %g and %g", lo, hi);
    if (!(finest > 0 && finest <= widest && isfinite(widest)))
        return moeg_fail(MOEG_EINVAL, "quad_graded: must have 0 < finest <= widest < inf, got %g and %g", finest,
                         widest);
    if (fmax(fabs(lo), fabs(hi)) / widest > FARTHEST)
        return moeg_fail(MOEG_EINVAL, "quad_graded: [lo, hi] = [%g, %g] must be within %.0f panels of width %g", lo, hi,
                         FARTHEST, widest);
    return MOEG_OK;
}

moeg_status moeg_quad_graded(moeg_quad_function f, void *user, size_t count, double lo, double hi, double finest,
                             double widest, double *integral, double *error)
{
    moeg_status status = check_arguments(lo, hi, finest, widest);
    if (status != MOEG_OK)
        return status;
    double *buffer = moeg_alloc_zero(count, 7 * sizeof *buffer);
    if (buffer == NULL)
        return moeg_fail_memory("quad_graded");
    sums s = {.f = f,
              .user = user,
              .count = count,
              .values = buffer,
              .kronrod = buffer + count,
              .gauss = buffer + 2 * count,
              .total = buffer + 3 * count,
              .carry = buffer + 4 * count,
              .magnitude = buffer + 5 * count,
              .difference = buffer + 6 * count};
    status = add_side(&s, -1, fmax(-hi, 0), -lo, finest, widest);
    if (status == MOEG_OK)
        status = add_side(&s, 1, fmax(lo, 0), hi, finest, widest);
    for (size_t j = 0; j < count && status == MOEG_OK; j++)
        if (!isfinite(s.total[j] + s.difference[j] + s.magnitude[j]))
            status = moeg_fail(MOEG_ERANGE, "quad_graded: integral %zu overflows", j);
    for (size_t j = 0; j < count && status == MOEG_OK; j++) {
        integral[j] = s.total[j] + s.carry[j];
        if (error != NULL)
            error[j] = s.difference[j] + 4 * DBL_EPSILON * s.magnitude[j];
    }
    moeg_release(buffer);
    return status;
}
