/* X = mean + L z, z the normals 0 .. d - 1 of unit i of the stream {seed, MOEG_STREAM_LAW}. */
#include "model/law_gaussian.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/streams.h"
#include "model/block.h"
#include "model/law_kind.h"

#include <math.h>

typedef struct gaussian_law {
    moeg_law law;
    int is_identity; /* the covariance; then it and the factor are not kept */
    int is_centred;  /* the mean is 0 */
    double numbers[];
} gaussian_law;

static const double *mean_of(const gaussian_law *g)
{
    return g->numbers;
}

static const double *covariance_of(const gaussian_law *g)
{
    return g->numbers + g->law.dim;
}

static const double *factor_of(const gaussian_law *g)
{
    return covariance_of(g) + g->law.dim * g->law.dim;
}

static size_t workspace(const moeg_law *law, size_t stride)
{
    return ((const gaussian_law *)law)->is_identity ? 0 : law->dim * stride;
}

/* No sum overflows: |L z| <= 9 d sqrt(DBL_MAX), less than half a unit in the last place of DBL_MAX. */
void moeg_law_gaussian_map(const moeg_law *law, size_t stride, const double *z, double *x)
{
    const gaussian_law *g = (const gaussian_law *)law;
    const size_t d = law->dim;
    if (!g->is_identity) {
        moeg_kernel_affine(d, d, factor_of(g), mean_of(g), stride, z, x);
        return;
    }
    if (g->is_centred && x == z)
        return;
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < stride; i++)
            x[j * stride + i] = z[j * stride + i] + mean_of(g)[j];
}

static moeg_status draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                        double *scratch)
{
    (void)n;
    double *z = ((const gaussian_law *)law)->is_identity ? x : scratch;
    moeg_kernel_normals(seed, MOEG_STREAM_LAW, first, law->dim, stride, z);
    moeg_law_gaussian_map(law, stride, z, x);
    return MOEG_OK;
}

static const moeg_law_kind gaussian_kind = {.workspace = workspace, .draw = draw};

/* Symmetric to 1e-12 of the two standard deviations, as law.h promises; what rounding left is not the user's fault. */
static moeg_status check_symmetric(const char *function, size_t d, const double *S)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            if (fabs(S[i * d + j] - S[j * d + i]) > 1e-12 * sqrt(fabs(S[i * d + i])) * sqrt(fabs(S[j * d + j])))
                return moeg_fail(MOEG_EINVAL,
                                 "%s: covariance must be symmetric, got %.17g at [%zu, %zu] and %.17g at [%zu, %zu]",
                                 function, S[i * d + j], i, j, S[j * d + i], j, i);
    return MOEG_OK;
}

static int is_identity_matrix(size_t d, const double *S)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            if (S[i * d + j] != (i == j))
                return 0;
    return 1;
}

/* The mean of S and its transpose, so that nothing depends on which triangle is read. */
static void copy_symmetric(size_t d, const double *S, double *copy)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            const double a = S[i * d + j], b = S[j * d + i];
            copy[i * d + j] = a == b ? a : a / 2 + b / 2;
        }
}

static moeg_status check_arguments(const char *function, moeg_law **law, size_t d, const double *mean,
                                   const double *covariance)
{
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (d == 0 || d > UINT32_MAX) /* a unit of the stream has 2^32 draws */
        return moeg_fail(MOEG_EINVAL, "%s: d must be in [1, 2^32), got %zu", function, d);
    if (mean != NULL)
        status = moeg_check_finite(function, "mean", d, mean);
    if (status == MOEG_OK && covariance != NULL)
        status = moeg_check_rows(function, "covariance", d, d, covariance);
    if (status == MOEG_OK && covariance != NULL)
        status = check_symmetric(function, d, covariance);
    return status;
}

moeg_status moeg_law_gaussian_create(moeg_law **law, size_t d, const double *mean, const double *covariance)
{
    static const char function[] = "law_gaussian";
    moeg_status status = check_arguments(function, law, d, mean, covariance);
    if (status != MOEG_OK)
        return status;
    const int is_identity = covariance == NULL || is_identity_matrix(d, covariance);
    gaussian_law *g = moeg_object_alloc(sizeof *g, is_identity ? d : d + 2 * d * d);
    if (g == NULL)
        return moeg_fail_memory(function);
    g->law.kind = &gaussian_kind;
    g->law.dim = d;
    g->law.rows = 0;
    g->is_identity = is_identity;
    g->is_centred = 1;
    for (size_t j = 0; j < d; j++) {
        g->numbers[j] = mean == NULL ? 0 : mean[j];
        g->is_centred &= g->numbers[j] == 0;
    }
    if (!is_identity) {
        double *copy = g->numbers + d;
        size_t rank;
        copy_symmetric(d, covariance, copy);
        status = moeg_linalg_factor(function, d, copy, copy + d * d, &rank);
    }
    if (status == MOEG_OK)
        *law = &g->law;
    else
        moeg_release(g);
    return status;
}

int moeg_law_gaussian_parts(const moeg_law *law, const double **mean, const double **covariance)
{
    if (law->kind != &gaussian_kind)
        return 0;
    const gaussian_law *g = (const gaussian_law *)law;
    *mean = mean_of(g);
    *covariance = g->is_identity ? NULL : covariance_of(g);
    return 1;
}

const double *moeg_law_gaussian_factor(const moeg_law *law)
{
    const gaussian_law *g = (const gaussian_law *)law;
    return g->is_identity ? NULL : factor_of(g);
}
