/* Teachers of lines. A hard mixture behind an affine router jumps where its own logits tie. Where that interface is one
 * of the student's, both have to be crossed at the same point of a line, to the last bit: only then has each side of a
 * tie its own piece of the teacher, whatever the temperature. Whether they are the same is decided in exact arithmetic
 * on the rows of both routers [theory: nodes on a line]. */
#include "base/error.h"
#include "base/memory.h"
#include "limit/nodes.h"
#include "limit/pair.h"
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

/* The logits of two experts of the frame's router number `which`, one less the other. */
static moeg_row row_of(const moeg_nodes *p, size_t which, size_t i, size_t j)
{
    const double *W, *b;
    const size_t d = p->frame.d, *expert = p->frame.logits[which].expert;
    moeg_router_affine_parts(moeg_moe_router(which == 0 ? p->moe : p->mixture), &W, &b);
    return (moeg_row){.d = d,
                      .plus = W + expert[i] * d,
                      .minus = W + expert[j] * d,
                      .plus_constant = b[expert[i]],
                      .minus_constant = b[expert[j]]};
}

static int is_zero(const moeg_row *row)
{
    size_t j = 0;
    while (j < row->d && row->plus[j] == row->minus[j])
        j++;
    return j == row->d;
}

moeg_status moeg_nodes_find_twins(const char *function, moeg_nodes *p)
{
    p->twin = moeg_alloc_zero(p->pieces, p->pieces * sizeof *p->twin);
    if (p->twin == NULL)
        return moeg_fail_memory(function);
    for (size_t a = 0; a < p->pieces; a++)
        for (size_t b = 0; b < a; b++) {
            const moeg_row t = row_of(p, 1, a, b);
            for (size_t i = 0; i < p->K && !is_zero(&t); i++)
                for (size_t j = 0; j < i && p->twin[a * p->pieces + b] == 0; j++) {
                    size_t pivot;
                    const moeg_row s = row_of(p, 0, i, j);
                    if (!is_zero(&s) && moeg_row_is_multiple(&s, &t, 1, &pivot))
                        p->twin[a * p->pieces + b] = p->twin[b * p->pieces + a] = (uint32_t)(1 + i * p->K + j);
                }
        }
    return MOEG_OK;
}
