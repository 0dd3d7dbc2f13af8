/* A call of moeg_symmetry_sample() that is fine, of which each test changes a part. */
#ifndef MOEG_TESTS_DYNAMICS_SYMMETRY_CALL_H
#define MOEG_TESTS_DYNAMICS_SYMMETRY_CALL_H

#include "dynamics/symmetry_data.h"

static const double beta[OUTPUTS * D] = {0.7, -1.3, 0.2, 0.1, 0.45, -2.1}, v[D] = {0.75, -1.25, 0.4};
static const moeg_halves halves = {.d = D, .outputs = OUTPUTS, .v = v, .beta = beta};

struct call {
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_symmetric symmetric;
    moeg_contrast contrast;
    moeg_sampling s;
    moeg_estimate M[MOST];
};

static inline void call_make(struct call *c)
{
    *c = (struct call){.symmetric = MOEG_SYMMETRIC_AFFINE, .contrast = moeg_contrast_linear()};
    c->s = moeg_sampling_default();
    c->s.n = 2000;
    assert_ok(moeg_halves_teacher_create(&halves, &c->teacher));
    assert_ok(moeg_law_gaussian_create(&c->law, D, NULL, NULL));
}

static inline void call_free(struct call *c)
{
    moeg_law_free(c->law);
    moeg_teacher_free(c->teacher);
}

static inline moeg_status run(struct call *c)
{
    return moeg_symmetry_sample(c->teacher, c->law, c->symmetric, &c->contrast, &c->s, c->M);
}

/* Estimates that no call writes. */
static inline void mark(struct call *c)
{
    for (size_t i = 0; i < MOST; i++)
        c->M[i] = (moeg_estimate){.value = 17, .n = 42};
}

static inline void assert_marked(const struct call *c)
{
    for (size_t i = 0; i < MOST; i++)
        assert_true(c->M[i].value == 17 && c->M[i].n == 42);
}

#endif
