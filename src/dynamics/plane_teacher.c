#include "dynamics/plane_teacher.h"

#include "base/kernel.h"
#include "base/normal.h"
#include "base/quad.h"

#include <math.h>
#include <string.h>

/* The wide rule is the trapezoidal one over |q| <= 10, whose error is exp(-2 pi^2 a/step), below 1e-17 of steps up to
 * a/2, a = tau/slope >= WIDE the width of the layer in q: the poles of T are pi a off the real axis. The thin rule has
 * panels on both sides of the layer. */
enum { HALF = 80, PANELS = 5, SIDE = 2 * MOEG_QUAD_NODES - 1, THIN_NODES = 2 * PANELS * SIDE + 6 };
static const double WIDE = 0.25, FARTHEST = 10;

/* sign(r + q): r = mid/slope, past 40 as good as infinite. */
static void add_sign(double r, double *J)
{
    r = fmax(-40, fmin(40, r));
    const double density = moeg_normal_density(r), mass = erf(r * 0.70710678118654752440);
    J[0] += mass;
    J[1] += 2 * density;
    J[2] += mass - 2 * r * density;
    J[3] += 2 * density * (r * r + 2);
}

/* weight q^k, k < 4. */
static void add_powers(double weight, double q, double *J)
{
    for (int k = 0; k < MOEG_PLANE_POWERS; k++) {
        J[k] += weight;
        weight *= q;
    }
}

static void add_wide(double mid, double slope, double tau, double *J)
{
    const int half = tau >= 2 * WIDE * slope ? HALF / 2 : HALF, nodes = half + MOEG_LANES;
    const double step = FARTHEST / half;
    _Alignas(64) double right[HALF + MOEG_LANES], left[HALF + MOEG_LANES], density[HALF + MOEG_LANES];
    for (int k = 0; k < nodes; k++) {
        const double q = step * k;
        right[k] = fmax(-40, fmin(40, (mid + slope * q) / (2 * tau)));
        left[k] = fmax(-40, fmin(40, (mid - slope * q) / (2 * tau)));
        density[k] = -q * q / 2;
    }
    moeg_kernel_activate(MOEG_KERNEL_TANH, (size_t)nodes, right, right);
    moeg_kernel_activate(MOEG_KERNEL_TANH, (size_t)nodes, left, left);
    moeg_kernel_exp((size_t)nodes, density, density);
    for (int k = 0; k <= half; k++) {
        const double q = step * k, weight = (k > 0 ? step : step / 2) * 0.39894228040143267794 * density[k];
        add_powers(weight * right[k], q, J);
        add_powers(weight * left[k], -q, J);
    }
}

/* T less the sign is -sign(y) 2/(1 + exp(|y|/tau)), in a layer of width a = tau/slope in q around -r: panels in y/tau,
 * as the Gaussian is smooth over them. */
static void add_thin(double r, double a, double *J)
{
    static const double edge[PANELS + 1] = {0, 2, 4, 8, 16, 40};
    _Alignas(64) double q[THIN_NODES], density[THIN_NODES], weight[THIN_NODES], layer[THIN_NODES];
    int count = 0;
    for (int panel = 0; panel < PANELS; panel++)
        for (int i = 0; i < SIDE; i++) {
            const moeg_quad_node *node = &moeg_quad_rule[i < MOEG_QUAD_NODES ? i : i - MOEG_QUAD_NODES + 1];
            const double half = (edge[panel + 1] - edge[panel]) / 2, sign = i < MOEG_QUAD_NODES ? 1 : -1;
            const double y = edge[panel] + half * (1 + sign * node->node);
            for (int side = -1; side <= 1; side += 2, count++) {
                q[count] = side * a * y - r;
                layer[count] = -y;
                weight[count] = -side * 0.79788456080286535588 * a * half * node->kronrod; /* 2/sqrt(2 pi) */
            }
        }
    for (; count < THIN_NODES; count++)
        q[count] = layer[count] = weight[count] = 0;
    for (int i = 0; i < THIN_NODES; i++)
        density[i] = fmax(-700, -q[i] * q[i] / 2);
    moeg_kernel_exp(THIN_NODES, density, density);
    moeg_kernel_exp(THIN_NODES, layer, layer);
    for (int i = 0; i < THIN_NODES; i++)
        add_powers(weight[i] * density[i] * layer[i] / (1 + layer[i]), q[i], J);
}

void moeg_plane_teacher(double mid, double slope, double tau, double *J)
{
    const double turn = slope < 0 ? -1 : 1; /* q is as good as -q */
    slope = fabs(slope);
    memset(J, 0, MOEG_PLANE_POWERS * sizeof *J);
    if (tau >= WIDE * slope && tau > 0) {
        add_wide(mid, slope, tau, J);
    } else if (slope > 0) {
        add_sign(mid / slope, J);
        if (tau > 0 && fabs(mid / slope) < 40)
            add_thin(mid / slope, tau / slope, J);
    } else {
        J[0] = J[2] = (mid > 0) - (mid < 0);
    }
    J[1] *= turn;
    J[3] *= turn;
}
