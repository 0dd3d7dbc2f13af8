/* Which teachers lines are for: a hard mixture behind an affine router jumps where its own logits tie. */
#include "limit/nodes.h"
#include "model/model.h"

const char *moeg_nodes_read_teacher(const moeg_teacher *teacher, moeg_nodes *p)
{
    double tau = 0;
    const double *W, *b;
    const moeg_moe *moe = moeg_teacher_moe(teacher, &tau);
    p->winners = 1;
    if (moeg_teacher_rows(teacher) != 0)
        return "the teacher is known by rows";
    if (moe == NULL || tau > 0)
        return NULL;
    if (!moeg_router_affine_parts(moeg_moe_router(moe), &W, &b))
        return "the teacher jumps, and its router is not affine";
    const moeg_gate gate = moeg_moe_gate(moe);
    p->mixture = moe;
    p->winners = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    return NULL;
}
