#include "limit/binary_nodes.h"

#include "base/quad.h"

#include <float.h>
#include <math.h>

/* e^-x is 0 above this. */
#define UNDERFLOW 746.0
static const double root_two_pi = 2.50662827463100050242;

/* An integral under way: the nodes, the integrand, and long sums of its pieces. */
struct integral {
    moeg_binary_nodes *nodes;
    moeg_binary_integrand f;
    const void *user;
    long double value, error;
};

moeg_binary_nodes moeg_binary_nodes_make(const moeg_binary_risk *risk, double tau)
{
    const double deviation = (double)risk->logit.deviation, unit = fmin(tau, deviation);
    return (moeg_binary_nodes){
        .risk = risk,
        .z = (double)risk->logit.z,
        .x_per_v = unit / deviation,
        .w_per_v = unit / tau,
        .weight = unit / deviation,
        .w_per_x = deviation / tau,
        .decay = 1,
    };
}

/* h at x and -x. Near the edge from the distance to it, which loses nothing. */
static void place_teacher(const moeg_binary_nodes *nodes, double offset, moeg_binary_place *at)
{
    const moeg_binary_teacher *t = &nodes->risk->teacher;
    const int from_edge = nodes->from == MOEG_FROM_EDGE;
    const double beyond = from_edge ? nodes->x_per_v * offset : at->x - t->edge;
    double *own = t->edge_far ? &at->h_far : &at->h_near, *other = t->edge_far ? &at->h_near : &at->h_far;
    const double slope = t->edge_far ? -t->h1 : t->h1;
    if (t->lay == MOEG_LAY_STEP) {
        *own = copysign(INFINITY, slope * beyond);
        *other = copysign(INFINITY, -slope);
    } else if (t->lay == MOEG_LAY_OBLIQUE) {
        at->h_near = nodes->from == MOEG_FROM_MEAN ? t->h_mean + t->h1 * offset : t->h0 + t->h1 * at->x;
        at->h_far = t->h0 - t->h1 * at->x;
        if (from_edge)
            *own = slope * beyond;
    }
}

moeg_binary_place moeg_binary_nodes_place(const moeg_binary_nodes *nodes, double offset)
{
    const moeg_binary_teacher *t = &nodes->risk->teacher;
    const double x = nodes->x_per_v * offset;
    moeg_binary_place at = {.x = x, .t = x - nodes->z, .w = nodes->w_per_v * offset};
    if (nodes->from == MOEG_FROM_MEAN)
        at = (moeg_binary_place){.x = nodes->z + offset, .t = offset, .w = (nodes->z + offset) * nodes->w_per_x};
    else if (nodes->from == MOEG_FROM_EDGE)
        at = (moeg_binary_place){.x = t->edge + x, .t = t->edge_t + x, .w = (t->edge + x) * nodes->w_per_x};
    place_teacher(nodes, offset, &at);
    return at;
}

/* The integrand times the density, and what rounding may do to it. The exponents are exact to a few epsilon of their
 * own size, and of the size of what they were formed from; below DBL_MIN precision is absolute. */
static void evaluate(double offset, void *user, double *values)
{
    const struct integral *s = user;
    const moeg_binary_nodes *nodes = s->nodes;
    const moeg_binary_place at = moeg_binary_nodes_place(nodes, offset);
    const moeg_sized f = s->f(&at, s->user);
    const double density = exp(-0.5 * at.t * at.t) / root_two_pi * nodes->weight;
    const double exponents = fabs(at.t) * (fabs(at.t) + nodes->z) + fmin(at.w, UNDERFLOW);
    values[0] = density * f.value;
    values[1] = ((density + DBL_MIN * fmax(nodes->weight, 1)) * f.size + DBL_MIN) * ((8 + exponents) * DBL_EPSILON);
}

/* Offsets [lo, hi] from where the nodes are placed. */
static moeg_status add_range(struct integral *s, double lo, double hi, double finest, double widest)
{
    double integral[2], error[2];
    if (!(lo < hi))
        return MOEG_OK;
    const moeg_status status = moeg_quad_graded(evaluate, s, 2, lo, hi, fmin(finest, widest), widest, integral, error);
    if (status != MOEG_OK)
        return status;
    s->value += integral[0];
    s->error += (long double)error[0] + integral[1];
    return MOEG_OK;
}

/* The panels [left, right] that grade from the interface, cut to [lo, hi] and graded around the edge in it. */
static moeg_status add_around_edge(struct integral *s, double lo, double hi, double edge, double finest, double widest,
                                   double edge_finest)
{
    moeg_status status = MOEG_OK;
    double left = 0, width = finest;
    s->nodes->from = MOEG_FROM_EDGE;
    while (left < hi && status == MOEG_OK) {
        const double right = left + width;
        if (right > lo)
            status = add_range(s, fmax(left, lo) - edge, fmin(right, hi) - edge, edge_finest, width);
        left = right;
        width = fmin(2 * width, widest);
    }
    return status;
}

/* Distance over which the pieces change, in units of v; infinite if they do not, or at once. */
static double edge_width(const moeg_binary_nodes *nodes)
{
    const moeg_binary_teacher *t = &nodes->risk->teacher;
    return t->lay == MOEG_LAY_OBLIQUE && t->h1 != 0 ? 0.25 / (fabs(t->h1) * nodes->x_per_v) : INFINITY;
}

/* From the interface outward. Up to half way to the edge panels grade from the interface; beyond, from both. Where the
 * edge is in a cell that is not asked for, the pieces change from the interface on. */
static moeg_status add_layer(struct integral *s, int cells, double hi)
{
    moeg_binary_nodes *nodes = s->nodes;
    const moeg_binary_teacher *t = &nodes->risk->teacher;
    const double widest = fmax(0.25, fmin(0.5 / nodes->x_per_v, hi)), width = edge_width(nodes);
    const double edge = t->edge / nodes->x_per_v;
    nodes->from = MOEG_FROM_INTERFACE;
    if (t->lay == MOEG_LAY_WHOLE || t->lay == MOEG_LAY_COINCIDENT || !(edge < 2 * hi))
        return add_range(s, 0, hi, 0.25, widest);
    if (!(cells & (t->edge_far ? MOEG_CELL_FAR : MOEG_CELL_NEAR)))
        return add_range(s, 0, hi, fmin(0.25, width), widest);
    const double half = fmin(edge / 2, hi);
    const moeg_status status = add_range(s, 0, half, 0.25, widest);
    return status == MOEG_OK ? add_around_edge(s, half, hi, edge, 0.25, widest, width) : status;
}

/* Around the mean, in deviations. */
static moeg_status add_far(struct integral *s, double lo, double hi)
{
    moeg_binary_nodes *nodes = s->nodes;
    const double edge_t = nodes->risk->teacher.edge_t;
    nodes->from = MOEG_FROM_MEAN;
    if (!(edge_t > lo - 1 && edge_t < hi + 1))
        return add_range(s, lo, hi, 0.5, 0.5);
    nodes->from = MOEG_FROM_EDGE;
    return add_range(s, lo - edge_t, hi - edge_t, edge_width(nodes), 0.5);
}

/* What lies beyond offset `end`: at most the integrand there, with whichever piece is larger, over its decay. */
static long double tail(const struct integral *s, double offset)
{
    moeg_binary_place at = moeg_binary_nodes_place(s->nodes, offset);
    const double density = exp(-0.5 * at.t * at.t) / root_two_pi * s->nodes->weight * s->nodes->decay;
    const int whole = s->nodes->risk->teacher.lay == MOEG_LAY_WHOLE;
    long double largest = 0;
    for (int i = 0; i < (whole ? 1 : 4); i++) {
        at.h_near = i % 2 == 0 ? INFINITY : -INFINITY;
        at.h_far = i / 2 == 0 ? INFINITY : -INFINITY;
        largest = fmaxl(largest, s->f(&at, s->user).size);
    }
    return density * largest;
}

moeg_status moeg_binary_integrate(moeg_binary_nodes *nodes, int cells, double lo, double hi, moeg_binary_integrand f,
                                  const void *user, double *value, double *error)
{
    struct integral s = {.nodes = nodes, .f = f, .user = user};
    const int far = lo > 0;
    moeg_status status;
    if (far) {
        lo = lo * nodes->x_per_v - nodes->z;
        hi = hi * nodes->x_per_v - nodes->z;
        nodes->weight /= nodes->x_per_v;
        nodes->x_per_v = nodes->decay = 1;
        nodes->w_per_v = nodes->w_per_x;
        status = add_far(&s, lo, hi);
        nodes->from = MOEG_FROM_MEAN;
    } else {
        status = add_layer(&s, cells, hi);
        nodes->from = MOEG_FROM_INTERFACE;
    }
    if (status != MOEG_OK)
        return status;
    const long double beyond = tail(&s, hi) + (far ? tail(&s, lo) : 0);
    if (!isfinite((double)s.value) || !isfinite((double)(s.error + beyond)))
        return MOEG_ERANGE;
    *value = (double)s.value;
    *error = (double)(s.error + beyond);
    return MOEG_OK;
}
