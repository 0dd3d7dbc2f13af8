#include "line/triangle.h"

#include "base/vector.h"

#include <string.h>

/* x (I - v v' 2/v.v), from coordinate `from` on; v has norm sqrt(2). */
static void reflect(size_t d, size_t from, const double *v, double *x)
{
    const double share = moeg_dot(d - from, v + from, x + from);
    for (size_t j = from; j < d; j++)
        x[j] -= share * v[j];
}

size_t moeg_triangulate(size_t count, size_t d, double *row, double *lost, int *exponent, double *v)
{
    for (size_t k = 0; k < count; k++) {
        frexp(moeg_largest(d, row + k * d), &exponent[k]);
        for (size_t j = 0; j < d; j++)
            row[k * d + j] = ldexp(row[k * d + j], -exponent[k]);
    }
    size_t rank = 0;
    for (size_t k = 0; k < count && rank < d; k++) {
        double rounding = ldexp(lost[k], -exponent[k]);
        for (size_t q = 0; q < rank; q++)
            rounding += fabs(row[k * d + q]) * lost[q];
        double *reflector = v + rank * d, *rest = row + k * d + rank;
        const double norm = sqrt(moeg_dot(d - rank, rest, rest));
        if (norm <= fmax(rounding, moeg_triangle_rounding(d))) {
            memset(rest, 0, (d - rank) * sizeof *rest);
            continue;
        }
        const double head = rest[0] < 0 ? norm : -norm;
        memset(reflector, 0, d * sizeof *reflector);
        memcpy(reflector + rank, rest, (d - rank) * sizeof *rest);
        reflector[rank] -= head;
        const double scale = sqrt(2 / moeg_dot(d - rank, reflector + rank, reflector + rank));
        for (size_t j = rank; j < d; j++)
            reflector[j] *= scale;
        for (size_t i = k + 1; i < count; i++)
            reflect(d, rank, reflector, row + i * d);
        lost[rank] = rounding / norm;
        rest[0] = head;
        memset(rest + 1, 0, (d - rank - 1) * sizeof *rest);
        rank++;
    }
    return rank;
}

void moeg_triangle_basis(size_t d, size_t r, const double *v, double *Q)
{
    memset(Q, 0, r * d * sizeof *Q);
    for (size_t i = 0; i < r; i++) {
        Q[i * d + i] = 1;
        for (size_t k = r; k > 0; k--)
            reflect(d, k - 1, v + (k - 1) * d, Q + i * d);
    }
}
