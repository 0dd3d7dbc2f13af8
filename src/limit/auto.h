/* Method AUTO where one line is not enough: lines that are for the problem, if they cost little and can tell their
 * error, else rows. */
#ifndef MOEG_LIMIT_AUTO_H
#define MOEG_LIMIT_AUTO_H

#include "limit/nodes.h"
#include "limit/ray_risk.h"
#include "line/sampler.h"

#include <moegeom/moe.h>
#include <moegeom/options.h>
#include <moegeom/router.h>
#include <moegeom/status.h>

/* By the size of the problem alone, before anything is prepared: whether lines may be worth it. */
int moeg_auto_prepares_mass(const moeg_router *router);
int moeg_auto_prepares_risk(const moeg_moe *moe);

/* Whether the lines that were prepared, and are for the problem, are the choice. General lines that are drawn may still
 * find that they are too few (nodes_sample.c). */
int moeg_auto_follows_rays(const moeg_rays *rays, const moeg_sampling *s);
int moeg_auto_follows_nodes(const moeg_nodes *nodes);

/* Whether so many lines of so many strata have error bars, by all that is known before they are drawn. */
int moeg_auto_tells(size_t strata, const moeg_sampling *s);

/* Whether the method is AUTO and lines failed where rows may do: all errors but that of memory. */
int moeg_auto_gives_up(const moeg_sampling *s, moeg_status status);

#endif
