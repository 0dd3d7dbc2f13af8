/* Reads tests/reference/symmetry.csv: lines case,quantity,i,j,value. */
#ifndef MOEG_TESTS_DYNAMICS_SYMMETRY_CASES_H
#define MOEG_TESTS_DYNAMICS_SYMMETRY_CASES_H

#include "support/check.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { CASES = 32, CASE_DIM = 4, CASE_OUTPUTS = 3, CASE_COLUMNS = 15, CASE_TAUS = 7, CASE_DECAYS = 3 };

struct symmetry_case {
    char name[40];
    size_t d, outputs, p, q, rank;
    int has_covariance, has_pair;
    double tau, v[CASE_DIM], beta[CASE_OUTPUTS * CASE_DIM], mu[CASE_OUTPUTS], covariance[CASE_DIM * CASE_DIM];
    moeg_symmetric symmetric;
    moeg_contrast contrast;
    double M[CASE_DIM * CASE_COLUMNS], sigma[CASE_DIM], u1[CASE_DIM], c1[CASE_COLUMNS];
    size_t taus, decays;
    double rate_tau[CASE_TAUS], growth[CASE_TAUS], growth_loss[CASE_TAUS];
    moeg_symmetry_rates decay[CASE_DECAYS];
    double tau_c[CASE_DECAYS], decayed_growth[CASE_DECAYS][3];
};

/* Where a quantity of a case goes; NULL for those that are no doubles. */
static inline double *symmetry_place(struct symmetry_case *c, const char *quantity, size_t i, size_t j)
{
    moeg_symmetry_rates *decay = &c->decay[i < CASE_DECAYS ? i : 0];
    const struct {
        const char *name;
        double *first;
        size_t index, size;
    } places[] = {{"taus", &c->tau, 0, 1},
                  {"v", c->v, i, CASE_DIM},
                  {"beta", c->beta, i * c->d + j, CASE_OUTPUTS * CASE_DIM},
                  {"mu0", c->mu, i, CASE_OUTPUTS},
                  {"Sigma", c->covariance, i * c->d + j, CASE_DIM * CASE_DIM},
                  {"M", c->M, i * c->q + j, CASE_DIM * CASE_COLUMNS},
                  {"sigma", c->sigma, i, CASE_DIM},
                  {"u1", c->u1, i, CASE_DIM},
                  {"c1", c->c1, i, CASE_COLUMNS},
                  {"rate_tau", c->rate_tau, i, CASE_TAUS},
                  {"growth", c->growth, i, CASE_TAUS},
                  {"growth_loss", c->growth_loss, i, CASE_TAUS},
                  {"decay_eta_u", &decay->eta_u, 0, 1},
                  {"decay_eta_c", &decay->eta_c, 0, 1},
                  {"decay_lambda_u", &decay->lambda_u, 0, 1},
                  {"decay_lambda_c", &decay->lambda_c, 0, 1},
                  {"tau_c", c->tau_c, i, CASE_DECAYS},
                  {"decayed_growth", &c->decayed_growth[i % CASE_DECAYS][j % 3], 0, 1}};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++)
        if (strcmp(places[k].name, quantity) == 0) {
            assert_true(places[k].index < places[k].size);
            return places[k].first + places[k].index;
        }
    return NULL;
}

static inline void symmetry_value(struct symmetry_case *c, const char *quantity, size_t i, size_t j, double value)
{
    const size_t whole = value > 0 ? (size_t)value : 0;
    const moeg_contrast contrasts[] = {moeg_contrast_constant(), moeg_contrast_linear(), moeg_contrast_affine()};
    double *place = symmetry_place(c, quantity, i, j);
    if (place != NULL)
        *place = value;
    else if (strcmp(quantity, "d") == 0)
        c->d = whole;
    else if (strcmp(quantity, "outputs") == 0)
        c->outputs = whole;
    else if (strcmp(quantity, "p") == 0)
        c->p = whole, c->q = whole * c->outputs;
    else if (strcmp(quantity, "rank") == 0)
        c->rank = whole;
    else if (strcmp(quantity, "fbar") == 0)
        c->symmetric = (moeg_symmetric)whole;
    else if (strcmp(quantity, "contrast") == 0)
        c->contrast = contrasts[whole - 1];
    else
        fail_msg("unknown quantity %s", quantity);
    c->has_covariance |= strcmp(quantity, "Sigma") == 0;
    c->has_pair |= strcmp(quantity, "u1") == 0;
    c->taus += strcmp(quantity, "rate_tau") == 0;
    c->decays += strcmp(quantity, "tau_c") == 0;
}

/* All cases, to be freed with free(). */
static inline struct symmetry_case *symmetry_cases(void)
{
    struct symmetry_case *cases = calloc(CASES, sizeof *cases);
    FILE *file = fopen(MOEG_TEST_DATA "/symmetry.csv", "r");
    char line[400], name[40], quantity[40];
    size_t count = 0, i, j;
    assert_non_null(cases);
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        double value;
        if (sscanf(line, "%39[^,],%39[^,],%zu,%zu,%lf", name, quantity, &i, &j, &value) != 5)
            continue;
        if (count == 0 || strcmp(cases[count - 1].name, name) != 0) {
            assert_true(count < CASES);
            strcpy(cases[count++].name, name);
        }
        symmetry_value(&cases[count - 1], quantity, i, j, value);
    }
    fclose(file);
    assert_int_equal(count, CASES);
    return cases;
}

static inline moeg_halves symmetry_halves(const struct symmetry_case *c)
{
    return (moeg_halves){.d = c->d, .outputs = c->outputs, .v = c->v, .beta = c->beta, .mu = c->mu, .tau = c->tau};
}

/* To be freed. */
static inline moeg_law *symmetry_law(const struct symmetry_case *c)
{
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, c->d, NULL, c->has_covariance ? c->covariance : NULL));
    return law;
}

static inline double largest_entry(size_t size, const double *values)
{
    double top = 0;
    for (size_t i = 0; i < size; i++)
        top = fmax(top, fabs(values[i]));
    return top;
}

#endif
