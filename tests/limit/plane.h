/* The risks of two experts by their definitions, integrated over a plane in long double: d = 1 or 2, any gate, a
 * teacher of one or two pieces with noise. */
#ifndef MOEG_TESTS_LIMIT_PLANE_H
#define MOEG_TESTS_LIMIT_PLANE_H

#include "limit/problem.h"

/* L_0, G and dG/dtau. */
struct plane_sums {
    long double hard, gap, slope;
};

/* x = mean + first z_1 + second z_2, s = s0 + s1 z_1 (s1 > 0) and t = t0 + t1 z_1 + t2 z_2, z standard normal. */
struct plane {
    const struct problem *p;
    double tau;
    size_t gate_count;
    const moeg_gate *gates;
    long double first[2], second[2], s0, s1, t0, t1, t2;
};

static inline struct plane plane_make(const struct problem *p, double tau, size_t gate_count, const moeg_gate *gates)
{
    struct plane q = {.p = p, .tau = tau, .gate_count = gate_count, .gates = gates};
    const size_t d = p->d;
    const long double a = sqrtl(p->covariance[0]), b = d == 2 ? p->covariance[1] / a : 0;
    const long double c = d == 2 ? sqrtl(p->covariance[3] - b * b) : 0;
    const long double factor[2][2] = {{a, 0}, {b, c}};
    long double s[2] = {0, 0}, t[2] = {0, 0};
    q.s0 = (long double)p->b[0] - p->b[1];
    q.t0 = (long double)p->e[0] - p->e[1];
    for (size_t i = 0; i < d; i++) {
        const long double w = (long double)p->W[i] - p->W[d + i], v = (long double)p->V[i] - p->V[d + i];
        q.s0 += w * p->mean[i];
        q.t0 += v * p->mean[i];
        for (size_t j = 0; j < 2; j++) {
            s[j] += w * factor[i][j];
            t[j] += v * factor[i][j];
        }
    }
    q.s1 = hypotl(s[0], s[1]);
    const long double cosine = s[0] / q.s1, sine = s[1] / q.s1;
    for (size_t i = 0; i < d; i++) {
        q.first[i] = factor[i][0] * cosine + factor[i][1] * sine;
        q.second[i] = factor[i][1] * cosine - factor[i][0] * sine;
    }
    q.t1 = t[0] * cosine + t[1] * sine;
    q.t2 = t[1] * cosine - t[0] * sine;
    if (fabsl(q.t2) < 1e-16L)
        q.t2 = 0; /* Parallel interfaces. */
    return q;
}

/* The gates {winner, loser} at tau and at 0, and their derivatives. */
static inline void plane_gates(moeg_gate gate, long double w, double tau, long double (*g)[3])
{
    const long double q = 1 / (1 + expl(w)), p = 1 / (1 + expl(-w)), moves = p * q * w / tau;
    const int raw = gate.kind == MOEG_GATE_TOPK_RAW && gate.k == 1;
    const int best = gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1,
              mean = gate.kind == MOEG_GATE_SUBSET && gate.k == 2;
    const long double winner[3] = {mean ? 0.5L : best ? 1 : p, mean ? 0.5L : 1, mean || best ? 0 : -moves};
    const long double loser[3] = {mean ? 0.5L : best || raw ? 0 : q, mean ? 0.5L : 0, mean || best || raw ? 0 : moves};
    memcpy(g[0], winner, sizeof winner);
    memcpy(g[1], loser, sizeof loser);
}

/* Adds weight times the losses of one gate and mixing, given the outputs of winner, loser and teacher. */
static inline void plane_add_loss(const struct problem *p, moeg_mixing mixing, long double (*g)[3],
                                  long double (*f)[MOST_M], long double weight, struct plane_sums *sums)
{
    const int loss = mixing == MOEG_MIX_LOSS;
    long double soft = 0, hard = 0, slope = loss ? p->noise * (g[0][2] + g[1][2]) : 0;
    for (size_t j = 0; j < p->m; j++) {
        long double mixed[3] = {0};
        for (size_t k = 0; k < 2; k++) {
            const long double r = f[k][j] - f[2][j];
            for (int i = 0; i < 3; i++)
                mixed[i] += g[k][i] * (loss ? r * r : f[k][j]);
        }
        soft += loss ? mixed[0] : (mixed[0] - f[2][j]) * (mixed[0] - f[2][j]);
        hard += loss ? mixed[1] : (mixed[1] - f[2][j]) * (mixed[1] - f[2][j]);
        slope += loss ? mixed[2] : 2 * mixed[2] * (mixed[0] - f[2][j]);
    }
    sums->hard += weight * (hard + p->noise);
    sums->gap += weight * ((soft - hard) + (loss ? p->noise * (g[0][0] + g[1][0] - 1) : 0));
    sums->slope += weight * slope;
}

/* Adds weight times the losses at z. */
static inline void plane_add(const struct plane *q, long double z1, long double z2, int above, long double weight,
                             struct plane_sums (*sums)[2])
{
    const struct problem *p = q->p;
    const long double s = q->s0 + q->s1 * z1;
    const size_t of[3] = {s > 0 ? 0 : 1, s > 0 ? 1 : 0, p->pieces == 2 && !above ? 3 : 2};
    long double f[3][MOST_M], g[2][3];
    for (size_t k = 0; k < 3; k++)
        for (size_t j = 0; j < p->m; j++) {
            f[k][j] = p->c[of[k]][j];
            for (size_t i = 0; i < p->d; i++)
                f[k][j] += p->A[of[k]][j * p->d + i] * (p->mean[i] + q->first[i] * z1 + q->second[i] * z2);
        }
    for (size_t gate = 0; gate < q->gate_count; gate++) {
        plane_gates(q->gates[gate], fabsl(s) / q->tau, q->tau, g);
        plane_add_loss(p, MOEG_MIX_OUTPUT, g, f, weight, &sums[gate][0]);
        plane_add_loss(p, MOEG_MIX_LOSS, g, f, weight, &sums[gate][1]);
    }
}

/* Nodes of a double-exponential rule on [a, b], b or -a maybe infinite: each halving of `step` doubles the digits. */
struct plane_node {
    long double at, weight;
};

static inline size_t plane_nodes(long double a, long double b, long double scale, long double step,
                                 struct plane_node *nodes)
{
    const long double half_pi = 1.57079632679489661923L, reach = 4.2L;
    size_t n = 0;
    for (long k = -(long)(reach / step); k <= (long)(reach / step); k++) {
        const long double t = k * step, inner = half_pi * sinhl(t), rise = half_pi * coshl(t) * step;
        struct plane_node node;
        if (isinf(a) || isinf(b)) {
            const long double u = scale * expl(inner);
            node = (struct plane_node){isinf(b) ? a + u : b - u, u * rise};
        } else {
            const long double share = 1 / (1 + expl(-2 * inner));
            node = (struct plane_node){a + (b - a) * share, (b - a) * 2 * share * (1 - share) * rise};
        }
        nodes[n++] = node;
    }
    return n;
}

static inline long double plane_density(long double z)
{
    return 0.39894228040143267793994605993438L * expl(-z * z / 2);
}

/* E[z^k; z > split] of a standard normal, k = 0, 1, 2, between split and 0 and beyond both. */
static inline void plane_moments(long double split, long double *moments)
{
    static struct plane_node nodes[1000];
    const long double cuts[3] = {split, fmaxl(split, 0), INFINITY};
    memset(moments, 0, 3 * sizeof *moments);
    for (int part = 0; part < 2; part++) {
        const size_t n = cuts[part] < cuts[part + 1] ? plane_nodes(cuts[part], cuts[part + 1], 1, 1.0L / 32, nodes) : 0;
        for (size_t i = 0; i < n; i++) {
            const long double z = nodes[i].at, mass = plane_density(z) * nodes[i].weight;
            if (mass > 0) {
                moments[0] += mass;
                moments[1] += mass * z;
                moments[2] += mass * z * z;
            }
        }
    }
}

/* The line z_1: losses are quadratic in z_2, hence known from three points, with weights that give the moments of
 * either side of t = 0; or one node where nothing depends on z_2. */
static inline void plane_line(const struct plane *q, long double z1, long double weight, struct plane_sums (*sums)[2])
{
    const long double t = q->t0 + q->t1 * z1;
    if (q->p->d == 1) {
        plane_add(q, z1, 0, t > 0, weight, sums);
        return;
    }
    const long double split = q->t2 != 0 ? fmaxl(fminl(-t / q->t2, 40), -40) : 0;
    for (int side = 0; side < 2; side++) {
        long double moment[3];
        plane_moments(side == 1 ? split : -split, moment);
        moment[1] *= side == 1 ? 1 : -1;
        const int above = q->t2 == 0 ? t > 0 : (side == 1) == (q->t2 > 0);
        plane_add(q, z1, -1, above, weight * (moment[2] - moment[1]) / 2, sums);
        plane_add(q, z1, 0, above, weight * (moment[0] - moment[2]), sums);
        plane_add(q, z1, 1, above, weight * (moment[2] + moment[1]) / 2, sums);
    }
}

/* Of each gate and mixing. Over z_1 between the points where s or, where it does not depend on z_2, t is 0. */
static inline void plane_integrate(const struct problem *p, double tau, size_t gate_count, const moeg_gate *gates,
                                   struct plane_sums (*sums)[2])
{
    static struct plane_node nodes[2000];
    const struct plane q = plane_make(p, tau, gate_count, gates);
    long double cuts[4] = {-INFINITY, -q.s0 / q.s1, INFINITY, INFINITY};
    size_t pieces = 2;
    if (p->pieces == 2 && q.t2 == 0 && fabsl(-q.t0 / q.t1 - cuts[1]) > 1e-15L) {
        const long double edge = -q.t0 / q.t1;
        cuts[2] = fmaxl(edge, cuts[1]);
        cuts[1] = fminl(edge, cuts[1]);
        pieces = 3;
    }
    memset(sums, 0, gate_count * sizeof *sums);
    for (size_t i = 0; i < pieces; i++) {
        const size_t n = plane_nodes(cuts[i], cuts[i + 1], fminl(tau / q.s1, 1), 1.0L / 64, nodes);
        for (size_t k = 0; k < n; k++) {
            const long double density = plane_density(nodes[k].at) * nodes[k].weight;
            if (density > 1e-25L * fminl(tau, 1))
                plane_line(&q, nodes[k].at, density, sums);
        }
    }
}

#endif
