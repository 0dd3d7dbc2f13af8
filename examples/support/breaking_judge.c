#include "breaking.h"

#include <math.h>

/* How near the measured growth must be to theory; how well u must be aligned. */
static const double near_growth = 0.01, aligned = 0.99;

/* The law of the escape from M = 0 holds to the square of u/tau, and of what is left of the start. */
static const double escape_power = 0.1, escape_coefficient = 0.05;

/* What rounding may do to an entry of M, of the order of 1. */
static const double rounding = 1e-12;

/* What quadrature over the plane may own to. */
static const double most_error = 1e-10;

void breaking_operator_differences(const breaking_operator *m, double *off, double *error, double *errors)
{
    *off = *error = *errors = 0;
    for (size_t i = 0; i < m->d * m->q; i++) {
        const double plane = fabs(m->closed[i] - m->plane[i]), sampled = fabs(m->closed[i] - m->sampled[i].value);
        *off = fmax(*off, plane);
        *error = fmax(*error, m->error[i]);
        if (isinf(m->sampled[i].std_error))
            *errors = NAN;
        else if (sampled > rounding)
            *errors = fmax(*errors, sampled / m->sampled[i].std_error);
    }
}

int breaking_is_seen(const breaking_growth *g)
{
    return g->predicted > 0 ? g->measured.value > 0 : g->measured.value < 0;
}

static void check_operators(verdict *v, const breaking *b)
{
    size_t entries = 0, near = 0, inside = 0, known = 0;
    double worst = 0;
    for (size_t i = 0; i < b->operators; i++) {
        const breaking_operator *m = &b->operator[i];
        for (size_t j = 0; j < m->d * m->q; j++) {
            const double off = fabs(m->closed[j] - m->plane[j]);
            worst = fmax(worst, off);
            near += off <= m->error[j] + rounding && m->error[j] <= most_error;
            const int has_error = isfinite(m->sampled[j].std_error);
            known += has_error;
            inside +=
                has_error && m->sampled[j].lo - rounding <= m->closed[j] && m->closed[j] <= m->sampled[j].hi + rounding;
            entries++;
        }
    }
    verdict_check(v, near == entries,
                  "M in closed form is that of the plane, to its error: %zu of %zu entries, to %.2g", near, entries,
                  worst);
    if (known == 0)
        verdict_none(v, "too few rows for error bars of the sampled M");
    else
        verdict_check(v, inside == known,
                      "M in closed form is inside the sampled intervals (99.9 %% for all together): %zu of %zu entries",
                      inside, known);
}

/* The early growth of the flows in the plane, or of samples. */
static void check_growths(verdict *v, const breaking *b, int sampled)
{
    size_t judged = 0, near = 0, blind = 0;
    double worst = 0;
    for (size_t i = 0; i < b->growths; i++) {
        const breaking_growth *g = &b->growth[i];
        if ((g->d > 0) != sampled || g->predicted == 0)
            continue;
        if (isnan(g->measured.value)) {
            blind++;
            continue;
        }
        const double off = fabs(g->measured.value / g->predicted - 1);
        worst = fmax(worst, off);
        near += off <= near_growth;
        judged++;
    }
    const char *name = sampled ? "flow of the sample" : "flow of the population";
    if (judged > 0)
        verdict_check(v, near == judged, "growth is sigma1/tau to 1 %%, %s: %zu of %zu, off by at most %.2g", name,
                      near, judged, worst);
    if (blind > 0)
        verdict_none(v, "%s: no growth told apart from the next rate or seen long enough in %zu runs", name, blind);
}

/* Rows turn the top direction of M by an angle of 1.3 sqrt(d/n) on average (that of sign(v.x): sqrt(pi d/(2 n))), and
 * hardly ever by more than with sqrt(d) + 4 in place of sqrt(d): a cosine of 0.99 is 0.14. */
static int rows_suffice(size_t d, uint64_t n)
{
    return 1.3 * (sqrt((double)d) + 4) <= 0.14 * sqrt((double)n);
}

static void check_alignment(verdict *v, const breaking *b)
{
    double least_v = 1, least_top = 1;
    size_t parallel = 0, judged = 0;
    for (size_t i = 0; i < b->growths; i++) {
        const breaking_growth *g = &b->growth[i];
        if (isnan(g->measured.value))
            continue;
        if (breaking_is_parallel(g->teacher) && (g->d == 0 || rows_suffice(g->d, b->rows))) {
            least_v = fmin(least_v, g->with_v);
            parallel++;
        }
        least_top = fmin(least_top, g->with_top);
        judged++;
    }
    if (parallel > 0)
        verdict_check(v, least_v >= aligned, "where beta is along v, u ends along v: cosine at least %.6f", least_v);
    if (judged > 0)
        verdict_check(v, least_top >= aligned, "u ends in the directions that grow fastest: cosine at least %.6f",
                      least_top);
}

static void check_thresholds(verdict *v, const breaking *b)
{
    size_t grow = 0, decay = 0;
    for (size_t i = 0; i < b->thresholds; i++) {
        grow += b->threshold[i].below.measured.value > 0;
        decay += b->threshold[i].above.measured.value < 0;
    }
    verdict_check(v, grow == b->thresholds && decay == b->thresholds,
                  "the critical tau with decay: grows at 0.99 of it, decays at 1.01 of it: %zu and %zu of %zu", grow,
                  decay, b->thresholds);
}

static void check_phase(verdict *v, const breaking *b)
{
    const size_t cells = b->phase_taus * b->phase_lambdas;
    size_t judged = 0, seen = 0, part = 0;
    for (size_t i = 0; i < cells; i++) {
        /* On the line itself no sign is foretold. */
        if (fabs(b->phase[i].predicted) <= 1e-3 * b->phase[i].lambda)
            continue;
        judged++;
        seen += breaking_is_seen(&b->phase[i]);
        part += b->phase[i].predicted > 0;
    }
    verdict_check(v, seen == judged, "the flow parts where sigma1/tau > lambda: %zu of %zu cells, %zu of which part",
                  seen, judged, part);
}

/* Of M = 0: the rate falls with a power of |u| (in all others it is constant), and u leaves all the same. */
static void check_escapes(verdict *v, const breaking *b)
{
    size_t courses = 0, leave = 0, right = 0;
    double off_power = 0, off = 0;
    for (size_t i = 0; i < b->courses; i++) {
        const breaking_course *c = &b->course[i];
        if (c->teacher != &breaking_teachers[BREAKING_ALGEBRAIC])
            continue;
        const breaking_law law = breaking_course_law(c, BREAKING_SMALL_FROM, BREAKING_SMALL_TO);
        const double power = fabs(law.power - 2);
        const double coefficient = fabs(law.coefficient / breaking_escape_coefficient(c->tau) - 1);
        courses++;
        leave += c->n > 0 && c->size[c->n - 1] >= c->tau;
        right += power <= escape_power && coefficient <= escape_coefficient;
        off_power = fmax(off_power, power);
        off = fmax(off, coefficient);
    }
    verdict_check(v, leave == courses && right == courses,
                  "where M = 0, u leaves algebraically, at the rate k |u|^2: %zu of %zu leave, the power is off by at "
                  "most %.3f, k by %.2g",
                  leave, courses, off_power, off);
}

int breaking_judge(const breaking *b, FILE *out)
{
    verdict v = verdict_begin(out);
    check_operators(&v, b);
    check_growths(&v, b, 0);
    check_growths(&v, b, 1);
    check_alignment(&v, b);
    check_thresholds(&v, b);
    check_phase(&v, b);
    check_escapes(&v, b);
    return verdict_end(&v);
}
