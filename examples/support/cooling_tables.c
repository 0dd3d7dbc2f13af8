#include "cooling.h"

#include <math.h>
#include <stdlib.h>

static void print_head(const cooling *c, const cooling_options *o, FILE *out)
{
    static const char *const gates[] = {"softmax", "topk-renorm", "topk-raw", "subset"};
    fprintf(out, "%s: %zu rows, %zu features%s; ", o->data.path, c->data.n, c->data.d,
            o->data.standardize ? ", standardised" : "");
    if (o->data.logs != NULL)
        fprintf(out, "logarithms of %s; ", o->data.logs);
    if (o->data.weights != NULL)
        fprintf(out, "weights %s; ", o->data.weights);
    fprintf(out, "target %s\n", o->data.target != NULL ? o->data.target : "none");
    if (c->data.first > 0)
        fprintf(out, "fitted on %zu rows, measured on the %zu held out\n", c->data.fitted, c->n);
    fprintf(out, "%zu experts, router %s%s\n", c->K, o->router != NULL ? "" : "of the centroids of k-means",
            o->router != NULL ? o->router : "");
    if (c->gate.k > 0)
        fprintf(out, "gate %s, k = %zu%s\n", gates[c->gate.kind], c->gate.k,
                cooling_is_frozen(c) ? ": one expert with gate 1, whatever the temperature" : "");
}

static void print_margins(const cooling *c, FILE *out)
{
    const double shares[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
    static const char *const names[] = {"smallest", "5 %", "25 %", "median", "75 %", "95 %", "largest"};
    table *t = table_create(7, names);
    for (size_t i = 0; i < 7; i++)
        table_number(t, i == 3 ? c->median : cooling_margin(c, shares[i]));
    fprintf(out, "\nmargins (logit of rank %zu less that of rank %zu); %llu rows tie\n", c->deciding.upper,
            c->deciding.lower, (unsigned long long)c->ties);
    table_print(t, out);
    table_free(t);
    if (isfinite(c->C))
        fprintf(out, "P(margin <= t) <= C t for every t, over the data: C = %.6g\n", c->C);
    if (c->unit != c->median)
        fprintf(out, "no usable median margin: the unit below is %.6g\n", c->unit);
}

/* Temperatures and widths are shown in units of the median margin, where there is one. */
static const char *unit_name(const cooling *c, const char *of_median, const char *of_unit)
{
    return c->unit == c->median ? of_median : of_unit;
}

static void print_mass(const cooling *c, FILE *out)
{
    const char *const names[] = {"w",         unit_name(c, "w/median", "w/unit"), "BM(w)", "lo", "hi", "alpha(w)",
                                 "std. error"};
    table *t = table_create(7, names);
    for (size_t i = 0; i < c->nw; i++) {
        table_number(t, c->w[i]);
        table_number(t, c->w[i] / c->unit);
        table_number(t, c->mass[i].value);
        table_number(t, c->mass[i].lo);
        table_number(t, c->mass[i].hi);
        table_exponent(t, &c->exponent[i]);
    }
    fputs("\nboundary mass, 95 % intervals, and margin exponent by Hill's estimator\n", out);
    table_print(t, out);
    table_free(t);
}

/* The weight of the rows of cell k that its expert was fitted on. */
static double cell_weight(const cooling *c, size_t k)
{
    if (c->data.w == NULL)
        return (double)c->fit[k].rows;
    size_t *choice = allocate(c->data.fitted, sizeof *choice);
    double sum = 0;
    require(moeg_router_top(c->router, c->data.fitted, c->data.x, 1, choice));
    for (size_t i = 0; i < c->data.fitted; i++)
        sum += choice[i] == k ? c->data.w[i] : 0;
    free(choice);
    return sum;
}

static void print_cells(const cooling *c, FILE *out)
{
    static const char *const names[] = {"expert", "rows", "share", "rank", "mean residual", ""};
    table *t = table_create(6, names);
    for (size_t k = 0; k < c->K; k++) {
        const moeg_cell_fit *fit = &c->fit[k];
        table_text(t, "%zu", k);
        table_text(t, "%zu", fit->rows);
        table_text(t, "%.2f %%", 100 * (double)fit->rows / (double)c->data.fitted);
        table_text(t, "%zu", fit->rank);
        if (fit->rows > 0)
            table_number(t, fit->residual / cell_weight(c, k));
        else
            table_text(t, "-");
        table_text(t, "%s",
                   fit->rows == 0   ? "empty: zero expert"
                   : fit->deficient ? "slopes not unique: minimum norm"
                                    : "");
    }
    fputs("\ncells and their experts\n", out);
    table_print(t, out);
    table_free(t);
}

static void print_gaps(const cooling *c, FILE *out)
{
    const char *const names[] = {"tau",         unit_name(c, "tau/median", "tau/unit"),
                                 "L_tau",       "gap",
                                 "std. error",  "gap/L_0 %",
                                 "certificate", "rows in 45 tau"};
    table *t = table_create(8, names);
    for (size_t i = 0; i < c->ntau; i++) {
        const moeg_estimate *gap = &c->gap[i];
        table_number(t, c->tau[i]);
        table_number(t, c->tau[i] / c->unit);
        table_text(t, "%.9g", c->soft[i].value);
        table_number(t, gap->value);
        if (isfinite(gap->std_error))
            table_number(t, gap->std_error);
        else
            table_text(t, gap->contributing == 0 ? "no row feels this" : "too few rows feel this");
        if (cooling_is_perfect(c))
            table_text(t, "-");
        else
            table_text(t, "%.4g", 100 * gap->value / c->hard.value);
        table_number(t, c->bounded != NULL ? fmin(c->moment[i], c->bounded[i]) : c->moment[i]);
        table_text(t, "%llu", (unsigned long long)gap->contributing);
    }
    fprintf(out, "\nhard risk L_0 = %.9g, std. error %.3g; soft risks and gaps\n", c->hard.value, c->hard.std_error);
    table_print(t, out);
    table_free(t);
    fputs("too few rows: fewer than 30, or such as add no more to the gap than 30 equal ones\n"
          "certificate: |gap| is at most the smaller of mu mean[Q exp(-margin/tau)] and 4 B (B + M) mu C tau, mu the "
          "number\nof experts that the gate may move to (softmax: K - 1), Q the most that moving a unit of gate "
          "changes a row's loss\n(softmax: D (2 R + D), D the largest |f_k - f_best|, R = |y - f_best|), B and M the "
          "largest |f_k| and |y| of all rows\n(moeg_bound_moment(), moeg_bound_bounded())\n",
          out);
}

/* Of the temperatures called safe on the rows, the first at which two standard errors reach past 1 %. */
static void print_doubt(const cooling *c, size_t safe, FILE *out)
{
    for (size_t t = 0; t < safe && !cooling_is_perfect(c); t++)
        if (!(fabs(c->gap[t].value) + 2 * c->gap[t].std_error <= SAFE_SHARE * c->hard.value)) {
            fprintf(out, "The rows do not show that of the population: at tau = %.6g %s.\n", c->tau[t],
                    isfinite(c->gap[t].std_error) ? "|gap| + 2 std. errors is above 1 %"
                                                  : "too few rows feel it for an error bar");
            return;
        }
}

static void print_safe(const cooling *c, FILE *out)
{
    const size_t safe = cooling_safe(c);
    if (cooling_is_perfect(c))
        fprintf(out, "\nsafe temperature: undefined, since the hard risk is 0%s\n",
                c->hard.value == 0 ? "" : " to rounding");
    else if (safe == 0)
        fprintf(out, "\nsafe temperature: below the grid; at tau = %.6g the gap is %.4g %% of L_0\n", c->tau[0],
                100 * c->gap[0].value / c->hard.value);
    else
        fprintf(out,
                "\nsafe temperature: tau* = %.6g, %.4g of the %s: the gap is at most 1 %% of L_0 up to there, %s\n",
                c->tau[safe - 1], c->tau[safe - 1] / c->unit, unit_name(c, "median margin", "unit"),
                safe == c->ntau ? "the end of the grid" : "and more at the next of the grid");
    print_doubt(c, safe, out);
    fputs("Sums over the data are exact. Standard errors and intervals are those of the population that the rows were\n"
          "drawn from, independently, with router and experts held fixed.\n",
          out);
}

void cooling_print(const cooling *c, const cooling_options *o, FILE *out)
{
    print_head(c, o, out);
    print_margins(c, out);
    print_mass(c, out);
    if (c->ntau == 0)
        return;
    print_cells(c, out);
    print_gaps(c, out);
    print_safe(c, out);
}

void cooling_csv(const cooling *c, const char *path)
{
    static const char *const risks[] = {"tau", "soft_risk", "hard_risk", "gap", "std_error"};
    static const char *const masses[] = {"w", "mass", "lo", "hi"};
    table *t = c->ntau > 0 ? table_create(5, risks) : table_create(4, masses);
    for (size_t i = 0; i < c->ntau; i++) {
        table_number(t, c->tau[i]);
        table_number(t, c->soft[i].value);
        table_number(t, c->hard.value);
        table_number(t, c->gap[i].value);
        table_number(t, c->gap[i].std_error);
    }
    for (size_t i = 0; i < c->nw && c->ntau == 0; i++) {
        table_number(t, c->w[i]);
        table_number(t, c->mass[i].value);
        table_number(t, c->mass[i].lo);
        table_number(t, c->mass[i].hi);
    }
    table_csv(t, path);
    table_free(t);
}
