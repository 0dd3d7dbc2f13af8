/* A row space of two dimensions: lines of one direction e, and a quadrature over the coordinate y across them. An
 * interface is t = level + slope y; what lines have is smooth in y between the points where three experts tie, or an
 * interface of the teacher meets one of the router or another of its own. There panels are graded from the width over
 * which the temperature feels the third. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/quad.h"
#include "limit/nodes.h"
#include "model/gates.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = 2 * MOEG_QUAD_NODES - 1 };

static const double WIDEST = 0.5, PI = 3.14159265358979323846;

/* An interface that is not along the lines: of experts i < j of the router (0) or the teacher (1). */
typedef struct tie {
    size_t of, i, j;
    double steep, level, slope; /* of the difference of the two logits along e; t = level + slope y */
} tie;

typedef struct plane {
    const moeg_nodes_curve *curve;
    const moeg_nodes *nodes;
    moeg_nodes_way way;
    double tau, e[2], across[2];
    size_t ties, kinks, room;
    tie *tie;
    double *kink; /* (room) where panels begin */
    double finest, widest;
    double *logits;                          /* (K + pieces) scratch */
    double *z, *values, *errors, *workspace; /* of a panel */
    double *value, *error, size;             /* sums; of the magnitudes of the last value */
} plane;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static const moeg_frame_logits *logits_of(const moeg_nodes *p, size_t of)
{
    return &p->frame.logits[of];
}

/* The direction that is farthest from that of every interface: in the middle of the widest gap between their angles,
 * angle (ties + 1). */
static void choose_direction(plane *q, double *angle)
{
    const moeg_nodes *p = q->nodes;
    size_t n = 0;
    for (size_t of = 0; of < p->frame.routers; of++)
        for (size_t i = 0; i < logits_of(p, of)->K; i++)
            for (size_t j = i + 1; j < logits_of(p, of)->K; j++) {
                const double *T = logits_of(p, of)->T, a = T[2 * i] - T[2 * j], b = T[2 * i + 1] - T[2 * j + 1];
                if (a != 0 || b != 0)
                    angle[n++] = fmod(atan2(b, a) + 1.5 * PI, PI); /* of the interface itself */
            }
    qsort(angle, n, sizeof *angle, ascending);
    angle[n] = angle[0] + PI;
    size_t widest = 0;
    for (size_t i = 1; i < n; i++)
        if (angle[i + 1] - angle[i] > angle[widest + 1] - angle[widest])
            widest = i;
    const double middle = (angle[widest] + angle[widest + 1]) / 2;
    q->e[0] = cos(middle);
    q->e[1] = sin(middle);
    q->across[0] = -q->e[1];
    q->across[1] = q->e[0];
}

static void find_ties(plane *q)
{
    const moeg_nodes *p = q->nodes;
    double tilt = 0;
    q->ties = 0;
    for (size_t of = 0, at = 0; of < p->frame.routers; at += logits_of(p, of++)->K)
        for (size_t i = 0; i < logits_of(p, of)->K; i++)
            for (size_t j = i + 1; j < logits_of(p, of)->K; j++) {
                const moeg_frame_logits *a = logits_of(p, of);
                const double steep = q->way.beta[at + i] - q->way.beta[at + j];
                if (steep == 0 || (of == 1 && p->twin[i * p->pieces + j] != 0))
                    continue;
                const double slope =
                    ((a->T[2 * j] - a->T[2 * i]) * q->across[0] + (a->T[2 * j + 1] - a->T[2 * i + 1]) * q->across[1]) /
                    steep;
                tilt = fmax(tilt, fabs(slope));
                q->tie[q->ties++] = (tie){of, i, j, fabs(steep), (a->constant[j] - a->constant[i]) / steep, slope};
            }
    q->widest = fmin(WIDEST, 1 / tilt);
}

/* The logits of a router at (t, y); returns what may be rounding of their differences. */
static double logits_at(const plane *q, size_t of, double t, double y)
{
    static const double rounding = 1e-9;
    const moeg_frame_logits *a = logits_of(q->nodes, of);
    double size = 0;
    for (size_t k = 0; k < a->K; k++) {
        q->logits[k] = a->constant[k];
        double terms = fabs(a->constant[k]);
        for (size_t l = 0; l < 2; l++) {
            const double term = a->T[2 * k + l] * (t * q->e[l] + y * q->across[l]);
            q->logits[k] += term;
            terms += fabs(term);
        }
        size = fmax(size, terms);
    }
    return rounding * size;
}

/* Of the last logits: whether those that are level with expert i, within `rounding`, may tie at ranks `rank` and
 * `rank` + 1. */
static int may_tie(const plane *q, size_t K, size_t rank, size_t i, double rounding)
{
    size_t above = 0, level = 0;
    for (size_t k = 0; k < K && above < rank; k++) {
        const double difference = q->logits[k] - q->logits[i];
        above += difference > rounding;
        level += fabs(difference) <= rounding;
    }
    return above < rank && rank < above + level;
}

/* How far apart the deciding ones of the last logits are. */
static double gap_of(const plane *q, size_t K, size_t rank)
{
    if (rank >= K)
        return INFINITY;
    return q->logits[moeg_rank_row(K, 1, q->logits, rank)] - q->logits[moeg_rank_row(K, 1, q->logits, rank + 1)];
}

/* Whether the point where two interfaces meet is one where lines change. The router: it decides there, or nearly, and
 * its part in the point is a tie that decides, or one of the last expert that has a gate. The teacher's part in it: a
 * tie of his that decides. Where others meet, nothing changes but by what is felt of them, and that falls off from an
 * end of the interface that they are near to. */
static int matters(const plane *q, const tie *a, const tie *b, double t, double y)
{
    const moeg_nodes *p = q->nodes;
    double rounding = logits_at(q, 0, t, y);
    if (!(gap_of(q, p->K, p->rank) - rounding <= 50 * q->tau))
        return 0;
    if (a->of == 0 && !may_tie(q, p->K, p->rank, a->i, rounding) && !may_tie(q, p->K, p->gate.k, a->i, rounding))
        return 0;
    if (a->of + b->of == 0)
        return 1;
    rounding = logits_at(q, 1, t, y);
    return gap_of(q, p->pieces, p->winners) <= rounding;
}

/* MOEG_ENOMEM. */
static moeg_status add_kink(const char *function, plane *q, double y)
{
    if (q->kinks == q->room) {
        const size_t room = 2 * q->room + 16;
        double *larger = moeg_alloc(room, sizeof *larger);
        if (larger == NULL)
            return moeg_fail_memory(function);
        if (q->kinks > 0)
            memcpy(larger, q->kink, q->kinks * sizeof *larger);
        moeg_release(q->kink);
        q->kink = larger;
        q->room = room;
    }
    q->kink[q->kinks++] = y;
    return MOEG_OK;
}

/* Those that rounding alone tells apart become one. */
static void merge_kinks(plane *q)
{
    static const double rounding = 1e-13;
    size_t kept = 0;
    qsort(q->kink, q->kinks, sizeof *q->kink, ascending);
    for (size_t i = 0; i < q->kinks; i++)
        if (kept == 0 || q->kink[i] - q->kink[kept - 1] > rounding * fabs(q->kink[i]))
            q->kink[kept++] = q->kink[i];
    q->kinks = kept;
}

static moeg_status find_kinks(const char *function, plane *q)
{
    const double window = q->curve->window;
    double bend = 0;
    q->kinks = 0;
    moeg_status status = add_kink(function, q, -window);
    if (status == MOEG_OK)
        status = add_kink(function, q, window);
    for (size_t a = 0; a < q->ties; a++)
        for (size_t b = a + 1; b < q->ties && status == MOEG_OK; b++) {
            /* Three that tie are met once: as (i, j) and (i, k). */
            const tie *s = &q->tie[a], *t = &q->tie[b];
            const double apart = s->slope - t->slope, y = (t->level - s->level) / apart;
            if ((s->of == t->of && s->i != t->i) || apart == 0 || !(fabs(y) < window))
                continue;
            if (!matters(q, s, t, s->level + s->slope * y, y))
                continue;
            bend = fmax(bend, fabs(apart));
            status = add_kink(function, q, y);
        }
    if (status == MOEG_OK)
        merge_kinks(q);
    q->finest = q->tau > 0 && bend > 0 ? fmin(q->widest, q->tau / (q->way.spread * bend)) : q->widest;
    return status;
}

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
            const double *Q = q->nodes->frame.Q;
            q->z[j * stride + i] =
                y * (q->nodes->affine ? q->across[j] : q->across[0] * Q[j] + q->across[1] * Q[2 + j]);
        }
        if (i < PANEL)
            density[i] = half * moeg_normal_density(y);
    }
    const moeg_status status =
        moeg_nodes_lines(q->curve, &q->way, PANEL, stride, stride, q->z, q->workspace, q->values, q->errors);
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
        q->size = v == 0 ? q->size : q->size + size;
    }
    return status;
}

/* Panels from a kink outward, to one side (sign) and up to `reach`. */
static moeg_status add_side(plane *q, double kink, double sign, double reach)
{
    moeg_status status = MOEG_OK;
    for (double from = 0; from < reach && status == MOEG_OK;) {
        const double width = fmin(fmax(q->finest, from), q->widest);
        const double to = from + 1.5 * width < reach ? from + width : reach;
        status = sign > 0 ? add_panel(q, kink, from, to) : add_panel(q, kink, -to, -from);
        from = to;
    }
    return status;
}

static size_t count_pairs(const moeg_nodes *p)
{
    return p->K * (p->K - 1) / 2 + (p->mixture == NULL ? 0 : p->pieces * (p->pieces - 1) / 2);
}

static int allocate(plane *q)
{
    const size_t pairs = count_pairs(q->nodes), stride = moeg_round_lanes(PANEL);
    const size_t count = moeg_nodes_count(q->curve);
    q->tie = moeg_alloc(pairs, sizeof *q->tie);
    q->logits = moeg_alloc(q->nodes->K + q->nodes->pieces, sizeof *q->logits);
    q->z = moeg_alloc(2 * stride, sizeof *q->z);
    q->values = moeg_alloc(count, stride * sizeof *q->values);
    q->errors = moeg_alloc(count, stride * sizeof *q->errors);
    q->workspace = moeg_alloc(moeg_nodes_workspace(q->curve, stride), sizeof *q->workspace);
    return q->tie != NULL && q->logits != NULL && q->z != NULL && q->values != NULL && q->errors != NULL &&
           q->workspace != NULL;
}

static void release(plane *q)
{
    moeg_release(q->tie);
    moeg_release(q->kink);
    moeg_release(q->logits);
    moeg_release(q->z);
    moeg_release(q->values);
    moeg_release(q->errors);
    moeg_release(q->workspace);
    moeg_nodes_way_free(&q->way);
}

moeg_status moeg_nodes_plane(const char *function, const moeg_nodes_curve *curve, double *value, double *error)
{
    const moeg_risk_context *c = curve->context;
    plane q = {.curve = curve, .nodes = curve->nodes, .tau = c->ntau > 0 ? c->tau[0] : 0};
    double *angle = moeg_alloc(count_pairs(q.nodes) + 1, sizeof *angle);
    moeg_status status = angle == NULL || !allocate(&q) ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK) {
        choose_direction(&q, angle);
        status = moeg_nodes_way_init(function, q.nodes, q.e, &q.way);
    }
    if (status == MOEG_OK) {
        q.value = value;
        q.error = error;
        memset(value, 0, moeg_nodes_count(curve) * sizeof *value);
        memset(error, 0, moeg_nodes_count(curve) * sizeof *error);
        find_ties(&q);
        status = find_kinks(function, &q);
    }
    for (size_t i = 0; status == MOEG_OK && i + 1 < q.kinks; i++) {
        const double half = (q.kink[i + 1] - q.kink[i]) / 2;
        status = add_side(&q, q.kink[i], 1, half);
        if (status == MOEG_OK)
            status = add_side(&q, q.kink[i + 1], -1, half);
    }
    moeg_release(angle);
    release(&q);
    return status;
}
