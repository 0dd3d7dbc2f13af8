/* Whole courses of flows, from a small start until u is several tau. */
#include "breaking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { START_STREAM = 2004, ROWS = 121, PIECES = 70, PIECE_ROWS = 8 };

/* A course is followed for so many tau/sigma1. */
static const double rel_tol = 1e-8, LAST = 30;

typedef struct walk {
    const moeg_flow *flow;
    size_t d, q, state;
    double small, abs_tol; /* of the start; of the steps */
} walk;

/* |u|, its rate of growth and its cosine with v, which is the first direction of the plane. */
static void read_row(const walk *w, const double *state, breaking_course *c, size_t row)
{
    double *velocity = allocate(w->state, sizeof(double)), square = 0, growth = 0;
    require(moeg_flow_velocity(w->flow, state, NULL, velocity));
    for (size_t i = 0; i < w->d; i++) {
        square += state[i] * state[i];
        growth += state[i] * velocity[i];
    }
    c->size[row] = sqrt(square);
    c->rate[row] = growth / square;
    c->with_v[row] = fabs(state[0]) / sqrt(square);
    free(velocity);
}

/* Rows from a state on, at even steps until `length` later; the state becomes the last. Returns whether it was good. */
static int walk_on(const walk *w, double from, double length, size_t rows, double *state, breaking_course *c)
{
    double *states = allocate(rows * w->state, sizeof(double)), *times = allocate(rows, sizeof(double));
    for (size_t i = 0; i < rows; i++)
        times[i] = length * (double)(i + 1) / (double)rows;
    const int good =
        require(moeg_flow_run(w->flow, state, state + w->d, rows, times, rel_tol, w->abs_tol, states, NULL)) == MOEG_OK;
    for (size_t i = 0; i < rows && good; i++) {
        c->time[c->n] = from + times[i];
        read_row(w, &states[i * w->state], c, c->n++);
    }
    if (good)
        memcpy(state, &states[(rows - 1) * w->state], w->state * sizeof(double));
    free(states);
    free(times);
    return good;
}

/* Growth that slows down as u shrinks has no time scale of its own: pieces, each as long as those before, or as |u|
 * takes for a third. Ends where |u| is tau, or u goes to rest. */
static void walk_in_pieces(const walk *w, double tau, double *state, breaking_course *c)
{
    double time = 0, length = tau * tau;
    for (int i = 0; i < PIECES; i++) {
        if (!walk_on(w, time, length, PIECE_ROWS, state, c))
            return;
        const double rate = c->rate[c->n - 1], size = c->size[c->n - 1];
        if (size >= tau || size < 0.1 * c->size[0])
            return;
        time += length;
        length = rate > 0 ? fmin(time, 0.2 / rate) : time;
    }
}

/* A random start, |u| = small tau and |c| = small. Where M = 0 it is one that soon escapes: any contrast is at rest
 * with u = 0, and one that is not far smaller than u pulls u there; and what is across v waits until u has turned. So c
 * is small too, and of the two coordinates of u that along v is the larger one. */
static void start(const walk *w, double tau, int algebraic, uint64_t seed, double *state)
{
    const size_t n = w->d + w->q;
    double squares[2] = {0, 0};
    require(moeg_stream_normals((moeg_stream){seed, START_STREAM}, 0, 1, n, state));
    if (algebraic && fabs(state[0]) < fabs(state[1])) {
        const double across = state[0];
        state[0] = state[1];
        state[1] = across;
    }
    for (size_t i = 0; i < n; i++)
        squares[i >= w->d] += state[i] * state[i];
    for (size_t i = 0; i < w->d; i++)
        state[i] *= w->small * tau / sqrt(squares[0]);
    for (size_t i = w->d; i < n; i++)
        state[i] *= w->small * (algebraic ? 0.01 * fmin(tau, 1) : 1) / sqrt(squares[1]);
}

static double largest_value(const walk *w)
{
    double *M = allocate(w->d * w->q, sizeof(double)), sigma[2];
    require(moeg_flow_operator(w->flow, M));
    require(moeg_symmetry_spectrum(w->d, w->q, M, 0, sigma, NULL, NULL, NULL));
    free(M);
    return sigma[0];
}

breaking_course breaking_course_follow(const breaking_problem *p, double tau, uint64_t seed)
{
    const moeg_symmetry_rates rates = breaking_rates(0);
    const int algebraic = p->teacher == &breaking_teachers[BREAKING_ALGEBRAIC];
    moeg_flow *flow = breaking_flow(p, tau, &rates, NULL);
    walk w = {.flow = flow,
              .d = moeg_flow_router_size(flow),
              .q = moeg_flow_contrast_size(flow),
              .small = algebraic ? 0.005 : 1e-5};
    w.state = w.d + w.q + moeg_flow_symmetric_size(flow);
    w.abs_tol = rel_tol * 1e-2 * w.small * fmin(tau, 1);
    breaking_course c = {.teacher = p->teacher, .tau = tau};
    const size_t room = algebraic ? PIECES * PIECE_ROWS : ROWS;
    double **columns[] = {&c.time, &c.size, &c.rate, &c.with_v};
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
        *columns[j] = allocate(room, sizeof(double));
    double *state = allocate(w.state, sizeof(double));
    start(&w, tau, algebraic, seed, state);
    if (algebraic) {
        walk_in_pieces(&w, tau, state, &c);
    } else {
        c.sigma = largest_value(&w);
        walk_on(&w, 0, LAST * tau / c.sigma, ROWS, state, &c);
    }
    free(state);
    moeg_flow_free(flow);
    return c;
}

void breaking_course_free(breaking_course *c)
{
    free(c->time);
    free(c->size);
    free(c->rate);
    free(c->with_v);
}

/* k of the law rate = k |u|^2 of the escape from M = 0 [theory: the flow]: on the ray c = gamma u.v that attracts,
 * kappa (1 - 3 gamma^2) = 6 tau gamma (1 - gamma^2), kappa = sqrt(2/pi), k = kappa gamma/(4 tau^3) - gamma^2/(2 tau^2).
 */
double breaking_escape_coefficient(double tau)
{
    const double kappa = sqrt(2 / acos(-1));
    double lo = 0, hi = 1;
    for (int i = 0; i < 60; i++) {
        const double gamma = (lo + hi) / 2;
        if (kappa * (1 - 3 * gamma * gamma) > 6 * tau * gamma * (1 - gamma * gamma))
            lo = gamma;
        else
            hi = gamma;
    }
    return kappa * lo / (4 * tau * tau * tau) - lo * lo / (2 * tau * tau);
}

breaking_law breaking_course_law(const breaking_course *c, double from, double to)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double size = c->size[i] / c->tau;
        if (size < from || size > to || !(c->rate[i] > 0))
            continue;
        const double a = log(c->size[i]), b = log(c->rate[i]);
        n++;
        x += a;
        y += b;
        xx += a * a;
        xy += a * b;
    }
    if (n < 8)
        return (breaking_law){NAN, NAN};
    return (breaking_law){.power = (n * xy - x * y) / (n * xx - x * x), .coefficient = exp((y - 2 * x) / n)};
}
