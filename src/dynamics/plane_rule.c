/* Both layers of a plane, that of the router at s = 0 and that of the teacher at mid s + slope q = 0, go through the
 * origin. The mean over q of the teacher's is smooth in s at any distance from 0 but for a scale that is known, and so
 * one graded quadrature in s has everything. t is odd and S even in s, and the mean of q^k T is even for odd k, odd for
 * even k: half of the line is enough. */
#include "dynamics/plane_rule.h"

#include "base/error.h"
#include "base/normal.h"
#include "base/quad.h"
#include "dynamics/plane_teacher.h"

#include <math.h>
#include <string.h>

/* Past REACH the normal density has 1e-18 left, times s^3. */
static const double REACH = 9.5;

/* The expectations that are not 0 by symmetry, of degree at most 3; with t and no S, 2. */
typedef struct term {
    unsigned char weight, i, k;
} term;
static const term terms[] = {
    {MOEG_PLANE_S, 0, 0},         {MOEG_PLANE_S, 2, 0},         {MOEG_PLANE_TS, 1, 0},
    {MOEG_PLANE_TS, 3, 0},        {MOEG_PLANE_T, 1, 0},         {MOEG_PLANE_T2, 0, 0},
    {MOEG_PLANE_T2, 2, 0},        {MOEG_PLANE_TEACHER_S, 1, 0}, {MOEG_PLANE_TEACHER_S, 0, 1},
    {MOEG_PLANE_TEACHER_S, 3, 0}, {MOEG_PLANE_TEACHER_S, 2, 1}, {MOEG_PLANE_TEACHER_S, 1, 2},
    {MOEG_PLANE_TEACHER_S, 0, 3}, {MOEG_PLANE_TEACHER_T, 0, 0}, {MOEG_PLANE_TEACHER_T, 2, 0},
    {MOEG_PLANE_TEACHER_T, 1, 1}, {MOEG_PLANE_TEACHER_T, 0, 2},
};
enum { TERMS = sizeof terms / sizeof *terms };

moeg_plane_table moeg_plane_affine(double a, double b, double c)
{
    moeg_plane_table p = {{{0}}};
    p.at[0][0] = a;
    p.at[1][0] = b;
    p.at[0][1] = c;
    return p;
}

moeg_plane_table moeg_plane_product(const moeg_plane_table *left, const moeg_plane_table *right)
{
    moeg_plane_table p = {{{0}}};
    for (int i = 0; i < MOEG_PLANE_DEGREES; i++)
        for (int k = 0; i + k < MOEG_PLANE_DEGREES; k++)
            for (int j = 0; i + k + j < MOEG_PLANE_DEGREES; j++)
                for (int l = 0; i + k + j + l < MOEG_PLANE_DEGREES; l++)
                    p.at[i + j][k + l] += left->at[i][k] * right->at[j][l];
    return p;
}

double moeg_plane_sum(const moeg_plane_table *polynomial, const moeg_plane_table *expectations)
{
    double sum = 0;
    for (int i = 0; i < MOEG_PLANE_DEGREES; i++)
        for (int k = 0; i + k < MOEG_PLANE_DEGREES; k++)
            sum += polynomial->at[i][k] * expectations->at[i][k];
    return sum;
}

typedef struct layers {
    double gain, mid, slope, tau;
} layers;

static void integrand(double s, void *user, double *values)
{
    const layers *l = user;
    const double a = l->gain * s, e = exp(-2 * a), t = tanh(a), S = 4 * e / ((1 + e) * (1 + e));
    const double density = 2 * moeg_normal_density(s); /* of both halves */
    double J[MOEG_PLANE_POWERS];
    moeg_plane_teacher(l->mid * s, l->slope, l->tau, J);
    for (int n = 0; n < TERMS; n++) {
        double value = density;
        switch (terms[n].weight) {
        case MOEG_PLANE_S:
            value *= S;
            break;
        case MOEG_PLANE_TS:
            value *= t * S;
            break;
        case MOEG_PLANE_T:
            value *= t;
            break;
        case MOEG_PLANE_T2:
            value *= t * t;
            break;
        case MOEG_PLANE_TEACHER_S:
            value *= S * J[terms[n].k];
            break;
        default:
            value *= t * J[terms[n].k];
        }
        for (int i = 0; i < terms[n].i; i++)
            value *= s;
        values[n] = value;
    }
}

/* Distances in s over which the integrand changes at 0: those of t, and of the means of T; the second need not be
 * resolved where nothing is. */
static double finest(const layers *l)
{
    const double router = l->gain > 1 ? 1 / l->gain : 1;
    const double teacher = fmax(fabs(l->slope), l->tau) / fabs(l->mid);
    return teacher < router ? fmax(teacher, 1e-18 * router) : router;
}

moeg_status moeg_plane_rule(double gain, double mid, double slope, double tau,
                            moeg_plane_table table[MOEG_PLANE_WEIGHTS])
{
    layers l = {.gain = gain, .mid = mid, .slope = slope, .tau = tau};
    double value[TERMS];
    if (!(gain <= 1e300))
        return moeg_fail(MOEG_ERANGE, "plane_rule: |u|/tau overflows");
    const moeg_status status = moeg_quad_graded(integrand, &l, TERMS, 0, REACH, finest(&l), 1, value, NULL);
    if (status != MOEG_OK)
        return status;
    memset(table, 0, MOEG_PLANE_WEIGHTS * sizeof *table);
    for (int n = 0; n < TERMS; n++) {
        moeg_plane_table *of = &table[terms[n].weight];
        of->at[terms[n].i][terms[n].k] = value[n];
        if (terms[n].weight < MOEG_PLANE_TEACHER_S && terms[n].i < 2) /* E q^2 = 1, and s^3 q^2 is of degree 5 */
            of->at[terms[n].i][2] = value[n];
    }
    table[MOEG_PLANE_ONE].at[0][0] = table[MOEG_PLANE_ONE].at[2][0] = table[MOEG_PLANE_ONE].at[0][2] = 1;
    return MOEG_OK;
}
