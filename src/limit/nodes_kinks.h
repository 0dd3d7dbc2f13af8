/* Lines z = t e + y across, of one direction e, over a row space of two dimensions, and the y where what they have is
 * not smooth. */
#ifndef MOEG_LIMIT_NODES_KINKS_H
#define MOEG_LIMIT_NODES_KINKS_H

#include "limit/nodes.h"

typedef struct moeg_nodes_kinks {
    double e[2], across[2];
    moeg_nodes_way way;
    size_t count;
    double *y;             /* (count) ascending, the window's ends among them: where panels begin */
    double finest, widest; /* panels: the first at a kink, and the last */
} moeg_nodes_kinks;

/* The direction is that which is farthest from every interface. To be freed with moeg_nodes_kinks_free(), whatever it
 * returns: MOEG_ENOMEM. Cost O(K^4), pieces counting as experts. */
moeg_status moeg_nodes_kinks_find(const char *function, const moeg_nodes_curve *curve, moeg_nodes_kinks *kinks);
void moeg_nodes_kinks_free(moeg_nodes_kinks *kinks);

#endif
