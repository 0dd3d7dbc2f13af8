/* libmoegeom: the geometry of mixture-of-experts routing. Include this header; the others may be rearranged. */

/** @mainpage libmoegeom
 *
 * What happens when the soft router of a mixture of experts is cooled to a hard one. In the order of use:
 *
 * - law.h: the distribution of the input; router.h: logits and margins; gate.h: from logits to gates; expert.h; moe.h:
 *   the mixture; teacher.h: the regression function;
 * - boundary.h: the boundary mass P(margin <= w); risk.h: soft risk, hard risk and the gap between them; order.h:
 *   the power of tau by which gaps fall; leading.h, surface.h and bound.h: theory to hold against them;
 * - centroids.h and profile.h: routers and experts fitted to data; csv.h and npy.h: files;
 * - symmetry.h: how experts that are alike part; flow.h: their gradient flow, from there on to where it rests;
 * - options.h, estimate.h, status.h: options, results and errors of all of these; job.h and stream.h: runs that are
 *   cut, spread or extended, and the random numbers under them.
 *
 * "[theory: section]" in a comment is a section of docs/theory.md in the source tree. P1 is the work on boundary mass
 * and the soft-to-hard limit whose results these are. */
#ifndef MOEGEOM_MOEGEOM_H
#define MOEGEOM_MOEGEOM_H

/* base */
#include <moegeom/estimate.h>
#include <moegeom/job.h>
#include <moegeom/options.h>
#include <moegeom/status.h>
#include <moegeom/stream.h>
#include <moegeom/version.h>
/* io */
#include <moegeom/csv.h>
#include <moegeom/npy.h>
/* model */
#include <moegeom/activation.h>
#include <moegeom/expert.h>
#include <moegeom/gate.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/router.h>
#include <moegeom/teacher.h>
/* limit */
#include <moegeom/bound.h>
#include <moegeom/boundary.h>
#include <moegeom/leading.h>
#include <moegeom/order.h>
#include <moegeom/risk.h>
#include <moegeom/surface.h>
/* fit */
#include <moegeom/centroids.h>
#include <moegeom/profile.h>
/* dynamics */
#include <moegeom/flow.h>
#include <moegeom/symmetry.h>

#endif
