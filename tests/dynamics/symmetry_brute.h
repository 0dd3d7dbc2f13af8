/* M of random teachers in halves by a tensor product of one-dimensional rules in d dimensions, in long double: graded
 * panels along v, five-point Gauss-Hermite across. x and f are formed as they stand: no plane, no closed form. */
#ifndef MOEG_TESTS_DYNAMICS_SYMMETRY_BRUTE_H
#define MOEG_TESTS_DYNAMICS_SYMMETRY_BRUTE_H

#include "base/quad.h"
#include "dynamics/symmetry_cases.h"
#include "support/random.h"

struct random_problem {
    size_t d, m;
    int singular;
    double tau, v[CASE_DIM], beta[2 * CASE_DIM], mu[2], mean[CASE_DIM], covariance[CASE_DIM * CASE_DIM];
    double basis[CASE_DIM * CASE_DIM]; /* x = mean + basis z, z ~ N(0, I), v.x - v.mean a multiple of z_0 */
    moeg_law *law;                     /* to be freed */
};

static inline moeg_halves random_halves(const struct random_problem *r)
{
    return (moeg_halves){.d = r->d, .outputs = r->m, .v = r->v, .beta = r->beta, .mu = r->mu, .tau = r->tau};
}

/* The covariance is B B', B random (singular: its last column is 0, d >= 2), and basis = B H, H the Householder
 * reflection that takes B'v to the first axis. */
static inline void make_random_problem(struct random_problem *r, size_t d, double tau, double far, int singular,
                                       uint64_t *seed)
{
    *r = (struct random_problem){
        .d = d, .m = 1 + (size_t)(next_bits(seed) & 1), .singular = singular && d > 1, .tau = tau};
    double B[CASE_DIM * CASE_DIM], u[CASE_DIM] = {0}, length = 0;
    for (size_t i = 0; i < d * d; i++)
        B[i] = r->singular && i % d == d - 1 ? 0 : next_normal(seed);
    for (size_t i = 0; i < d; i++) {
        r->v[i] = next_normal(seed);
        r->mean[i] = far * next_normal(seed);
    }
    for (size_t i = 0; i < r->m * d; i++)
        r->beta[i] = next_normal(seed);
    for (size_t o = 0; o < r->m; o++)
        r->mu[o] = next_normal(seed);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k < d; k++)
                r->covariance[i * d + j] += B[i * d + k] * B[j * d + k];
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < d; i++)
            u[j] += B[i * d + j] * r->v[i];
    for (size_t j = 0; j < d; j++)
        length += u[j] * u[j];
    u[0] += copysign(sqrt(length), u[0]);
    length = 0;
    for (size_t j = 0; j < d; j++)
        length += u[j] * u[j];
    for (size_t i = 0; i < d; i++) {
        double product = 0;
        for (size_t j = 0; j < d; j++)
            product += B[i * d + j] * u[j];
        for (size_t j = 0; j < d; j++)
            r->basis[i * d + j] = B[i * d + j] - 2 * product * u[j] / length;
    }
    assert_ok(moeg_law_gaussian_create(&r->law, d, r->mean, r->covariance));
}

/* Solves A X = B, A (s x s) positive definite, in place: Gauss. */
static inline void brute_solve(size_t s, size_t p, long double *A, long double *B)
{
    for (size_t c = 0; c < s; c++)
        for (size_t i = 0; i < s; i++) {
            if (i == c)
                continue;
            const long double factor = A[i * s + c] / A[c * s + c];
            for (size_t j = 0; j < s; j++)
                A[i * s + j] -= factor * A[c * s + j];
            for (size_t j = 0; j < p; j++)
                B[i * p + j] -= factor * B[c * p + j];
        }
    for (size_t c = 0; c < s; c++)
        for (size_t j = 0; j < p; j++)
            B[c * p + j] /= A[c * s + c];
}

enum { BRUTE_SIDE = 34 * 21, BRUTE_NODES = 2 * BRUTE_SIDE };

/* Nodes z_0 - at and weights of N(0, 1): panels that double from 1e-6 to 1/2 on both sides of `at`. */
static inline size_t brute_line(long double at, long double *offset, long double *weight)
{
    size_t count = 0;
    for (int side = -1; side <= 1; side += 2) {
        long double from = 0, width = 1e-6L;
        for (; side * at + from < 11; from += width, width = fminl(2 * width, 0.5L)) {
            if (side * at + from + width < -11)
                continue;
            for (int k = -(MOEG_QUAD_NODES - 1); k < MOEG_QUAD_NODES; k++) {
                const moeg_quad_node *node = &moeg_quad_rule[abs(k)];
                const long double t = from + width / 2 * (1 + (k < 0 ? -1 : 1) * (long double)node->node),
                                  z = at + side * t;
                assert_true(count < 4 * BRUTE_NODES);
                offset[count] = side * t;
                weight[count++] = width / 2 * node->kronrod * expl(-z * z / 2) / sqrtl(2 * acosl(-1));
            }
        }
    }
    return count;
}

/* Sums at one x of weight w: pass 0 those of the normal equations, pass 1 those of M. */
struct brute {
    const struct random_problem *r;
    size_t s, p; /* features of the symmetric expert and of the contrast */
    int intercept, linear, contrast_one, contrast_linear;
    long double G[25], h[10], M[CASE_DIM * CASE_COLUMNS];
};

static inline void brute_add(struct brute *b, int pass, long double factor, const long double *x, long double w)
{
    const struct random_problem *r = b->r;
    long double fit[5], psi[5], y[2];
    size_t s = 0, p = 0;
    if (b->intercept)
        fit[s++] = 1;
    for (size_t j = 0; j < r->d && b->linear && s < b->s; j++)
        fit[s++] = x[j];
    if (b->contrast_one)
        psi[p++] = 1;
    for (size_t j = 0; j < r->d && b->contrast_linear; j++)
        psi[p++] = x[j];
    for (size_t o = 0; o < r->m; o++) {
        y[o] = r->mu[o];
        for (size_t j = 0; j < r->d; j++)
            y[o] += r->beta[o * r->d + j] * x[j];
        y[o] *= factor;
    }
    if (pass == 0) {
        for (size_t i = 0; i < s; i++) {
            for (size_t j = 0; j < s; j++)
                b->G[i * s + j] += w * fit[i] * fit[j];
            for (size_t o = 0; o < r->m; o++)
                b->h[i * r->m + o] += w * fit[i] * y[o];
        }
        return;
    }
    for (size_t o = 0; o < r->m; o++) {
        for (size_t i = 0; i < s; i++)
            y[o] -= b->h[i * r->m + o] * fit[i];
        for (size_t i = 0; i < r->d; i++)
            for (size_t j = 0; j < p; j++)
                b->M[i * r->m * p + o * p + j] += w * x[i] * y[o] * psi[j];
    }
}

/* Five-point Gauss-Hermite: 0, sqrt(5 -+ sqrt 10), exact to degree 9. */
static inline void brute_pass(struct brute *b, int pass)
{
    const struct random_problem *r = b->r;
    const long double root[] = {0, sqrtl(5 - sqrtl(10)), sqrtl(5 + sqrtl(10))};
    const long double node[] = {-root[2], -root[1], root[0], root[1], root[2]};
    const long double outer = (7 - 2 * sqrtl(10)) / 60, inner = (7 + 2 * sqrtl(10)) / 60;
    const long double weight[] = {outer, inner, 8.0L / 15, inner, outer};
    static long double offset[4 * BRUTE_NODES], along[4 * BRUTE_NODES];
    long double spread = 0, centre = 0;
    size_t tensor = 1;
    for (size_t i = 0; i < r->d; i++) {
        spread += (long double)r->v[i] * r->basis[i * r->d];
        centre += (long double)r->v[i] * r->mean[i];
        tensor *= i > 0 ? 5 : 1;
    }
    const size_t count = brute_line(-centre / spread, offset, along);
    for (size_t a = 0; a < count; a++)
        for (size_t t = 0; t < tensor; t++) {
            long double z[CASE_DIM] = {-centre / spread + offset[a]}, x[CASE_DIM], w = along[a];
            size_t rest = t;
            for (size_t j = 1; j < r->d; j++, rest /= 5) {
                z[j] = node[rest % 5];
                w *= weight[rest % 5];
            }
            for (size_t i = 0; i < r->d; i++) {
                x[i] = r->mean[i];
                for (size_t j = 0; j < r->d; j++)
                    x[i] += r->basis[i * r->d + j] * z[j];
            }
            const long double vx = spread * offset[a];
            brute_add(b, pass, r->tau > 0 ? tanhl(vx / (2 * r->tau)) : copysignl(1, vx), x, w);
        }
}

/* Where the covariance is singular (mean 0, or with an intercept), x_d is a function of the others: f is of them. */
static inline void brute_operator(const struct random_problem *r, moeg_symmetric symmetric,
                                  const moeg_contrast *contrast, double *M)
{
    struct brute b = {.r = r,
                      .intercept = symmetric == MOEG_SYMMETRIC_CONSTANT || symmetric == MOEG_SYMMETRIC_AFFINE,
                      .linear = symmetric == MOEG_SYMMETRIC_LINEAR || symmetric == MOEG_SYMMETRIC_AFFINE,
                      .contrast_one = contrast->kind != MOEG_CONTRAST_LINEAR,
                      .contrast_linear = contrast->kind != MOEG_CONTRAST_CONSTANT};
    b.s = (size_t)b.intercept + (b.linear ? r->d - (size_t)r->singular : 0);
    brute_pass(&b, 0);
    brute_solve(b.s, r->m, b.G, b.h);
    brute_pass(&b, 1);
    for (size_t i = 0; i < r->d * r->m * moeg_contrast_features(contrast, r->d); i++)
        M[i] = (double)b.M[i];
}

/* Of the terms of M: E|x|^2 E|y|, to order. */
static inline double random_scale(const struct random_problem *r)
{
    double second = 1, beta = largest_entry(2, r->mu);
    for (size_t i = 0; i < r->d; i++)
        second += r->covariance[i * r->d + i] + r->mean[i] * r->mean[i];
    for (size_t i = 0; i < r->m * r->d; i++)
        beta += fabs(r->beta[i]) * sqrt(second);
    return second * beta;
}

#endif
