/* What cooling_report prints, by the obvious computation in long double, on data made here: preprocessing, the split,
 * the router, experts by normal equations, gates, risks and gaps, all in loops of this file's own. */
#ifndef MOEG_TESTS_EXAMPLES_ORACLE_H
#define MOEG_TESTS_EXAMPLES_ORACLE_H

#include "examples/report.h"

#include <moegeom/moegeom.h>

enum { N = 640, D = 3, K = 4, NTAU = 33 };

/* Two independent computations of some hundred roundings each. */
static const double close_enough = 1e-12;

typedef struct data {
    double raw[N][D + 2]; /* columns u, price, v, t, w; price is the target, w the weights */
    double router[K][D + 1];
} data;

/* Columns are written up to w, or with it. */
static inline void write_data(const data *s, int weighted)
{
    FILE *file = open_file("data.csv", "w");
    fputs(weighted ? "u,price,v,t,w\n" : "u,price,v,t\n", file);
    for (size_t i = 0; i < N; i++)
        for (int j = 0; j < D + 1 + weighted; j++)
            fprintf(file, "%.17g%c", s->raw[i][j], j < D + weighted ? ',' : '\n');
    fclose(file);
    file = open_file("router.csv", "w");
    for (size_t k = 0; k < K; k++)
        fprintf(file, "%.17g,%.17g,%.17g,%.17g\n", s->router[k][0], s->router[k][1], s->router[k][2], s->router[k][3]);
    fclose(file);
}

/* Irregular but fixed: fractional parts of multiples of irrational numbers. Every ninth row has no weight. */
static inline void make_data(data *s, int weighted)
{
    static const double router[K][D + 1] = {
        {0.9, -0.4, 0.3, 0.15}, {-0.7, 0.8, 0.2, -0.25}, {-0.1, -0.6, -1.1, 0.05}, {0.2, 0.35, 0.9, -0.3}};
    memcpy(s->router, router, sizeof router);
    for (size_t i = 0; i < N; i++) {
        const double u = fmod(0.7548776662 * (double)(i + 1), 1), v = fmod(0.5698402909 * (double)(i + 1), 1);
        const double t = fmod(0.8191725134 * (double)(i + 1), 1);
        s->raw[i][0] = 3.7 * u - 0.9;
        s->raw[i][2] = exp(2.385 * v);
        s->raw[i][3] = 1e3 + 40 * t;
        s->raw[i][1] = exp(0.7 * u - 1.3 * v * v + 0.4 * sin(9 * t) + 2);
        s->raw[i][4] = i % 9 == 4 ? 0 : 0.6 + fmod(0.6180339887 * (double)(i + 1), 1);
    }
    write_data(s, weighted);
}

typedef struct oracle {
    moeg_gate gate;
    int held[N];      /* measured on, not fitted on; none is held: all rows are both */
    int any_held;     /* whether some row is */
    long double w[N]; /* weights */
    long double x[N][D], y[N], logits[N][K], outputs[N][K], margin[N], residual[K];
    size_t order[N][K]; /* experts by descending logit */
    size_t rows[K];     /* rows of positive weight that expert k was fitted on */
} oracle;

/* The rows of the `share` smallest draws are held out. */
static inline void hold_out(oracle *o, double share, uint64_t seed)
{
    double u[N];
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 1000}, 0, N, 1, u));
    o->any_held = 1;
    for (size_t i = 0; i < N; i++) {
        size_t below = 0;
        for (size_t j = 0; j < N; j++)
            below += u[j] < u[i];
        o->held[i] = below < share * N;
    }
}

/* log of price and v, features u, v, t standardised over the rows to fit on. */
static inline void prepare(const data *s, oracle *o)
{
    for (size_t i = 0; i < N; i++) {
        o->x[i][0] = s->raw[i][0];
        o->x[i][1] = logl(s->raw[i][2]);
        o->x[i][2] = s->raw[i][3];
        o->y[i] = logl(s->raw[i][1]);
    }
    for (size_t j = 0; j < D; j++) {
        long double total = 0, mean = 0, variance = 0;
        for (size_t i = 0; i < N; i++)
            total += o->held[i] ? 0 : o->w[i];
        for (size_t i = 0; i < N; i++)
            mean += o->held[i] ? 0 : o->w[i] * o->x[i][j] / total;
        for (size_t i = 0; i < N; i++)
            variance += o->held[i] ? 0 : o->w[i] * (o->x[i][j] - mean) * (o->x[i][j] - mean) / total;
        for (size_t i = 0; i < N; i++)
            o->x[i][j] = (o->x[i][j] - mean) / sqrtl(variance);
    }
}

static inline void route(const data *s, oracle *o)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < K; k++) {
            o->logits[i][k] = s->router[k][D];
            for (size_t j = 0; j < D; j++)
                o->logits[i][k] += s->router[k][j] * o->x[i][j];
        }
        for (size_t k = 0; k < K; k++) {
            size_t rank = 0;
            for (size_t l = 0; l < K; l++)
                rank += o->logits[i][l] > o->logits[i][k];
            o->order[i][rank] = k;
        }
        /* The gap that decides: between ranks k and k + 1 for a subset of k, else the margin. */
        const size_t upper = o->gate.kind == MOEG_GATE_SUBSET ? o->gate.k - 1 : 0;
        o->margin[i] = o->logits[i][o->order[i][upper]] - o->logits[i][o->order[i][upper + 1]];
    }
}

/* The solution of a square system, by elimination with pivots on the diagonal: normal equations are positive definite.
 */
static inline void solve(long double G[D + 1][D + 1], long double h[D + 1])
{
    for (size_t c = 0; c <= D; c++)
        for (size_t r = 0; r <= D; r++) {
            if (r == c)
                continue;
            const long double factor = G[r][c] / G[c][c];
            for (size_t j = 0; j <= D; j++)
                G[r][j] -= factor * G[c][j];
            h[r] -= factor * h[c];
        }
    for (size_t c = 0; c <= D; c++)
        h[c] /= G[c][c];
}

/* Expert k by weighted least squares over the fitted rows of its cell, and its mean squared residual there. */
static inline void fit_expert(oracle *o, size_t k)
{
    long double G[D + 1][D + 1] = {{0}}, h[D + 1] = {0}, total = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t a = 0; a <= D && o->order[i][0] == k && !o->held[i]; a++) {
            for (size_t b = 0; b <= D; b++)
                G[a][b] += o->w[i] * (a < D ? o->x[i][a] : 1) * (b < D ? o->x[i][b] : 1);
            h[a] += o->w[i] * (a < D ? o->x[i][a] : 1) * o->y[i];
        }
    solve(G, h);
    for (size_t i = 0; i < N; i++) {
        o->outputs[i][k] = h[D];
        for (size_t j = 0; j < D; j++)
            o->outputs[i][k] += h[j] * o->x[i][j];
        if (o->order[i][0] != k || o->held[i])
            continue;
        o->residual[k] += o->w[i] * (o->y[i] - o->outputs[i][k]) * (o->y[i] - o->outputs[i][k]);
        o->rows[k] += o->w[i] > 0;
        total += o->w[i];
    }
    o->residual[k] /= total;
}

/* All of the above; gate, weights and rows held out are already there. */
static inline void obvious(const data *s, oracle *o)
{
    prepare(s, o);
    route(s, o);
    for (size_t k = 0; k < K; k++)
        fit_expert(o, k);
}

/* The oracle of softmax on all rows, of equal weight. */
static inline oracle *plain_oracle(const data *s)
{
    oracle *o = calloc(1, sizeof *o);
    o->gate = moeg_gate_softmax();
    for (size_t i = 0; i < N; i++)
        o->w[i] = 1;
    obvious(s, o);
    return o;
}

/* What the mixture makes of row i: hard, or at tau > 0. Weights of experts, and of pairs of them for a subset of two,
 * relative to the largest. */
static inline long double hard_output(const oracle *o, size_t i)
{
    const long double first = o->outputs[i][o->order[i][0]];
    return o->gate.kind == MOEG_GATE_SUBSET ? (first + o->outputs[i][o->order[i][1]]) / 2 : first;
}

static inline long double soft_output(const oracle *o, size_t i, long double tau)
{
    const long double *a = o->logits[i], *f = o->outputs[i];
    const size_t *order = o->order[i];
    const int subset = o->gate.kind == MOEG_GATE_SUBSET;
    long double sum = 0, all = 0, mixed = 0;
    for (size_t r = 0; r < K && !subset; r++) {
        const long double gate = expl((a[order[r]] - a[order[0]]) / tau);
        all += gate;
        if (o->gate.kind == MOEG_GATE_SOFTMAX || r < o->gate.k) {
            sum += gate;
            mixed += gate * f[order[r]];
        }
    }
    for (size_t r = 0; r < K && subset; r++)
        for (size_t q = 0; q < r; q++) {
            const long double gate = expl((a[order[r]] + a[order[q]] - a[order[0]] - a[order[1]]) / tau);
            sum += gate;
            mixed += gate * (f[order[r]] + f[order[q]]) / 2;
        }
    return mixed / (o->gate.kind == MOEG_GATE_TOPK_RAW ? all : sum);
}

typedef struct risks {
    long double soft, hard, error; /* L_tau, L_0, and the standard error of their difference */
    int known;                     /* whether enough rows feel tau for one */
} risks;

/* Weighted means over the rows to measure on; their variance Σ w² (v - mean)²/(Σ w)² u/(u - 1), u = (Σ w)²/Σ w². */
static inline risks obvious_risks(const oracle *o, long double tau)
{
    risks found = {0};
    long double loss[N], total = 0, squares = 0, spread = 0, v = 0, vv = 0;
    size_t feel = 0;
    for (size_t i = 0; i < N; i++) {
        const long double w = o->any_held && !o->held[i] ? 0 : o->w[i];
        const long double cold = o->y[i] - hard_output(o, i), warm = o->y[i] - soft_output(o, i, tau);
        loss[i] = warm * warm - cold * cold;
        found.soft += w * warm * warm;
        found.hard += w * cold * cold;
        total += w;
        squares += w * w;
        feel += w > 0 && o->margin[i] <= 45 * tau;
        v += w * fabsl(loss[i]);
        vv += w * w * loss[i] * loss[i];
    }
    found.soft /= total;
    found.hard /= total;
    for (size_t i = 0; i < N; i++) {
        const long double w = o->any_held && !o->held[i] ? 0 : o->w[i];
        const long double off = loss[i] - (found.soft - found.hard);
        spread += w * w * off * off;
    }
    const long double units = total * total / squares;
    found.error = sqrtl(spread / (total * total) * units / (units - 1));
    found.known = feel >= 30 && v * v >= 30 * vv;
    return found;
}

/* risks.csv, of --tau 0.002:4:33, holds the oracle's numbers, and the report its safe temperature: the last of those
 * from the lowest up whose gap is within 1 % of the hard risk. */
static inline void assert_risks_are_those_of(const oracle *o)
{
    double found[NTAU][5], safe = 0;
    size_t known = 0;
    int all_safe = 1;
    read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", NTAU, 5, *found);
    for (size_t t = 0; t < NTAU; t++) {
        const double tau = found[t][0];
        const risks expected = obvious_risks(o, tau);
        const long double gap = expected.soft - expected.hard;
        assert_relative(tau, 0.002 * pow(2000, (double)t / 32), 10 * EPS);
        assert_relative(found[t][1], (double)expected.soft, close_enough);
        assert_relative(found[t][2], (double)expected.hard, close_enough);
        assert_near(found[t][3], (double)gap, close_enough * (double)expected.hard);
        if (expected.known)
            assert_relative(found[t][4], (double)expected.error, 10 * close_enough);
        else
            assert_true(isinf(found[t][4]));
        known += (size_t)expected.known;
        all_safe = all_safe && fabsl(gap) <= 0.01L * expected.hard;
        safe = all_safe ? tau : safe;
    }
    /* Some error bars are known, of rows that were held out too, and some are not. */
    assert_true(known >= 10 && known < NTAU);
    assert_true(safe > 0.002 && safe < 4);
    char text[64];
    snprintf(text, sizeof text, "safe temperature: tau* = %.6g", safe);
    assert_true(reported(text));
    assert_true(reported("agrees with theory"));
}

#endif
