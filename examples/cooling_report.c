/* Your own data and router, cooled: margins, boundary mass, its exponent, the gap at each temperature, and the
 * temperature below which hard routing is safe [P1 §2-3].
 *
 * The data are an empirical law: sums over them are exact. Standard errors and intervals are those of the population
 * that the rows were drawn from, independently, with router and experts held fixed. */
#include "support/cooling.h"

#include <string.h>

static const char summary[] =
    "Cools a mixture of experts on a data set: margins, boundary mass BM(w) with its 95 % intervals, the margin "
    "exponent\n"
    "alpha(w), soft risk, hard risk and gap at each temperature, and the safe temperature: the largest tau* on the "
    "grid\n"
    "such that |gap| <= 1 % of L_0 on these rows for every tau <= tau*.\n\n"
    "Features are all columns but the target, in the order of the file; logarithms come first, then standardising.\n"
    "All is computed on features less their column means (a router's bias becomes b + W mean), which changes nothing\n"
    "but the rounding: data may lie far from the origin.\n"
    "Gates other than softmax have k active experts; for subset the margin is the gap between ranks k and k + 1.\n"
    "Held-out rows are drawn by the seed; all that is fitted (means, centroids, experts) is fitted on the others.\n"
    "Experts are affine, fitted by least squares inside each cell of the router. Columns of a file without names "
    "(.npy,\n"
    "or CSV without header) are c0, c1, …; rows are counted from 1, the header not among them. Default grids are\n"
    "multiples of the median margin, 1e-4 to 10 (where that is 0 or infinite: of the mean of the positive margins), "
    "as\n"
    "far as they are from 1e-300 to 1e300.";

/* The gate of that name; k is 0 if it was not given. */
static moeg_gate read_gate(const char *name, uint64_t k)
{
    static const char *const names[] = {"softmax", "topk-renorm", "topk-raw", "subset"};
    int kind = -1;
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            kind = i;
    if (kind < 0)
        die("--gate: expected softmax, topk-renorm, topk-raw or subset, got \"%s\"", name);
    if ((kind == MOEG_GATE_SOFTMAX) != (k == 0))
        die("--k: expected with a gate other than softmax, and only there, got %s with %s", k == 0 ? "none" : "it",
            name);
    return (moeg_gate){(moeg_gate_kind)kind, (size_t)k};
}

static cooling_options read_setting(int argc, char **argv)
{
    cooling_options o = {.data.seed = 1};
    const char *gate = "softmax";
    uint64_t k = 0;
    int seed_given = 0;
    const option_spec options[] = {
        {"data", OPTION_TEXT, &o.data.path, "FILE", "rows of numbers, .npy or .csv", NULL},
        {"target", OPTION_TEXT, &o.data.target, "NAME", "column to predict, or none: margins and boundary mass only",
         NULL},
        {"router", OPTION_TEXT, &o.router, "FILE",
         "affine router, .npy or headerless .csv: a row for each expert, weights then bias", NULL},
        {"centroids", OPTION_EXPERTS, &o.centroids, "K", "in place of a router: the K centroids of k-means", NULL},
        {"seed", OPTION_SEED, &o.data.seed, "SEED", "seed of k-means and of the rows held out (1)", &seed_given},
        {"log", OPTION_TEXT, &o.data.logs, "COL,COL", "take logarithms of these columns", NULL},
        {"standardize", OPTION_FLAG, &o.data.standardize, NULL, "scale features to mean 0, population variance 1",
         NULL},
        {"weights", OPTION_TEXT, &o.data.weights, "NAME", "column of weights of the rows, no feature (none)", NULL},
        {"holdout", OPTION_SHARE, &o.data.holdout, "SHARE", "fit on the other rows, measure on this share (none)",
         NULL},
        {"gate", OPTION_TEXT, &gate, "NAME", "softmax, topk-renorm, topk-raw or subset (softmax)", NULL},
        {"k", OPTION_COUNT, &k, "K", "active experts of the other gates", NULL},
        {"tau", OPTION_GRID, &o.tau, "LO:HI:COUNT", "temperatures, a geometric grid", NULL},
        {"w", OPTION_GRID, &o.w, "LO:HI:COUNT", "widths of the boundary mass, a geometric grid", NULL},
        {"threads", OPTION_THREADS, &o.threads, "T", "threads, 0: as OpenMP decides (0); changes no digit", NULL},
        {"quick", OPTION_FLAG, &o.quick, NULL, "fewer points in the default grids", NULL},
        {"csv", OPTION_TEXT, &o.csv, "FILE",
         "write tau,soft_risk,hard_risk,gap,std_error (no target: w,mass,lo,hi) (-: stdout)", NULL},
        {"plot", OPTION_TEXT, &o.plot, "FILE.svg", "draw the curves with gnuplot", NULL},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, NULL},
    };
    read_options(argc, argv, summary, options);
    o.gate = read_gate(gate, k);
    if (o.data.path == NULL)
        die("--data: expected a .csv or .npy file, got nothing");
    if (o.data.target == NULL)
        die("--target: expected the name of a column, or none, got nothing");
    if ((o.router == NULL) == (o.centroids == 0))
        die("--router, --centroids: expected one of them, got %s", o.router != NULL ? "both" : "neither");
    if (o.router != NULL && o.data.holdout == 0 && seed_given)
        die("--seed: expected with --centroids or --holdout only, got it with --router");
    if (strcmp(o.data.target, "none") == 0)
        o.data.target = NULL;
    if (o.data.target == NULL && o.tau.count > 0)
        die("--tau: expected with a target only, got it with --target none");
    const input inputs[] = {{"data", o.data.path}, {"router", o.router}};
    outputs_require(o.csv, o.plot, 2, inputs);
    return o;
}

int main(int argc, char **argv)
{
    const cooling_options o = read_setting(argc, argv);
    FILE *out = report_stream(o.csv);
    cooling c = cooling_measure(&o);
    cooling_print(&c, &o, out);
    if (o.csv != NULL)
        cooling_csv(&c, o.csv);
    if (o.plot != NULL)
        cooling_draw(&c, &o);
    const int status = cooling_judge(&c, out);
    cooling_free(&c);
    return status;
}
