#include "limit/crossing.h"

#include <math.h>

/* Cells a decade of the first grid; temperatures of one call there; parts into which a bracket is cut. */
enum { PER_DECADE = 8, CHUNK = 16, PARTS = 8 };

_Static_assert((int)CHUNK <= (int)MOEG_CROSSING_MOST && (int)MOEG_CROSSINGS * (PARTS - 1) <= (int)MOEG_CROSSING_MOST,
               "room in a call");

static double magnitude(const moeg_estimate *e, int which)
{
    switch (which) {
    case MOEG_CROSSING_UPPER:
        return fmax(fabs(e->lo), fabs(e->hi));
    case MOEG_CROSSING_VALUE:
        return fabs(e->value);
    default:
        return e->lo <= 0 && e->hi >= 0 ? 0 : fmin(fabs(e->lo), fabs(e->hi));
    }
}

/* Moves one end of a bracket to tau. Whether the magnitude is above the size there. */
static int move(const moeg_search *s, moeg_crossing *c, int which, double tau, const moeg_estimate *estimate)
{
    const double at = magnitude(estimate, which);
    const int above = at > s->size;
    *(above ? &c->above : &c->below) = tau;
    *(above ? &c->at_above : &c->at_below) = at;
    return above;
}

/* Abscissa `index` of the first grid. */
static double grid(const moeg_search *s, size_t cells, size_t index)
{
    const double from = log(s->lo), to = log(s->hi);
    const double at = exp(from + (double)index / (double)cells * (to - from));
    return index == 0 ? s->lo : index == cells ? s->hi : fmin(fmax(at, s->lo), s->hi);
}

/* Brackets on the first grid, which goes no further than it must. */
static moeg_status scan(const moeg_search *s, moeg_crossing *c, moeg_estimate *last)
{
    const double wanted = ceil((log10(s->hi) - log10(s->lo)) * PER_DECADE);
    const size_t cells = wanted > PER_DECADE ? (size_t)wanted : PER_DECADE;
    for (size_t first = 0; first <= cells && !c[MOEG_CROSSING_LOWER].found; first += CHUNK) {
        double tau[CHUNK];
        moeg_estimate estimates[CHUNK];
        const size_t n = cells + 1 - first < CHUNK ? cells + 1 - first : CHUNK;
        for (size_t t = 0; t < n; t++)
            tau[t] = grid(s, cells, first + t);
        const moeg_status status = s->curve(s->user, n, tau, estimates);
        if (status != MOEG_OK)
            return status;
        for (size_t t = 0; t < n; t++) {
            if (!c[MOEG_CROSSING_VALUE].found)
                *last = estimates[t];
            for (int which = 0; which < MOEG_CROSSINGS; which++)
                if (!c[which].found) {
                    c[which].found = move(s, &c[which], which, tau[t], &estimates[t]);
                    c[which].inside = c[which].found && first + t > 0;
                }
        }
    }
    return MOEG_OK;
}

/* Whether a bracket is still too wide. */
static int is_open(const moeg_search *s, const moeg_crossing *c)
{
    if (!c->inside)
        return 0;
    return s->width == 0 ? nextafter(c->below, INFINITY) < c->above : c->above - c->below > s->width * c->above;
}

/* Appends to the n abscissas those that cut a bracket, if it is open; returns their number then. */
static size_t cut(const moeg_search *s, const moeg_crossing *c, size_t n, double *tau)
{
    const double step = (c->above - c->below) / PARTS;
    double last = c->below;
    for (int part = 1; part < PARTS && is_open(s, c); part++) {
        const double at = c->below + part * step;
        if (at > last && at < c->above)
            last = tau[n++] = at;
    }
    return n;
}

/* Cuts the brackets until none is open. */
static moeg_status refine(const moeg_search *s, moeg_crossing *c)
{
    for (;;) {
        double tau[MOEG_CROSSING_MOST];
        moeg_estimate estimates[MOEG_CROSSING_MOST];
        size_t end[MOEG_CROSSINGS], n = 0, t = 0;
        for (int which = 0; which < MOEG_CROSSINGS; which++)
            end[which] = n = cut(s, &c[which], n, tau);
        if (n == 0)
            return MOEG_OK;
        const moeg_status status = s->curve(s->user, n, tau, estimates);
        if (status != MOEG_OK)
            return status;
        for (int which = 0; which < MOEG_CROSSINGS; which++) {
            while (t < end[which] && !move(s, &c[which], which, tau[t], &estimates[t]))
                t++;
            t = end[which];
        }
    }
}

moeg_status moeg_search_run(const moeg_search *search, moeg_crossing crossing[MOEG_CROSSINGS], moeg_estimate *last)
{
    for (int which = 0; which < MOEG_CROSSINGS; which++)
        crossing[which] = (moeg_crossing){0};
    *last = (moeg_estimate){0};
    const moeg_status status = scan(search, crossing, last);
    return status == MOEG_OK ? refine(search, crossing) : status;
}

double moeg_crossing_locate(const moeg_search *search, const moeg_crossing *crossing)
{
    if (search->width == 0)
        return crossing->below;
    const double share = (search->size - crossing->at_below) / (crossing->at_above - crossing->at_below);
    return crossing->below + share * (crossing->above - crossing->below);
}
