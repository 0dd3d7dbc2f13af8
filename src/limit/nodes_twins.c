/* Interfaces that a teacher's router shares with the student's. There both have to be crossed at the same point of a
 * line, to the last bit: only then has each side of a tie its own piece of the teacher, whatever the temperature. Pairs
 * of experts may share one hyperplane, so that it is hyperplanes that are numbered. Which are the same is decided in
 * exact arithmetic on the rows of both routers; where x is confined to a part of its space, on that, to the rounding of
 * the frame [theory: nodes on a line]. */
#include "base/error.h"
#include "base/memory.h"
#include "limit/nodes.h"
#include "limit/pair.h"
#include "line/flat.h"
#include "model/model.h"

#include <math.h>

/* Where experts i > j of a router tie. Multiples of one row have one key, but for its rounding. */
typedef struct interface {
    moeg_tie tie;
    moeg_row row;
    long double key;
} interface;

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

/* Whether nothing of what x does moves a difference: there is no interface. */
static int is_zero(const moeg_nodes *p, const moeg_tie *tie, const moeg_row *row, double *memory)
{
    moeg_flat all;
    double y;
    size_t l = 0;
    while (l < row->d && row->plus[l] == row->minus[l])
        l++;
    moeg_flat_begin(p->r, 1, memory, &all);
    return l == row->d || (p->frame.singular && moeg_flat_cut(&p->frame, tie, &all, &y) == 0);
}

/* A sum of the entries in units of the largest one, that depends on each of them, with the sign of the first that is
 * not 0. */
static long double key_of(const moeg_row *row)
{
    long double largest = 0, sum = 0, sign = 0;
    for (size_t j = 0; j <= row->d; j++) {
        const long double entry = moeg_pair_value(moeg_row_entry(row, j));
        sign = sign != 0 ? sign : entry > 0 ? 1 : entry < 0 ? -1 : 0;
        largest = fmaxl(largest, fabsl(entry));
        sum += entry * (1 + 0.618L * (long double)(j % 89));
    }
    return sign * sum / largest;
}

/* Those of a router; returns how many there are. */
static size_t list(const moeg_nodes *p, size_t which, double *memory, interface *interfaces)
{
    size_t count = 0;
    for (size_t i = 0; i < p->frame.logits[which].K; i++)
        for (size_t j = 0; j < i; j++) {
            const moeg_tie tie = {which, i, j};
            const moeg_row row = row_of(p, which, i, j);
            if (!is_zero(p, &tie, &row, memory))
                interfaces[count++] = (interface){tie, row, key_of(&row)};
        }
    return count;
}

/* `flat`: of b, cut where that is singular. scratch (r). */
static int are_same(const moeg_nodes *p, const interface *a, const interface *b, const moeg_flat *flat, double *scratch)
{
    size_t pivot;
    if (fabsl(a->key - b->key) <= 1e-15L * (long double)(a->row.d + 1) &&
        moeg_row_is_multiple(&a->row, &b->row, 1, &pivot))
        return 1;
    return flat->count > 0 && moeg_flat_holds(&p->frame, flat, &a->tie, scratch);
}

/* Numbers those of the teacher that some of the student's are the same as, and these. */
static void number(const moeg_nodes *p, size_t students, const interface *student, size_t teachers,
                   const interface *teacher, double *memory)
{
    uint32_t count = 0;
    for (const interface *t = teacher; t < teacher + teachers; t++) {
        uint32_t *of_teacher = &p->twin[t->tie.i * p->pieces + t->tie.j];
        moeg_flat flat;
        double y;
        moeg_flat_begin(p->r, 1, memory, &flat);
        if (p->frame.singular)
            moeg_flat_cut(&p->frame, &t->tie, &flat, &y);
        for (const interface *s = student; s < student + students; s++) {
            uint32_t *of_student = &p->student_twin[s->tie.i * p->K + s->tie.j];
            if (!are_same(p, s, t, &flat, memory + moeg_flat_size(p->r, 1)))
                continue;
            if (*of_teacher == 0)
                *of_teacher = *of_student != 0 ? *of_student : ++count;
            *of_student = p->student_twin[s->tie.j * p->K + s->tie.i] = *of_teacher;
        }
        p->twin[t->tie.j * p->pieces + t->tie.i] = *of_teacher;
    }
}

moeg_status moeg_nodes_find_twins(const char *function, moeg_nodes *p)
{
    const size_t most = p->K * (p->K - 1) / 2, most_pieces = p->pieces * (p->pieces - 1) / 2;
    p->twin = moeg_alloc_zero(p->pieces, p->pieces * sizeof *p->twin);
    p->student_twin = moeg_alloc_zero(p->K, p->K * sizeof *p->student_twin);
    interface *interfaces = moeg_alloc(most + most_pieces + 1, sizeof *interfaces);
    double *memory = moeg_alloc(moeg_flat_size(p->r, 1) + p->r, sizeof *memory);
    const int allocated = p->twin != NULL && p->student_twin != NULL && interfaces != NULL && memory != NULL;
    if (allocated) {
        const size_t students = list(p, 0, memory, interfaces);
        const size_t teachers = list(p, 1, memory, interfaces + students);
        number(p, students, interfaces, teachers, interfaces + students, memory);
    }
    moeg_release(memory);
    moeg_release(interfaces);
    return allocated ? MOEG_OK : moeg_fail_memory(function);
}
