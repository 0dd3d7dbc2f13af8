#include "limit/auto.h"

#include "model/model.h"

#include <moegeom/estimate.h>

/* What keeps 2^14 lines, or a quadrature, to seconds for each width or temperature. To prepare directions costs some
 * K^2 r^2; a line along rays some hundred nodes of K (K + m), along general lines thousands. In a plane masses and rays
 * take some K^2 panels of lines. */
enum { MOST_EXPERTS = 128, MOST_IN_PLANE = 32, MOST_ON_RAYS = 5000, MOST_ON_LINES = 300 };

int moeg_auto_prepares_mass(const moeg_router *router)
{
    return moeg_router_live(router) <= MOST_EXPERTS;
}

/* K (K + m): an affine output has up to K parts more that do not change along a line. */
static size_t outputs_of_all(size_t K, size_t m)
{
    return K * (K + m);
}

int moeg_auto_prepares_risk(const moeg_moe *moe)
{
    const size_t live = moeg_router_live(moeg_moe_router(moe));
    return live <= MOST_EXPERTS && outputs_of_all(live, moeg_moe_outputs(moe)) <= MOST_ON_RAYS;
}

int moeg_auto_follows_rays(const moeg_rays *rays, const moeg_sampling *s)
{
    if (rays->r == 2)
        return rays->frame.logits[0].K <= MOST_IN_PLANE;
    return rays->r < 2 || moeg_auto_tells(moeg_rays_strata(rays), s);
}

int moeg_auto_follows_nodes(const moeg_nodes *p)
{
    const int whole = moeg_nodes_are_whole(p);
    /* Gates of subsets are sums over their sizes. */
    const size_t sizes = p->gate.kind == MOEG_GATE_SUBSET ? p->gate.k : 1;
    if (whole && p->r < 2)
        return 1;
    return (whole || p->affine) && outputs_of_all(p->K, p->m) * sizes <= MOST_ON_LINES;
}

/* Pairs of lines are units, of unlike weight: twice as many as an error bar takes, beside the 2 that each stratum has
 * at least, nearly always have one. */
int moeg_auto_tells(size_t strata, const moeg_sampling *s)
{
    return s->n / 2 >= 2 * ((uint64_t)strata + MOEG_ENOUGH_UNITS);
}

int moeg_auto_gives_up(const moeg_sampling *s, moeg_status status)
{
    return s->method == MOEG_METHOD_AUTO && status < 0 && status != MOEG_ENOMEM;
}
