/* The flow of a plane, and what it is made of. */
#ifndef MOEG_DYNAMICS_FLOW_PLANE_H
#define MOEG_DYNAMICS_FLOW_PLANE_H

#include "dynamics/flow.h"

/* Coordinates, and the most features of a contrast or a symmetric expert. */
enum { PLANE = 2, FEATURES = 3 };

typedef struct moeg_flow_plane {
    moeg_flow flow;
    double sigma, v, beta[PLANE], mu, tau; /* of the law; of the teacher: |v|, and beta in the plane */
    double best[FEATURES], base;           /* of the symmetric expert, and its risk */
} moeg_flow_plane;

extern const moeg_flow_kind moeg_flow_plane_kind;

#endif
