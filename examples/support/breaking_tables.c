#include "breaking.h"

#include <math.h>
#include <stdlib.h>

static void flow_text(table *t, const breaking_growth *g)
{
    if (g->d == 0)
        table_text(t, "plane");
    else
        table_text(t, "sample, d = %zu", g->d);
}

static int is_algebraic(const breaking_teacher *t)
{
    return t == &breaking_teachers[BREAKING_ALGEBRAIC];
}

static void print_operators(const breaking *b, FILE *out)
{
    static const char *const names[] = {
        "teacher",        "d", "sigma1", "how many", "|closed - plane|", "its error", "|closed - sample|/std. error",
        "cos(v, fastest)"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < b->operators; i++) {
        const breaking_operator *m = &b->operator[i];
        double off, error, errors;
        breaking_operator_differences(m, &off, &error, &errors);
        table_text(t, "%s", m->teacher->name);
        table_number(t, (double)m->d);
        table_text(t, "%.9f", m->sigma);
        if (m->sigma > 0)
            table_number(t, (double)m->multiple);
        else
            table_text(t, "M = 0");
        table_text(t, "%.1e", off);
        table_text(t, "%.1e", error);
        table_text(t, isnan(errors) ? "too few rows" : "%.2f", errors);
        if (!(m->sigma > 0))
            table_text(t, "-");
        else if (m->multiple > 1)
            table_text(t, "%.4f .. %.4f", m->least, m->most);
        else
            table_text(t, "%.4f", m->most);
    }
    table_print(t, out);
    table_free(t);
    for (size_t i = 0; i < b->operators; i++)
        if (b->operator[i].multiple> 1 && b->operator[i].sigma> 0) {
            fprintf(out,
                    "%s: sigma1 = sigma2, so that no direction is the fastest: u may be any of the plane of v and n\n",
                    b->operator[i].teacher->name);
            break;
        }
}

static void print_growths(const breaking *b, FILE *out)
{
    static const char *const names[] = {"teacher",  "flow",      "tau",       "sigma1",         "sigma1/tau",
                                        "measured", "ratio - 1", "cos(u, v)", "cos(u, fastest)"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < b->growths; i++) {
        const breaking_growth *g = &b->growth[i];
        table_text(t, "%s", g->teacher->name);
        flow_text(t, g);
        table_number(t, g->tau);
        table_number(t, g->sigma);
        table_number(t, g->predicted);
        if (isnan(g->measured.value)) {
            table_text(t, is_algebraic(g->teacher) ? "algebraic" : "too close");
            for (int j = 0; j < 3; j++)
                table_text(t, "-");
            continue;
        }
        table_number(t, g->measured.value);
        table_text(t, "%.1e", g->measured.value / g->predicted - 1);
        table_text(t, "%.4f", g->with_v);
        table_text(t, "%.4f", g->with_top);
    }
    fprintf(out, "\n");
    table_print(t, out);
    fprintf(out, "of a sample sigma1 is that of its own rows\n");
    table_free(t);
}

/* What is seen of M = 0. */
static void print_escapes(const breaking *b, FILE *out)
{
    static const char *const names[] = {"M = 0: tau",   "|u|/tau from", "to",         "time taken",
                                        "rate at last", "power of |u|", "rate/|u|^2", "theory"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < b->courses; i++) {
        const breaking_course *c = &b->course[i];
        if (!is_algebraic(c->teacher) || c->n == 0)
            continue;
        const breaking_law law = breaking_course_law(c, BREAKING_SMALL_FROM, BREAKING_SMALL_TO);
        table_number(t, c->tau);
        table_number(t, c->size[0] / c->tau);
        table_number(t, c->size[c->n - 1] / c->tau);
        table_number(t, c->time[c->n - 1]);
        table_number(t, c->rate[c->n - 1]);
        table_text(t, "%.3f", law.power);
        table_number(t, law.coefficient);
        table_number(t, breaking_escape_coefficient(c->tau));
    }
    fprintf(out, "\n");
    table_print(t, out);
    table_free(t);
}

static void print_thresholds(const breaking *b, FILE *out)
{
    static const char *const names[] = {"teacher",  "eta_u",        "eta_c",          "lambda_u",
                                        "lambda_c", "critical tau", "growth at 0.99", "at 1.01"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < b->thresholds; i++) {
        const breaking_threshold *h = &b->threshold[i];
        table_text(t, "%s", h->teacher->name);
        table_number(t, h->rates.eta_u);
        table_number(t, h->rates.eta_c);
        table_number(t, h->rates.lambda_u);
        table_number(t, h->rates.lambda_c);
        table_text(t, "%.9g", h->tau);
        table_number(t, h->below.measured.value);
        table_number(t, h->above.measured.value);
    }
    fprintf(out, "\n");
    table_print(t, out);
    table_free(t);
}

static void print_phase(const breaking *b, FILE *out)
{
    const size_t cols = b->phase_taus + 1;
    char(*text)[32] = allocate(cols, sizeof *text);
    const char **names = allocate(cols, sizeof *names);
    snprintf(text[0], sizeof text[0], "lambda \\ tau");
    for (size_t j = 0; j < cols; j++) {
        if (j > 0)
            snprintf(text[j], sizeof text[j], "%.4g", b->phase[j - 1].tau);
        names[j] = text[j];
    }
    table *t = table_create(cols, names);
    for (size_t i = 0; i < b->phase_lambdas; i++)
        for (size_t j = 0; j < cols; j++) {
            const breaking_growth *g = &b->phase[i * b->phase_taus + (j > 0 ? j - 1 : 0)];
            if (j == 0)
                table_text(t, "%.4g", g->lambda);
            else
                table_text(t, "%s%s", g->predicted > 0 ? "parts" : "stays", breaking_is_seen(g) ? "" : " (not seen)");
        }
    fprintf(out, "\n");
    table_print(t, out);
    fprintf(out, "of the teacher %s: whether it parts, as sigma1/tau > lambda says, and as the flow does\n",
            b->phase[0].teacher->name);
    table_free(t);
    free(text);
    free(names);
}

void breaking_print(const breaking *b, FILE *out)
{
    for (size_t i = 0; i < BREAKING_TEACHERS; i++)
        fprintf(out, "%-10s  %s\n", breaking_teachers[i].name, breaking_teachers[i].text);
    fprintf(out, "\n");
    print_operators(b, out);
    print_growths(b, out);
    print_escapes(b, out);
    print_thresholds(b, out);
    print_phase(b, out);
}

/* A cell that is blank where it is not known. */
static void known(table *t, double value)
{
    if (isnan(value))
        table_text(t, "%s", "");
    else
        table_number(t, value);
}

void breaking_csv(const breaking *b, const char *path)
{
    static const char *const names[] = {"teacher",   "tau",  "sigma1", "growth_measured", "growth_predicted",
                                        "alignment", "flow", "d",      "lambda",          "escape"};
    table *t = table_create(sizeof names / sizeof *names, names);
    const size_t cells = b->phase_taus * b->phase_lambdas;
    for (size_t i = 0; i < b->growths + cells; i++) {
        const breaking_growth *g = i < b->growths ? &b->growth[i] : &b->phase[i - b->growths];
        table_text(t, "%s", g->teacher->name);
        table_number(t, g->tau);
        table_number(t, g->sigma);
        known(t, g->measured.value);
        table_number(t, g->predicted);
        known(t, g->with_v);
        table_text(t, g->d == 0 ? "plane" : "sample");
        table_number(t, g->d == 0 ? 2 : (double)g->d);
        table_number(t, g->lambda);
        table_text(t, is_algebraic(g->teacher) ? "algebraic" : g->predicted > 0 ? "exponential" : "none");
    }
    table_csv(t, path);
    table_free(t);
}
