/* cooling_report with weighted rows, some held out, and every gate, against the obvious computation of oracle.h. */
#include "examples/oracle.h"

#define COMMON                                                                                                         \
    "--data data.csv --target price --router router.csv --log v,price --standardize --tau 0.002:4:33 --csv risks.csv "

/* The oracle with the share of the rows held out by the seed. */
static oracle *held_oracle(const data *s, moeg_gate gate, double share, uint64_t seed)
{
    oracle *o = calloc(1, sizeof *o);
    o->gate = gate;
    for (size_t i = 0; i < N; i++)
        o->w[i] = s->raw[i][4];
    if (share > 0)
        hold_out(o, share, seed);
    obvious(s, o);
    return o;
}

/* The table of cells holds these experts: rows, share of the fitted rows, rank and mean squared residual. */
static void assert_experts_are_those_of(const oracle *o)
{
    char line[512];
    size_t k = 0, fitted = 0;
    for (size_t i = 0; i < N; i++)
        fitted += !o->held[i];
    FILE *file = open_file("report", "r");
    while (fgets(line, sizeof line, file) != NULL && strstr(line, "cells and their experts") == NULL)
        continue;
    while (fgets(line, sizeof line, file) != NULL && k < K) {
        size_t expert, rows, rank;
        double share, residual;
        if (sscanf(line, "%zu %zu %lf %% %zu %lf", &expert, &rows, &share, &rank, &residual) != 5)
            continue;
        assert_int_equal(expert, k);
        assert_int_equal(rows, o->rows[k]);
        assert_near(share, 100 * (double)o->rows[k] / (double)fitted, 0.005001);
        assert_int_equal(rank, D);
        assert_relative(residual, (double)o->residual[k], 5.1e-6); /* six digits are printed */
        k++;
    }
    fclose(file);
    assert_int_equal(k, K);
}

static const struct {
    const char *options;
    moeg_gate gate;
    double share;
    uint64_t seed;
} runs[] = {
    {"--holdout 0.25", {MOEG_GATE_SOFTMAX, 0}, 0.25, 1},
    {"--holdout 0.25 --gate topk-renorm --k 2", {MOEG_GATE_TOPK_RENORM, 2}, 0.25, 1},
    {"--holdout 0.25 --gate topk-raw --k 2", {MOEG_GATE_TOPK_RAW, 2}, 0.25, 1},
    {"--holdout 0.25 --gate subset --k 2", {MOEG_GATE_SUBSET, 2}, 0.25, 1},
    {"--holdout 0.45 --seed 77 --gate subset --k 2", {MOEG_GATE_SUBSET, 2}, 0.45, 77},
    {"--gate topk-raw --k 3", {MOEG_GATE_TOPK_RAW, 3}, 0, 0},
};

static void gates_on_weighted_rows_held_out(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    make_data(s, 1);
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        char arguments[512];
        snprintf(arguments, sizeof arguments, COMMON "--weights w %s", runs[r].options);
        assert_int_equal(run(arguments), 0);
        oracle *o = held_oracle(s, runs[r].gate, runs[r].share, runs[r].seed);
        assert_experts_are_those_of(o);
        assert_risks_are_those_of(o);
        free(o);
    }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gates_on_weighted_rows_held_out)};
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
