/* The operator M three ways: in closed form, by quadrature over the plane of the teacher, and by sampling. */
#include "breaking.h"

#include <math.h>
#include <stdlib.h>

/* Y as a function of a = v.x and b = n.x. */
static int teacher_of_plane(size_t n, const double *a, const double *b, double *y, void *user)
{
    const breaking_teacher *t = user;
    for (size_t i = 0; i < n; i++) {
        const double half = t->soft > 0 ? tanh(a[i] / (2 * t->soft)) : (a[i] > 0) - (a[i] < 0);
        y[i] = half * (t->along * a[i] + t->across * b[i] + t->mu);
    }
    return 0;
}

/* What rounding leaves of M where it is 0, relative to the teacher, which is of the order of 1. */
static const double rounding = 1e-13;

breaking_operator breaking_operator_measure(const breaking_teacher *t, size_t d, const moeg_sampling *options,
                                            size_t operators)
{
    breaking_problem p = breaking_problem_make(t, d, options->seed);
    const size_t q = moeg_contrast_features(&p.contrast, d), size = d * q;
    breaking_operator m = {.teacher = t,
                           .d = d,
                           .q = q,
                           .closed = allocate(size, sizeof(double)),
                           .plane = allocate(size, sizeof(double)),
                           .error = allocate(size, sizeof(double)),
                           .sampled = allocate(size, sizeof(moeg_estimate)),
                           .least = NAN,
                           .most = NAN};
    require(moeg_symmetry_closed(&p.halves, p.law, t->symmetric, &p.contrast, m.closed));
    /* A copy that is not const, for the callback. */
    breaking_teacher copy = *t;
    require(
        moeg_symmetry_plane(p.law, p.v, p.n, 1, teacher_of_plane, &copy, t->symmetric, &p.contrast, m.plane, m.error));
    moeg_teacher *teacher;
    require(moeg_halves_teacher_create(&p.halves, &teacher));
    moeg_sampling s = *options;
    progress bar;
    s.level = 1 - 0.001 / (double)(operators * size);
    progress_begin(&bar, "sampling M", &s);
    require(moeg_symmetry_sample(teacher, p.law, t->symmetric, &p.contrast, &s, m.sampled));
    progress_end(&bar, &s);
    moeg_teacher_free(teacher);

    double *sigma = allocate(d < q ? d : q, sizeof(double));
    require(moeg_symmetry_spectrum(d, q, m.closed, 1e-6, sigma, NULL, NULL, &m.multiple));
    m.sigma = sigma[0] > rounding ? sigma[0] : 0;
    if (m.sigma > 0)
        require(moeg_symmetry_alignment(d, q, m.closed, 1e-6, p.v, &m.least, &m.most));
    free(sigma);
    breaking_problem_free(&p);
    return m;
}

void breaking_operator_free(breaking_operator *m)
{
    free(m->closed);
    free(m->plane);
    free(m->error);
    free(m->sampled);
}
