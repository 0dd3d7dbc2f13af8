#include "breaking.h"

#include <stdlib.h>

/* The teacher of the phase diagram, and the teachers whose courses are drawn at one temperature in the middle. */
static const size_t phase_teacher = BREAKING_OBLIQUE, middle_courses[] = {1, 2, 3, 4};
static const size_t middle_count = sizeof middle_courses / sizeof *middle_courses;

static const moeg_symmetry_rates threshold_rates[] = {{0.8, 1.5, 0.3, 0.07}, {1, 1, 1, 1}, {2, 0.5, 0.05, 0.6}};
static const size_t threshold_count = sizeof threshold_rates / sizeof *threshold_rates;

typedef struct dimensions {
    size_t count, d[2];
} dimensions;

static dimensions sampled_dimensions(const breaking_options *o)
{
    return o->d > 0 ? (dimensions){1, {(size_t)o->d, 0}} : (dimensions){2, {4, 64}};
}

static void measure_operators(breaking *b, const breaking_options *o)
{
    const dimensions in = sampled_dimensions(o);
    b->operators = BREAKING_TEACHERS * in.count;
    b->operator= allocate(b->operators, sizeof *b->operator);
    for (size_t i = 0; i < b->operators; i++)
        b->operator[i] =
            breaking_operator_measure(&breaking_teachers[i / in.count], in.d[i % in.count], &o->s, b->operators);
}

/* sigma1 of the population. */
static double sigma_of(const breaking *b, size_t teacher)
{
    return b->operator[teacher * (b->operators / BREAKING_TEACHERS)].sigma;
}

static void measure_growths(breaking *b, const breaking_options *o)
{
    const moeg_symmetry_rates rates = breaking_rates(0);
    const dimensions in = sampled_dimensions(o);
    b->growth = allocate(BREAKING_TEACHERS * (1 + in.count) * b->taus, sizeof *b->growth);
    for (size_t t = 0; t < BREAKING_TEACHERS; t++)
        for (size_t j = 0; j <= in.count; j++) {
            /* M of rows that f was fitted to is 0 where that of the population is: nothing new. */
            if (j > 0 && t == BREAKING_ALGEBRAIC)
                continue;
            breaking_problem p = breaking_problem_make(&breaking_teachers[t], j == 0 ? 2 : in.d[j - 1], o->s.seed);
            moeg_sampling s = o->s;
            /* A velocity of few rows takes less time than threads do to meet. */
            if ((double)s.n * (double)p.d < 1 << 20)
                s.max_threads = 1;
            for (size_t i = 0; i < b->taus; i++)
                b->growth[b->growths++] = breaking_grow(&p, b->tau[i], &rates, j == 0 ? NULL : &s, o->s.seed + i);
            breaking_problem_free(&p);
        }
}

static void measure_thresholds(breaking *b, const breaking_options *o)
{
    b->threshold = allocate(BREAKING_ALGEBRAIC * threshold_count, sizeof *b->threshold);
    for (size_t t = 0; t < BREAKING_ALGEBRAIC; t++) {
        breaking_problem p = breaking_problem_make(&breaking_teachers[t], 2, o->s.seed);
        for (size_t i = 0; i < (o->quick ? 1 : threshold_count); i++)
            b->threshold[b->thresholds++] =
                breaking_threshold_measure(&p, sigma_of(b, t), &threshold_rates[i], o->s.seed);
        breaking_problem_free(&p);
    }
}

static void follow_course(breaking *b, const breaking_options *o, size_t teacher, double tau)
{
    breaking_problem p = breaking_problem_make(&breaking_teachers[teacher], 2, o->s.seed);
    b->course[b->courses] = breaking_course_follow(&p, tau, o->s.seed + b->courses);
    b->courses++;
    breaking_problem_free(&p);
}

static void measure_courses(breaking *b, const breaking_options *o)
{
    b->course = allocate(2 * b->taus + middle_count, sizeof *b->course);
    for (size_t i = 0; i < b->taus; i++)
        follow_course(b, o, 0, b->tau[i]);
    for (size_t j = 0; j < middle_count; j++)
        follow_course(b, o, middle_courses[j], b->tau[b->taus / 2]);
    for (size_t i = 0; i < b->taus; i++)
        follow_course(b, o, BREAKING_ALGEBRAIC, b->tau[i]);
}

/* Temperatures around the given ones; decays on both sides of the threshold at each of them. */
static void measure_phase(breaking *b, const breaking_options *o)
{
    breaking_problem p = breaking_problem_make(&breaking_teachers[phase_teacher], 2, o->s.seed);
    const double sigma = sigma_of(b, phase_teacher);
    const double lo = o->tau.lo / 2, hi = o->tau.hi * 2;
    double *tau = grid_values((grid){lo, hi, o->quick ? 6 : 10});
    double *lambda = grid_values((grid){0.6 * sigma / hi, 1.7 * sigma / lo, o->quick ? 5 : 9});
    b->phase_taus = o->quick ? 6 : 10;
    b->phase_lambdas = o->quick ? 5 : 9;
    b->phase = allocate(b->phase_taus * b->phase_lambdas, sizeof *b->phase);
    for (size_t i = 0; i < b->phase_taus * b->phase_lambdas; i++) {
        const moeg_symmetry_rates rates = breaking_rates(lambda[i / b->phase_taus]);
        b->phase[i] = breaking_grow(&p, tau[i % b->phase_taus], &rates, NULL, o->s.seed);
    }
    free(tau);
    free(lambda);
    breaking_problem_free(&p);
}

breaking breaking_measure(const breaking_options *o)
{
    breaking b = {.taus = o->tau.count, .tau = grid_values(o->tau), .rows = o->s.n};
    measure_operators(&b, o);
    measure_growths(&b, o);
    measure_thresholds(&b, o);
    measure_courses(&b, o);
    measure_phase(&b, o);
    return b;
}

void breaking_free(breaking *b)
{
    for (size_t i = 0; i < b->operators; i++)
        breaking_operator_free(&b->operator[i]);
    for (size_t i = 0; i < b->courses; i++)
        breaking_course_free(&b->course[i]);
    free(b->operator);
    free(b->growth);
    free(b->threshold);
    free(b->course);
    free(b->phase);
    free(b->tau);
}
