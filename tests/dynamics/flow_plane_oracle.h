/* The risk of two experts in a plane and its gradient, by brute force: nodes in polar coordinates, graded towards the
 * origin and towards all rays along which something jumps or has a layer; everything is formed at the nodes as it is
 * defined. */
#ifndef MOEG_TESTS_DYNAMICS_FLOW_PLANE_ORACLE_H
#define MOEG_TESTS_DYNAMICS_FLOW_PLANE_ORACLE_H

#include <math.h>
#include <string.h>

enum { ORACLE_NODES = 16, ORACLE_EDGES = 1000, ORACLE_STATE = 8 };

/* x = (a, b), a along v. A state is u (2), c (3, of 1, a, b), B (3, likewise). */
struct oracle_problem {
    double v, beta[2], mu, teacher_tau, sigma, tau;
};

/* Of both mixings: output, loss. */
struct oracle_sums {
    double risk[2], gradient[2][ORACLE_STATE];
};

/* Gauss-Legendre on [-1, 1], by Newton's method. */
static inline void oracle_rule(double *node, double *weight)
{
    for (int i = 0; i < ORACLE_NODES; i++) {
        long double x = cosl(3.14159265358979323846L * (i + 0.75L) / (ORACLE_NODES + 0.5L)), slope = 1;
        for (int step = 0; step < 8; step++) {
            long double last = 1, value = x;
            for (int k = 2; k <= ORACLE_NODES; k++) {
                const long double next = ((2 * k - 1) * x * value - (k - 1) * last) / k;
                last = value;
                value = next;
            }
            slope = ORACLE_NODES * (x * value - last) / (x * x - 1);
            x -= value / slope;
        }
        node[i] = (double)x;
        weight[i] = (double)(2 / ((1 - x * x) * slope * slope));
    }
}

/* Edges of panels from lo to hi that start at `finest` at the ends that are graded, and grow threefold. */
static inline int oracle_edges(double lo, double hi, double finest, double widest, int both, double *edge)
{
    int count = 0;
    const double middle = both ? (lo + hi) / 2 : hi;
    edge[count++] = lo;
    for (double width = finest; edge[count - 1] < middle;
         width = fmin(widest, count > 1 ? 2 * (edge[count - 1] - lo) : width)) {
        edge[count] = fmin(middle, edge[count - 1] + width);
        count++;
    }
    for (int i = count - 2; both && i >= 0; i--)
        edge[count++] = hi - (edge[i] - lo);
    return count;
}

static inline double oracle_teacher(const struct oracle_problem *p, double a)
{
    return p->teacher_tau > 0 ? tanh(p->v * a / (2 * p->teacher_tau)) : (a > 0) - (a < 0);
}

/* One node of this weight. */
static inline void oracle_add(const struct oracle_problem *p, const double *state, double a, double b, double weight,
                              struct oracle_sums *sums)
{
    const double x[3] = {1, a, b};
    double f = 0, h = 0;
    for (int j = 0; j < 3; j++) {
        h += state[2 + j] * x[j];
        f += state[5 + j] * x[j];
    }
    const double s = (state[0] * a + state[1] * b) / p->tau, t = tanh(s / 2);
    const double slope = 0.5 / (cosh(s / 2) * cosh(s / 2)) / p->tau; /* dt/du = slope x */
    const double y = oracle_teacher(p, a) * (p->beta[0] * a + p->beta[1] * b + p->mu);
    const double g_plus = (1 + t) / 2, g_minus = (1 - t) / 2, plus = y - f - h, minus = y - f + h, e = y - f - t * h;
    sums->risk[0] += weight * e * e;
    sums->risk[1] += weight * (g_plus * plus * plus + g_minus * minus * minus);
    for (int j = 0; j < 2; j++) {
        sums->gradient[0][j] += weight * -2 * e * h * slope * x[1 + j];
        sums->gradient[1][j] += weight * (plus * plus - minus * minus) * slope / 2 * x[1 + j];
    }
    for (int j = 0; j < 3; j++) {
        sums->gradient[0][2 + j] += weight * -2 * e * t * x[j];
        sums->gradient[1][2 + j] += weight * (-2 * g_plus * plus + 2 * g_minus * minus) * x[j];
        sums->gradient[0][5 + j] += weight * -2 * e * x[j];
        sums->gradient[1][5 + j] += weight * (-2 * g_plus * plus - 2 * g_minus * minus) * x[j];
    }
}

/* Angles of the rays, ascending, from the first one on a full turn. Returns how many, with the end. */
static inline int oracle_rays(const double *u, double *ray)
{
    const double pi = 3.14159265358979323846;
    const double turn = atan2(u[1], u[0]);
    double all[4] = {pi / 2, 3 * pi / 2, turn + pi / 2, turn + 3 * pi / 2};
    int count = 0;
    for (int i = 0; i < 4; i++)
        all[i] = fmod(all[i] + 4 * pi, 2 * pi);
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++)
            if (all[j] < all[i]) {
                const double swap = all[i];
                all[i] = all[j];
                all[j] = swap;
            }
    for (int i = 0; i < 4; i++)
        if (count == 0 || all[i] - ray[count - 1] > 1e-14)
            ray[count++] = all[i];
    ray[count] = ray[0] + 2 * pi;
    return count + 1;
}

static inline void oracle_gradient(const struct oracle_problem *p, const double *state, struct oracle_sums *sums)
{
    const double pi = 3.14159265358979323846;
    double node[ORACLE_NODES], weight[ORACLE_NODES], angle[ORACLE_EDGES], radius[ORACLE_EDGES], ray[5];
    oracle_rule(node, weight);
    memset(sums, 0, sizeof *sums);
    double finest = fmin(1, p->tau / (hypot(state[0], state[1]) * p->sigma));
    if (p->teacher_tau > 0)
        finest = fmin(finest, p->teacher_tau / (p->v * p->sigma));
    const int rays = oracle_rays(state, ray), circles = oracle_edges(0, 11, finest / 2, 1.5, 0, radius);
    for (int k = 0; k + 1 < rays; k++) {
        const int edges = oracle_edges(ray[k], ray[k + 1], finest / 10, 0.5, 1, angle);
        for (int i = 0; i + 1 < edges; i++)
            for (int in = 0; in < ORACLE_NODES; in++) {
                const double half = (angle[i + 1] - angle[i]) / 2, phi = angle[i] + half * (1 + node[in]);
                const double a = p->sigma * cos(phi), b = p->sigma * sin(phi), share = half * weight[in] / (2 * pi);
                for (int j = 0; j + 1 < circles; j++)
                    for (int jn = 0; jn < ORACLE_NODES; jn++) {
                        const double width = (radius[j + 1] - radius[j]) / 2, r = radius[j] + width * (1 + node[jn]);
                        oracle_add(p, state, r * a, r * b, share * width * weight[jn] * r * exp(-r * r / 2), sums);
                    }
            }
    }
}

#endif
