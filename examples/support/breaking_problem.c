#include "breaking.h"

#include <math.h>
#include <stdlib.h>

enum { DIRECTION_STREAM = 2002 };

const breaking_teacher breaking_teachers[BREAKING_TEACHERS] = {
    {"parallel", "Y = sign(v.x) 1.2 v.x, f affine, psi = x", 1.2, 0, 0, 0, MOEG_SYMMETRIC_AFFINE, MOEG_CONTRAST_LINEAR},
    {"oblique", "Y = sign(v.x) (v + 0.6 n).x, f affine, psi = x", 1, 0.6, 0, 0, MOEG_SYMMETRIC_AFFINE,
     MOEG_CONTRAST_LINEAR},
    {"orthogonal", "Y = sign(v.x) n.x, f affine, psi = x", 0, 1, 0, 0, MOEG_SYMMETRIC_AFFINE, MOEG_CONTRAST_LINEAR},
    {"soft", "Y = tanh(v.x/(2 0.5)) (1.5 v + 0.4 n).x, f affine, psi = x", 1.5, 0.4, 0, 0.5, MOEG_SYMMETRIC_AFFINE,
     MOEG_CONTRAST_LINEAR},
    {"constant", "Y = sign(v.x), f constant, psi = 1", 0, 0, 1, 0, MOEG_SYMMETRIC_CONSTANT, MOEG_CONTRAST_CONSTANT},
    {"algebraic", "Y = sign(v.x), f affine, psi = 1: M = 0", 0, 0, 1, 0, MOEG_SYMMETRIC_AFFINE, MOEG_CONTRAST_CONSTANT},
};

int breaking_is_parallel(const breaking_teacher *t)
{
    return t->across == 0 && t != &breaking_teachers[BREAKING_ALGEBRAIC];
}

static double dot(size_t d, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Two orthonormal directions. */
static void draw_directions(size_t d, uint64_t seed, double *v, double *n)
{
    double *z = allocate(2 * d, sizeof(double));
    require(moeg_stream_normals((moeg_stream){seed, DIRECTION_STREAM}, 0, 2, d, z));
    const double length = sqrt(dot(d, z, z));
    for (size_t i = 0; i < d; i++)
        v[i] = z[i] / length;
    /* Twice, for orthogonality to rounding. */
    for (int pass = 0; pass < 2; pass++) {
        const double along = dot(d, v, z + d);
        for (size_t i = 0; i < d; i++)
            z[d + i] -= along * v[i];
    }
    const double rest = sqrt(dot(d, z + d, z + d));
    for (size_t i = 0; i < d; i++)
        n[i] = z[d + i] / rest;
    free(z);
}

breaking_problem breaking_problem_make(const breaking_teacher *t, size_t d, uint64_t seed)
{
    breaking_problem p = {.teacher = t,
                          .d = d,
                          .v = allocate(d, sizeof(double)),
                          .n = allocate(d, sizeof(double)),
                          .beta = allocate(d, sizeof(double)),
                          .contrast = t->contrast == MOEG_CONTRAST_CONSTANT ? moeg_contrast_constant()
                                                                            : moeg_contrast_linear()};
    draw_directions(d, seed, p.v, p.n);
    for (size_t i = 0; i < d; i++)
        p.beta[i] = t->along * p.v[i] + t->across * p.n[i];
    p.halves = (moeg_halves){.d = d, .outputs = 1, .v = p.v, .beta = p.beta, .mu = &t->mu, .tau = t->soft};
    require(moeg_law_gaussian_create(&p.law, d, NULL, NULL));
    return p;
}

void breaking_problem_free(breaking_problem *p)
{
    free(p->v);
    free(p->n);
    free(p->beta);
    moeg_law_free(p->law);
}
