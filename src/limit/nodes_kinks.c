/* Where an interface is t = level + slope y, what lines have is smooth in y between the points where three experts tie,
 * or an interface of the teacher meets one of the router or another of its own. */
#include "limit/nodes_kinks.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/gates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double WIDEST = 0.5, PI = 3.14159265358979323846;

/* An interface that is not along the lines: of experts i < j of the router (0) or the teacher (1). */
typedef struct tie {
    size_t of, i, j;
    uint32_t twin;       /* of the interface, as of moeg_nodes; 0: of none */
    double level, slope; /* t = level + slope y */
} tie;

typedef struct search {
    const moeg_nodes_curve *curve;
    const moeg_nodes *nodes;
    moeg_nodes_kinks *found;
    double tau, flattest, steepest; /* the least and the largest slope of an interface, or 0 */
    size_t ties, room;              /* room for kinks */
    tie *tie;
    double *logits; /* (K + pieces) scratch */
} search;

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
static void choose_direction(search *q, double *angle)
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
    q->found->e[0] = cos(middle);
    q->found->e[1] = sin(middle);
    q->found->across[0] = -q->found->e[1];
    q->found->across[1] = q->found->e[0];
}

/* Adds that of experts i < j of a router, whose logits start at slope `at`, unless they keep their distance along the
 * lines. What is one interface has the same bits, whoever ties there. */
static void add_tie(search *q, size_t of, size_t at, size_t i, size_t j)
{
    const moeg_nodes *p = q->nodes;
    const moeg_frame_logits *a = logits_of(p, of);
    const uint32_t *twins = of == 0 ? p->student_twin : p->twin;
    const double steep = q->found->way.beta[at + i] - q->found->way.beta[at + j];
    const double *T = a->T, *across = q->found->across;
    if (steep == 0)
        return;
    tie *t = &q->tie[q->ties];
    *t = (tie){.of = of,
               .i = i,
               .j = j,
               .twin = twins == NULL ? 0 : twins[i * a->K + j],
               .level = (a->constant[j] - a->constant[i]) / steep,
               .slope = ((T[2 * j] - T[2 * i]) * across[0] + (T[2 * j + 1] - T[2 * i + 1]) * across[1]) / steep};
    size_t first = 0;
    while (first < q->ties && (t->twin == 0 || q->tie[first].twin != t->twin))
        first++;
    t->level = q->tie[first].level;
    t->slope = q->tie[first].slope;
    q->ties++;
}

static void find_ties(search *q)
{
    const moeg_nodes *p = q->nodes;
    q->ties = 0;
    q->flattest = q->steepest = 0;
    for (size_t of = 0, at = 0; of < p->frame.routers; at += logits_of(p, of++)->K)
        for (size_t i = 0; i < logits_of(p, of)->K; i++)
            for (size_t j = i + 1; j < logits_of(p, of)->K; j++)
                add_tie(q, of, at, i, j);
    for (size_t i = 0; i < q->ties; i++) {
        q->flattest = fmin(q->flattest, q->tie[i].slope);
        q->steepest = fmax(q->steepest, q->tie[i].slope);
    }
    q->found->widest = fmin(WIDEST, 1 / fmax(fabs(q->flattest), fabs(q->steepest)));
}

/* The logits of a router at (t, y); returns what may be rounding of their differences. */
static double logits_at(const search *q, size_t of, double t, double y)
{
    static const double rounding = 1e-9;
    const moeg_frame_logits *a = logits_of(q->nodes, of);
    double size = 0;
    for (size_t k = 0; k < a->K; k++) {
        q->logits[k] = a->constant[k];
        double terms = fabs(a->constant[k]);
        for (size_t l = 0; l < 2; l++) {
            const double term = a->T[2 * k + l] * (t * q->found->e[l] + y * q->found->across[l]);
            q->logits[k] += term;
            terms += fabs(term);
        }
        size = fmax(size, terms);
    }
    return rounding * size;
}

/* Of the last logits: whether those that are level with expert i, within `rounding`, may tie at ranks `rank` and
 * `rank` + 1. */
static int may_tie(const search *q, size_t K, size_t rank, size_t i, double rounding)
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
static double gap_of(const search *q, size_t K, size_t rank)
{
    if (rank >= K)
        return INFINITY;
    return q->logits[moeg_rank_row(K, 1, q->logits, rank)] - q->logits[moeg_rank_row(K, 1, q->logits, rank + 1)];
}

/* Whether the point where two interfaces meet is one where lines change. The router: it decides there, or nearly, and
 * its part in the point is a tie that decides, or one of the last expert that has a gate. The teacher's part in it: a
 * tie of his that decides; of the hard risk he needs no other. Where others meet, nothing changes but by what is felt
 * of them, and that falls off from an end of the interface that they are near to. */
static int matters(const search *q, const tie *a, const tie *b, double t, double y)
{
    const moeg_nodes *p = q->nodes;
    const int hard = q->curve->hard != MOEG_NODES_NO_HARD;
    double rounding = logits_at(q, 0, t, y);
    if (!(hard && a->of == 1) && !(gap_of(q, p->K, p->rank) - rounding <= 50 * q->tau))
        return 0;
    if (a->of == 0 && !may_tie(q, p->K, p->rank, a->i, rounding) && !may_tie(q, p->K, p->gate.k, a->i, rounding))
        return 0;
    if (a->of + b->of == 0)
        return 1;
    rounding = logits_at(q, 1, t, y);
    return gap_of(q, p->pieces, p->winners) <= rounding;
}

/* MOEG_ENOMEM. */
static moeg_status add_kink(const char *function, search *q, double y)
{
    if (q->found->count == q->room) {
        const size_t room = 2 * q->room + 16;
        double *larger = moeg_alloc(room, sizeof *larger);
        if (larger == NULL)
            return moeg_fail_memory(function);
        if (q->found->count > 0)
            memcpy(larger, q->found->y, q->found->count * sizeof *larger);
        moeg_release(q->found->y);
        q->found->y = larger;
        q->room = room;
    }
    q->found->y[q->found->count++] = y;
    return MOEG_OK;
}

/* Those that rounding alone tells apart become one. */
static void merge_kinks(search *q)
{
    static const double rounding = 1e-13;
    size_t kept = 0;
    qsort(q->found->y, q->found->count, sizeof *q->found->y, ascending);
    for (size_t i = 0; i < q->found->count; i++)
        if (kept == 0 || q->found->y[i] - q->found->y[kept - 1] > rounding * fabs(q->found->y[i]))
            q->found->y[kept++] = q->found->y[i];
    q->found->count = kept;
}

/* How fast, beside y, interfaces part that meet. What is felt at those of the teacher is how far the router's are, and
 * another of his may lead away from there. */
static double bend_of(const search *q, const tie *a, const tie *b)
{
    return b->of == 0 ? fabs(a->slope - b->slope) : q->steepest - q->flattest;
}

static moeg_status find_kinks(const char *function, search *q)
{
    const double window = q->curve->window;
    double bend = 0;
    q->found->count = 0;
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
            bend = fmax(bend, bend_of(q, s, t));
            status = add_kink(function, q, y);
        }
    if (status == MOEG_OK)
        merge_kinks(q);
    q->found->finest =
        q->tau > 0 && bend > 0 ? fmin(q->found->widest, q->tau / (q->found->way.spread * bend)) : q->found->widest;
    return status;
}

static size_t count_pairs(const moeg_nodes *p)
{
    return p->K * (p->K - 1) / 2 + (p->mixture == NULL ? 0 : p->pieces * (p->pieces - 1) / 2);
}

moeg_status moeg_nodes_kinks_find(const char *function, const moeg_nodes_curve *curve, moeg_nodes_kinks *kinks)
{
    const moeg_nodes *p = curve->nodes;
    const moeg_risk_context *c = curve->context;
    *kinks = (moeg_nodes_kinks){.count = 0};
    search q = {.curve = curve, .nodes = p, .found = kinks, .tau = c->ntau > 0 ? c->tau[0] : 0};
    const size_t pairs = count_pairs(p);
    double *angle = moeg_alloc(pairs + 1, sizeof *angle);
    q.tie = moeg_alloc(pairs, sizeof *q.tie);
    q.logits = moeg_alloc(p->K + p->pieces, sizeof *q.logits);
    moeg_status status = angle == NULL || q.tie == NULL || q.logits == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK) {
        choose_direction(&q, angle);
        status = moeg_nodes_way_init(function, p, kinks->e, &kinks->way);
    }
    if (status == MOEG_OK) {
        find_ties(&q);
        status = find_kinks(function, &q);
    }
    moeg_release(angle);
    moeg_release(q.tie);
    moeg_release(q.logits);
    return status;
}

void moeg_nodes_kinks_free(moeg_nodes_kinks *kinks)
{
    moeg_release(kinks->y);
    moeg_nodes_way_free(&kinks->way);
    *kinks = (moeg_nodes_kinks){.count = 0};
}
