/* What symmetry_breaking measures, and how it is judged and drawn. */
#ifndef EXAMPLE_BREAKING_H
#define EXAMPLE_BREAKING_H

#include "example.h"

/* Y = t(v.x) (beta.x + mu), beta = along v + across n, v and n orthonormal, X ~ N(0, I): t is the sign (soft = 0), or
 * tanh of v.x/(2 soft). With the class of the symmetric expert, and the features of the contrast. */
typedef struct breaking_teacher {
    const char *name, *text;
    double along, across, mu, soft;
    moeg_symmetric symmetric;
    moeg_contrast_kind contrast;
} breaking_teacher;

/* In the order of the reports; the last has M = 0. */
enum { BREAKING_TEACHERS = 6, BREAKING_OBLIQUE = 1, BREAKING_ALGEBRAIC = BREAKING_TEACHERS - 1 };
extern const breaking_teacher breaking_teachers[BREAKING_TEACHERS];

/* Whether every output is +-(beta.x + mu) with beta a multiple of v, or none. */
int breaking_is_parallel(const breaking_teacher *t);

/* The teacher in d dimensions, its v and n drawn by the seed. */
typedef struct breaking_problem {
    const breaking_teacher *teacher;
    size_t d;
    double *v, *n, *beta; /* (d) */
    moeg_halves halves;   /* of these */
    moeg_law *law;
    moeg_contrast contrast;
} breaking_problem;

breaking_problem breaking_problem_make(const breaking_teacher *t, size_t d, uint64_t seed);
void breaking_problem_free(breaking_problem *p);

/* M (d x q) three ways, and what it says of the directions that grow fastest. */
typedef struct breaking_operator {
    const breaking_teacher *teacher;
    size_t d, q;
    double *closed, *plane, *error; /* (d x q), error of the plane's quadrature */
    moeg_estimate *sampled;         /* (d x q), 99.9 % for all of them together */
    double sigma;                   /* the largest singular value; 0 of rounding alone */
    size_t multiple;                /* how many there are of it */
    double least, most;             /* cosine between v and those directions; NaN of M = 0 */
} breaking_operator;

breaking_operator breaking_operator_measure(const breaking_teacher *t, size_t d, const moeg_sampling *s,
                                            size_t operators);
void breaking_operator_free(breaking_operator *m);

/* The largest difference between closed form and plane, and what the plane's errors allow; the largest between closed
 * form and sample, in standard errors. */
void breaking_operator_differences(const breaking_operator *m, double *off, double *error, double *errors);

/* The early phase of one flow, from a small random start. */
typedef struct breaking_growth {
    const breaking_teacher *teacher;
    size_t d; /* of the flow of a sample; 0: of the population, in the plane of v and n */
    double tau, lambda, sigma, predicted;
    moeg_estimate measured;  /* value NaN: not measured */
    double with_v, with_top; /* cosine at its end between u and v, and the directions that grow fastest */
} breaking_growth;

/* Rates 1, decay lambda of both u and c. */
moeg_symmetry_rates breaking_rates(double lambda);

/* The flow of a problem: of s->n rows, or where s is NULL of the population, in the plane of v and n. */
moeg_flow *breaking_flow(const breaking_problem *p, double tau, const moeg_symmetry_rates *rates,
                         const moeg_sampling *s);

breaking_growth breaking_grow(const breaking_problem *p, double tau, const moeg_symmetry_rates *rates,
                              const moeg_sampling *s, uint64_t seed);

/* Whether the measured growth has the sign of the predicted one. */
int breaking_is_seen(const breaking_growth *g);

/* Just below and just above the temperature where growth and decay balance. */
typedef struct breaking_threshold {
    const breaking_teacher *teacher;
    moeg_symmetry_rates rates;
    double tau;                   /* predicted */
    breaking_growth below, above; /* at 0.99 and 1.01 of it */
} breaking_threshold;

breaking_threshold breaking_threshold_measure(const breaking_problem *p, double sigma, const moeg_symmetry_rates *rates,
                                              uint64_t seed);

/* A flow of the population from a small random start until |u| is several tau. */
typedef struct breaking_course {
    const breaking_teacher *teacher;
    double tau, sigma;
    size_t n;
    double *time, *size, *rate, *with_v; /* |u|, d log |u|/dt, and the cosine between u and v */
} breaking_course;

breaking_course breaking_course_follow(const breaking_problem *p, double tau, uint64_t seed);
void breaking_course_free(breaking_course *c);

/* Sizes of u/tau where the law of the escape from M = 0 is read off: the start is forgotten there, and higher orders
 * are small. */
#define BREAKING_SMALL_FROM 0.03
#define BREAKING_SMALL_TO 0.2

/* How the rate of growth d log |u|/dt goes with |u|: its power, 0 where growth is exponential, and where that is 2 its
 * coefficient, the geometric mean of the rate over |u|^2. NaN where the course has fewer than 8 points there. */
typedef struct breaking_law {
    double power, coefficient;
} breaking_law;

breaking_law breaking_course_law(const breaking_course *c, double from, double to);

/* The coefficient foretold where M = 0. */
double breaking_escape_coefficient(double tau);

typedef struct breaking_options {
    uint64_t d; /* of the samples; 0: 4 and 64 */
    grid tau;
    moeg_sampling s; /* of M, and rows of the flow of a sample */
    int quick;
} breaking_options;

typedef struct breaking {
    size_t operators, growths, thresholds, courses, phase_taus, phase_lambdas;
    breaking_operator *operator;
    breaking_growth *growth;
    breaking_threshold *threshold;
    breaking_course *course; /* those of the teacher of M = 0 last, one for each tau */
    breaking_growth *phase;  /* (phase_lambdas x phase_taus), of one teacher */
    size_t taus;
    double *tau;
    uint64_t rows; /* of the samples */
} breaking;

breaking breaking_measure(const breaking_options *o);
void breaking_free(breaking *b);

/* Prints the tables. */
void breaking_print(const breaking *b, FILE *out);

/* Writes teacher,tau,sigma1,growth_measured,growth_predicted,alignment,flow,d,lambda,escape. */
void breaking_csv(const breaking *b, const char *path);

/* Draws the curves into a file. */
void breaking_draw(const breaking *b, const char *path);

/* Checks the claims; returns the exit status. */
int breaking_judge(const breaking *b, FILE *out);

#endif
