/* A row space of two dimensions: lines of one direction e, and a quadrature over the coordinate y across them. Panels
 * are graded from the kinks of what lines have (nodes_kinks.c), beginning with the width over which the temperature
 * feels the third. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/quad.h"
#include "limit/nodes_kinks.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PANEL = 2 * MOEG_QUAD_NODES - 1 };

typedef struct plane {
    const moeg_nodes_curve *curve;
    moeg_nodes_kinks kinks;
    double *z, *values, *errors, *workspace; /* of a panel */
    double *value, *error;                   /* sums */
} plane;

/* Adds the panel [lo, hi], y = anchor + offset: its nodes are the lines of one block. */
static moeg_status add_panel(plane *q, double anchor, double lo, double hi)
{
    const size_t stride = moeg_round_lanes(PANEL), count = moeg_nodes_count(q->curve);
    const double half = (hi - lo) / 2, middle = (hi + lo) / 2;
    double density[PANEL];
    for (size_t i = 0; i < stride; i++) {
        const double node = moeg_quad_rule[i < PANEL ? (i + 1) / 2 : 0].node;
        const double y = anchor + (middle + (i % 2 == 1 ? half : -half) * node);
        for (size_t j = 0; j < 2; j++) {
            const double *Q = q->curve->nodes->frame.Q;
            q->z[j * stride + i] =
                y * (q->curve->nodes->affine ? q->kinks.across[j]
                                             : q->kinks.across[0] * Q[j] + q->kinks.across[1] * Q[2 + j]);
        }
        if (i < PANEL)
            density[i] = half * moeg_normal_density(y);
    }
    const moeg_status status =
        moeg_nodes_lines(q->curve, &q->kinks.way, PANEL, stride, stride, q->z, q->workspace, q->values, q->errors);
    for (size_t v = 0; v < count && status == MOEG_OK; v++) {
        double fine = 0, coarse = 0, size = 0, error = 0;
        for (size_t i = 0; i < PANEL; i++) {
            const moeg_quad_node *node = &moeg_quad_rule[(i + 1) / 2];
            const double value = q->values[v * stride + i] * density[i];
            fine += node->kronrod * value;
            coarse += node->gauss * value;
            size += node->kronrod * fabs(value);
            error += node->kronrod * q->errors[v * stride + i] * density[i];
        }
        q->value[v] += fine;
        q->error[v] += fabs(fine - coarse) + 4 * DBL_EPSILON * size + error;
    }
    return status;
}

/* Panels from a kink outward, to one side (sign) and up to `reach`. */
static moeg_status add_side(plane *q, double kink, double sign, double reach)
{
    moeg_status status = MOEG_OK;
    for (double from = 0; from < reach && status == MOEG_OK;) {
        const double width = fmin(fmax(q->kinks.finest, from), q->kinks.widest);
        const double to = from + 1.5 * width < reach ? from + width : reach;
        status = sign > 0 ? add_panel(q, kink, from, to) : add_panel(q, kink, -to, -from);
        from = to;
    }
    return status;
}

static int allocate(plane *q)
{
    const size_t stride = moeg_round_lanes(PANEL), count = moeg_nodes_count(q->curve);
    q->z = moeg_alloc(2 * stride, sizeof *q->z);
    q->values = moeg_alloc(count, stride * sizeof *q->values);
    q->errors = moeg_alloc(count, stride * sizeof *q->errors);
    q->workspace = moeg_alloc(moeg_nodes_workspace(q->curve, stride), sizeof *q->workspace);
    return q->z != NULL && q->values != NULL && q->errors != NULL && q->workspace != NULL;
}

static void release(plane *q)
{
    moeg_nodes_kinks_free(&q->kinks);
    moeg_release(q->z);
    moeg_release(q->values);
    moeg_release(q->errors);
    moeg_release(q->workspace);
}

moeg_status moeg_nodes_plane(const char *function, const moeg_nodes_curve *curve, double *value, double *error)
{
    plane q = {.curve = curve, .value = value, .error = error};
    moeg_status status = allocate(&q) ? moeg_nodes_kinks_find(function, curve, &q.kinks) : moeg_fail_memory(function);
    if (status == MOEG_OK) {
        memset(value, 0, moeg_nodes_count(curve) * sizeof *value);
        memset(error, 0, moeg_nodes_count(curve) * sizeof *error);
    }
    const double *y = q.kinks.y;
    for (size_t i = 0; status == MOEG_OK && i + 1 < q.kinks.count; i++) {
        const double half = (y[i + 1] - y[i]) / 2;
        status = add_side(&q, y[i], 1, half);
        if (status == MOEG_OK)
            status = add_side(&q, y[i + 1], -1, half);
    }
    release(&q);
    return status;
}
