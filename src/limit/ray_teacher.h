/* Teachers in pieces whose pieces are the cells of the student's router: along the ray of a cell they are one affine
 * map [theory: star directions]. */
#ifndef MOEG_LIMIT_RAY_TEACHER_H
#define MOEG_LIMIT_RAY_TEACHER_H

#include <moegeom/expert.h>
#include <moegeom/moe.h>
#include <moegeom/teacher.h>

/* *refusal: NULL where the teacher is one affine expert, or a hard mixture of affine experts with the masks of the
 * student's affine router and its logits, but for one positive factor and a summand that all share, in exact arithmetic
 * on the routers' numbers; else why not. The student's logits vary. MOEG_ENOMEM. Cost O(K d). */
moeg_status moeg_ray_teacher_refusal(const char *function, const moeg_moe *student, const moeg_teacher *teacher,
                                     const char **refusal);

/* m in the cell of expert k of the router, where it was not refused. */
const moeg_expert *moeg_ray_teacher_piece(const moeg_teacher *teacher, size_t k);

#endif
