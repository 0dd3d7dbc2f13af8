#include "routed.h"

#include <math.h>
#include <stdlib.h>

static void known_number(table *t, int known, double value, const char *otherwise)
{
    if (known)
        table_number(t, value);
    else
        table_text(t, "%s", otherwise);
}

static double leading_term(const routed_curve *c, size_t i)
{
    return c->constant.value * pow(c->x[i], c->power);
}

/* Whether it has an error bar. */
static int print_estimate(table *t, const moeg_estimate *e, const char *unknown)
{
    const int known = routed_has_error(e);
    table_number(t, e->value);
    known_number(t, known, e->std_error, unknown);
    return known;
}

static void print_curve(const routed_curve *c, FILE *out)
{
    char source[32];
    int all_known = 1;
    snprintf(source, sizeof source, "by %s", routed_source(c));
    const char *const names[] = {c->variable,  source,  "std. error", "sampled",
                                 "std. error", c->felt, "leading",    c->no_bound[0] == '\0' ? c->bound_name : "bound"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        table_number(t, c->x[i]);
        if (c->line != NULL) {
            all_known &=
                print_estimate(t, &c->line[i], routed_is_drawn(c) ? "too few lines" : "-") || !routed_is_drawn(c);
        } else {
            table_text(t, "-");
            table_text(t, "-");
        }
        all_known &= print_estimate(t, &c->sampled[i], "too few rows");
        table_text(t, "%llu", (unsigned long long)c->sampled[i].contributing);
        known_number(t, !isnan(c->constant.value), leading_term(c, i), "-");
        known_number(t, isfinite(c->bound[i]), c->bound[i], "-");
    }
    table_print(t, out);
    table_free(t);
    if (!all_known)
        fputs("too few: fewer than 30, or such as add no more than 30 equal ones\n", out);
}

/* The method asked for; of AUTO the lines, where there are some. */
static void write_curve(const routed_curve *c, moeg_method method, const char *path)
{
    const char *const names[] = {c->variable, c->name, "std_error", "lo", "hi", "leading", "bound"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        const moeg_estimate *e = method == MOEG_METHOD_MC || c->line == NULL ? &c->sampled[i] : &c->line[i];
        table_number(t, c->x[i]);
        table_number(t, e->value);
        table_number(t, e->std_error);
        table_number(t, e->lo);
        table_number(t, e->hi);
        known_number(t, !isnan(c->constant.value), leading_term(c, i), "");
        known_number(t, isfinite(c->bound[i]), c->bound[i], "");
    }
    table_csv(t, path);
    table_free(t);
}

static void print_head(const routed *r, const routed_curve *c, uint64_t seed, FILE *out)
{
    fprintf(out, "%s; %s\n%llu rows sampled; ", r->text, c->what, (unsigned long long)c->sampled[0].n);
    if (c->line == NULL)
        fputs("no lines", out);
    else if (routed_is_drawn(c))
        fprintf(out, "%llu lines drawn", (unsigned long long)c->line[0].n);
    else
        fputs("no lines drawn: the router's logits differ in one or two dimensions, which are integrated", out);
    fprintf(out, "; seed %llu\n\n", (unsigned long long)seed);
}

int routed_report(const routed *r, const routed_curve *c, const moeg_sampling *s, const char *csv, const char *svg)
{
    FILE *out = report_stream(csv);
    print_head(r, c, s->seed, out);
    print_curve(c, out);
    if (csv != NULL)
        write_curve(c, s->method, csv);
    if (svg != NULL)
        routed_draw(r, c, svg);
    return routed_curve_judge(c, out);
}
