/* Blocks of nodes on their way through the kernels of sampled risks, and the walk along the lines that fills them. */
#ifndef MOEG_LIMIT_NODES_BLOCK_H
#define MOEG_LIMIT_NODES_BLOCK_H

#include "base/quad.h"
#include "limit/nodes.h"

/* Nodes of a panel of quadrature. */
enum { MOEG_NODES_PANEL = 2 * MOEG_QUAD_NODES - 1 };

/* What a panel is for. Of a crossing there are the outputs as the line comes to it, and, of a teacher that jumps there,
 * his as it leaves. */
typedef enum moeg_nodes_purpose {
    MOEG_NODES_FOR_GAPS,
    MOEG_NODES_FOR_HARD,
    MOEG_NODES_FOR_LEAD,
    MOEG_NODES_FOR_JUMP
} moeg_nodes_purpose;

/* Rows first .. first + count - 1 of the block. */
typedef struct moeg_nodes_panel {
    size_t line, first, count;
    moeg_nodes_purpose purpose;
    size_t over, under; /* FOR_LEAD: expert `under` overtakes `over` */
    double t, weight;   /* FOR_LEAD: where, and share times density over slope */
} moeg_nodes_panel;

typedef struct moeg_nodes_work {
    const moeg_nodes_curve *curve;
    const moeg_nodes *nodes;
    const moeg_nodes_way *way;
    size_t lines; /* stride of what lines have */
    double *values, *errors;
    double *base, *u, *height; /* (drawn) z without its part along the lines, (r), (1) that part */
    double *x, *output;        /* (d) or ((K + pieces) outputs): where t = 0 */
    double *alpha;             /* (K + pieces) */
    moeg_envelope student, teacher;
    double *student_room, *teacher_room;
    double *lag, *slope; /* (K) of a_j - a_ref, at an end of a piece */

    moeg_risk_rows rows; /* the block of nodes */
    size_t used, panels;
    moeg_nodes_panel *panel; /* (rows) */
    uint32_t *winner;        /* (rows x winners) pieces that the teacher takes its mean of */
    double *kronrod, *gauss; /* (rows) weights */
    double *sorted, *piece;  /* (rows), (m x rows) scratch */
    double *scratch;         /* of experts and teacher */
} moeg_nodes_work;

/* Places the arrays from `base` on; returns the doubles they take. base may be NULL. */
size_t moeg_nodes_layout(const moeg_nodes_curve *curve, size_t lines, double *base, moeg_nodes_work *w);

/* What a block of lines, those through z (drawn x lines), has at t = 0. */
void moeg_nodes_set_lines(moeg_nodes_work *w, const double *z);

/* Differences of the logits from the one of the deciding rank, at `anchor`, on the piece where the walk stands. Their
 * signs are known from the order. */
void moeg_nodes_set_anchor(moeg_nodes_work *w, double anchor);

/* Room for a panel of `count` nodes of a line, on the teacher's piece where the walk stands; beside it for `more`. */
moeg_status moeg_nodes_open_panel(moeg_nodes_work *w, size_t line, size_t count, size_t more,
                                  moeg_nodes_purpose purpose);

/* Fills the rows of the last panel: nodes of a line at t = anchor + offset. */
void moeg_nodes_fill_panel(moeg_nodes_work *w, const double *t, const double *offset);

/* Evaluates the nodes of the block, and empties it. */
moeg_status moeg_nodes_flush(moeg_nodes_work *w);

/* The leading term of the gap (nodes_lead.c). Of the crossing where the student's piece ends, if the deciding ranks
 * change places there: how near others are, and its first panel; and, after the teacher's step, his side of it. */
moeg_status moeg_nodes_meet(moeg_nodes_work *w, size_t line, double weight, int *met);
moeg_status moeg_nodes_leave(moeg_nodes_work *w, size_t line);

/* Where three tie at once, their order changes in one step, and the deciding ranks may come to tie within it: before
 * the step marks the experts above the tie, in `lag`; after it fails, MOEG_EUNSUPPORTED, if one of three has come to
 * them that tie wherever two do. */
void moeg_nodes_mark_best(moeg_nodes_work *w);
moeg_status moeg_nodes_check_marks(const moeg_nodes_work *w);

/* How near a tie the teacher jumps at t. */
void moeg_nodes_pass_jump(moeg_nodes_work *w, size_t line, double weight, double t);

/* MOEG_EDOM: the deciding ranks tie all along the piece. */
moeg_status moeg_nodes_check_tie(const moeg_nodes_work *w);

/* Adds the leading terms of the crossings in the block to those of their lines. */
void moeg_nodes_add_leads(moeg_nodes_work *w);

#endif
