/* Quadrature over x of binary_risk.h: panels graded around the interface, and around the edge of the teacher's pieces.
 */
#ifndef MOEG_LIMIT_BINARY_NODES_H
#define MOEG_LIMIT_BINARY_NODES_H

#include "limit/binary_risk.h"

/* The range of integration ends where density and gates are below e^-DROP of their largest value. The integrand may
 * then grow if there is an edge beyond: the error bound says by how much. */
#define MOEG_BINARY_DROP 60.0

/* Three ways to place a node: by v = s/unit, its distance from the interface in units of min(tau, deviation), so that a
 * layer of any thinness is resolved; by t = x - z, where the interface is far; or by its distance from the edge, in the
 * unit of the range. */
typedef struct moeg_binary_nodes {
    const moeg_binary_risk *risk;
    double z;
    double x_per_v, w_per_v; /* x = s/deviation and w = s/tau of a unit of v. */
    double weight;           /* Of a unit of v, what multiplies the integrand: x_per_v, or that over tau. */
    double w_per_x;          /* deviation/tau; 0 where nothing depends on tau. */
    double decay;            /* Over how much of v the integrand falls at the ends: 1, or a deviation. */
    enum { MOEG_FROM_INTERFACE, MOEG_FROM_MEAN, MOEG_FROM_EDGE } from;
} moeg_binary_nodes;

/* v in units of min(tau, deviation), of tau = infinity the deviation. */
moeg_binary_nodes moeg_binary_nodes_make(const moeg_binary_risk *risk, double tau);

/* The place of the node at this offset from where the nodes are placed. */
moeg_binary_place moeg_binary_nodes_place(const moeg_binary_nodes *nodes, double offset);

/* What to integrate, of a node: {the integrand, what rounding may do to it}, in x. */
typedef moeg_sized (*moeg_binary_integrand)(const moeg_binary_place *at, const void *user);

/* Which cells the integrand looks at. */
enum { MOEG_CELL_NEAR = 1, MOEG_CELL_FAR = 2 };

/* The integral over v in [lo, hi], lo >= 0, of f e^(-t^2/2)/sqrt(2 pi), of the near side's density; and a bound on its
 * error from quadrature and rounding, and from what the ends leave out. If lo > 0 the interface is far: panels are half
 * a deviation wide. Statuses of moeg_quad_graded(). Cost: log2(deviation/tau) + 100 panels at most, and where there is
 * an edge twice as many, and log2(h1). */
moeg_status moeg_binary_integrate(moeg_binary_nodes *nodes, int cells, double lo, double hi, moeg_binary_integrand f,
                                  const void *user, double *value, double *error);

#endif
