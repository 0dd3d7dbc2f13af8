/* Interfaces that a teacher's router shares with the student's. There both have to be crossed at the same point of a
 * line, to the last bit: only then has each side of a tie its own piece of the teacher, whatever the temperature. Pairs
 * of experts may share one hyperplane, so that it is hyperplanes that are numbered. Which are the same is decided in
 * exact arithmetic on the rows of both routers; where x is confined to a part of its space, on that, to the rounding of
 * the frame [theory: nodes on a line]. */
#include "base/error.h"
#include "base/memory.h"
#include "limit/nodes.h"
#include "limit/pair.h"
#include "model/model.h"

#include <math.h>

/* Where experts i > j of a router tie. Multiples of one row have one key, but for its rounding. */
typedef struct interface {
    moeg_nodes_pair pair;
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

/* Entry l of the difference of two experts' logits, those of u and then the constant. */
static double difference(const moeg_nodes *p, size_t which, size_t i, size_t j, size_t l)
{
    const moeg_frame_logits *a = &p->frame.logits[which];
    return l < p->r ? a->T[i * p->r + l] - a->T[j * p->r + l] : a->constant[i] - a->constant[j];
}

/* Of the first `count` entries. */
static double largest_difference(const moeg_nodes *p, size_t which, size_t i, size_t j, size_t count)
{
    double most = 0;
    for (size_t l = 0; l < count; l++)
        most = fmax(most, fabs(difference(p, which, i, j, l)));
    return most;
}

int moeg_nodes_tie_alike(const moeg_nodes *p, const moeg_nodes_pair *a, const moeg_nodes_pair *b, double off)
{
    const size_t r = p->r;
    const double *rounding = p->frame.logits[a->which].rounding, *other = p->frame.logits[b->which].rounding;
    const double steep = largest_difference(p, a->which, a->i, a->j, r);
    double square = 0, product = 0, rest = 0;
    for (size_t l = 0; l < r; l++) {
        const double row = difference(p, a->which, a->i, a->j, l) / steep;
        square += row * row;
        product += row * difference(p, b->which, b->i, b->j, l);
    }
    const double factor = product / square / steep;
    for (size_t l = 0; l <= r; l++)
        rest =
            fmax(rest, fabs(difference(p, b->which, b->i, b->j, l) - factor * difference(p, a->which, a->i, a->j, l)));
    const double lost = other[b->i] + other[b->j] + fabs(factor) * (rounding[a->i] + rounding[a->j]);
    return rest <= off * largest_difference(p, b->which, b->i, b->j, r + 1) +
                       lost * (1 + fabs(difference(p, a->which, a->i, a->j, r)) / steep);
}

/* Whether nothing of what x does moves a difference: there is no interface. */
static int is_zero(const moeg_nodes *p, size_t which, size_t i, size_t j, const moeg_row *row)
{
    const double *rounding = p->frame.logits[which].rounding;
    size_t l = 0;
    while (l < row->d && row->plus[l] == row->minus[l])
        l++;
    return l == row->d || (p->frame.singular && largest_difference(p, which, i, j, p->r) <= rounding[i] + rounding[j]);
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
static size_t list(const moeg_nodes *p, size_t which, interface *interfaces)
{
    size_t count = 0;
    for (size_t i = 0; i < p->frame.logits[which].K; i++)
        for (size_t j = 0; j < i; j++) {
            const moeg_row row = row_of(p, which, i, j);
            if (!is_zero(p, which, i, j, &row))
                interfaces[count++] = (interface){{which, i, j}, row, key_of(&row)};
        }
    return count;
}

static int are_same(const moeg_nodes *p, const interface *a, const interface *b)
{
    size_t pivot;
    if (fabsl(a->key - b->key) <= 1e-15L * (long double)(a->row.d + 1) &&
        moeg_row_is_multiple(&a->row, &b->row, 1, &pivot))
        return 1;
    return p->frame.singular && moeg_nodes_tie_alike(p, &a->pair, &b->pair, 0);
}

/* Numbers those of the teacher that some of the student's are the same as, and these. */
static void number(const moeg_nodes *p, size_t students, const interface *student, size_t teachers,
                   const interface *teacher)
{
    uint32_t count = 0;
    for (const interface *t = teacher; t < teacher + teachers; t++) {
        uint32_t *of_teacher = &p->twin[t->pair.i * p->pieces + t->pair.j];
        for (const interface *s = student; s < student + students; s++) {
            uint32_t *of_student = &p->student_twin[s->pair.i * p->K + s->pair.j];
            if (!are_same(p, s, t))
                continue;
            if (*of_teacher == 0)
                *of_teacher = *of_student != 0 ? *of_student : ++count;
            *of_student = p->student_twin[s->pair.j * p->K + s->pair.i] = *of_teacher;
        }
        p->twin[t->pair.j * p->pieces + t->pair.i] = *of_teacher;
    }
}

moeg_status moeg_nodes_find_twins(const char *function, moeg_nodes *p)
{
    const size_t most = p->K * (p->K - 1) / 2, most_pieces = p->pieces * (p->pieces - 1) / 2;
    p->twin = moeg_alloc_zero(p->pieces, p->pieces * sizeof *p->twin);
    p->student_twin = moeg_alloc_zero(p->K, p->K * sizeof *p->student_twin);
    interface *interfaces = moeg_alloc(most + most_pieces + 1, sizeof *interfaces);
    const int allocated = p->twin != NULL && p->student_twin != NULL && interfaces != NULL;
    if (allocated) {
        const size_t students = list(p, 0, interfaces), teachers = list(p, 1, interfaces + students);
        number(p, students, interfaces, teachers, interfaces + students);
    }
    moeg_release(interfaces);
    return allocated ? MOEG_OK : moeg_fail_memory(function);
}
