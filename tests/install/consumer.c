/* A user's program: the boundary mass of an affine router, checked against GSL, and a look at whose BLAS is called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <moegeom/moegeom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K = 2, D = 3 };
static const double W[K * D] = {0.71, -1.32, 0.08, -0.39, 0.94, -0.27};
static const double b[K] = {0.26, -0.13};

static int boundary_mass_is_gsls(void)
{
    moeg_law *law = NULL;
    moeg_router *router = NULL;
    if (moeg_law_gaussian_create(&law, D, NULL, NULL) != MOEG_OK ||
        moeg_router_affine_create(&router, K, D, W, b) != MOEG_OK) {
        fprintf(stderr, "%s\n", moeg_last_error());
        return 0;
    }
    moeg_sampling s = moeg_sampling_default();
    double w[] = {1e-9, 1e-3, 1e-1};
    moeg_estimate mass[3];
    moeg_status st = moeg_boundary_mass(router, law, 3, w, &s, mass);
    if (st != MOEG_OK)
        fprintf(stderr, "%s: %s\n", moeg_strerror(st), moeg_last_error());
    moeg_router_free(router);
    moeg_law_free(law);

    /* a_1 - a_2 is normal of mean b_1 - b_2 and variance |W_1 - W_2|^2. */
    double variance = 0;
    for (int j = 0; j < D; j++)
        variance += (W[j] - W[D + j]) * (W[j] - W[D + j]);
    const double sigma = sqrt(variance), mean = b[0] - b[1];
    const double expected = gsl_cdf_gaussian_P(w[2] - mean, sigma) - gsl_cdf_gaussian_P(-w[2] - mean, sigma);
    printf("BM(%g) = %.17g, GSL %.17g\n", w[2], mass[2].value, expected);
    /* The difference of two probabilities of size 1/2 loses a digit. */
    return st == MOEG_OK && fabs(mass[2].value - expected) <= 1e-14;
}

static int generator_is_gsls(void)
{
    gsl_rng *generator = gsl_rng_alloc(moeg_rng_philox);
    gsl_rng_set(generator, 7);
    double u = NAN;
    const moeg_stream stream = {7, 0};
    const int same = moeg_stream_uniforms(stream, 0, 1, 1, &u) == MOEG_OK && u == gsl_rng_uniform(generator);
    gsl_rng_free(generator);
    return same;
}

/* libgslcblas, which comes with GSL, has the same names as OpenBLAS; the first one in the program wins. */
static int blas_is_openblas(void)
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, "cblas_dgemm");
    if (address == NULL || dladdr(address, &info) == 0)
        return 0;
    char *file = realpath(info.dli_fname, NULL);
    const int openblas = file != NULL && strstr(file, "openblas") != NULL;
    printf("cblas_dgemm of %s\n", file != NULL ? file : info.dli_fname);
    free(file);
    return openblas;
}

int main(void)
{
    printf("libmoegeom %s\n", moeg_version());
    const int results[] = {boundary_mass_is_gsls(), generator_is_gsls(), blas_is_openblas()};
    if (!results[0] || !results[1] || !results[2])
        printf("right: mass %d, generator %d, BLAS %d\n", results[0], results[1], results[2]);
    return !results[0] || !results[1] || !results[2];
}
