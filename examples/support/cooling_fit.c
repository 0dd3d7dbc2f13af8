#include "cooling.h"

#include <stdlib.h>

/* The expert of cell k from slopes fitted far from the origin: the intercept anew, as the weighted mean of y - A x. */
static void place_expert(cooling *c, size_t k, const size_t *choice, const double *A)
{
    const size_t d = c->data.d;
    double intercept = 0, count = 0;
    c->fit[k].residual = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->data.fitted; i++) {
            const double weight = c->data.w == NULL ? 1 : c->data.w[i];
            double off = c->data.y[i] - intercept; /* in the first pass from the mean so far */
            if (choice[i] != k || weight == 0)
                continue;
            for (size_t j = 0; j < d; j++)
                off -= A[j] * c->data.x[i * d + j];
            if (pass > 0)
                c->fit[k].residual += weight * off * off;
            else
                intercept += off * (weight / (count += weight));
        }
    require(moeg_expert_affine_create(&c->experts[k], d, 1, A, &intercept));
}

/* Fits the experts on the features where the file has them, so that columns which depend on each other but for the
 * rounding of the file are found dependent. The cells are those of the router: one more feature s is the number of the
 * row's cell, and 2 k s - k^2 is largest at k = s. It is constant in each cell and takes no part in the fit. */
void cooling_fit(cooling *c)
{
    const size_t n = c->data.fitted, d = c->data.d, K = c->K, wide = d + 1;
    double *x = allocate(n * wide, sizeof *x), *W = allocate(K * wide, sizeof *W), *b = allocate(K, sizeof *b);
    double *A = allocate(wide, sizeof *A);
    size_t *choice = allocate(n, sizeof *choice);
    moeg_expert **fitted = allocate(K, sizeof(moeg_expert *));
    moeg_router *cells;
    require(moeg_router_top(c->router, n, c->data.x, 1, choice));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d; j++)
            x[i * wide + j] = c->data.x[i * d + j] + c->data.origin[j];
        x[i * wide + d] = (double)choice[i];
    }
    for (size_t k = 0; k < K; k++) {
        W[k * wide + d] = 2 * (double)k;
        b[k] = -(double)k * (double)k;
    }
    require(moeg_router_affine_create(&cells, K, wide, W, b));
    require(moeg_profile_hard(cells, n, x, 1, c->data.y, c->data.w, fitted, c->fit));
    for (size_t k = 0; k < K; k++) {
        require(moeg_expert_affine_form(fitted[k], A, NULL));
        c->fit[k].deficient = c->fit[k].rank < d;
        place_expert(c, k, choice, A);
        moeg_expert_free(fitted[k]);
    }
    moeg_router_free(cells);
    free(x);
    free(W);
    free(b);
    free(A);
    free(choice);
    free(fitted);
}
