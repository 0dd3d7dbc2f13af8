/** @file
 * libmoegeom: the geometry of mixture-of-experts routing. This header is the one that users are promised. */
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
#include <moegeom/expert.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/router.h>
#include <moegeom/teacher.h>
/* limit */
#include <moegeom/bound.h>
#include <moegeom/boundary.h>
#include <moegeom/leading.h>
#include <moegeom/risk.h>
/* fit */
#include <moegeom/centroids.h>
#include <moegeom/profile.h>

#endif
