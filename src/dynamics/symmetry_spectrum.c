#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "dynamics/symmetry.h"

#include <math.h>
#include <string.h>

moeg_status moeg_check_matrix(const char *function, size_t d, size_t q, const double *M)
{
    if (d == 0 || q == 0)
        return moeg_fail(MOEG_EINVAL, "%s: %s must be at least 1, got 0", function, d == 0 ? "d" : "q");
    return moeg_check_rows(function, "M", d, q, M);
}

static moeg_status check_tolerance(const char *function, double tolerance)
{
    if (tolerance >= 0 && tolerance < 1)
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: tolerance must be in [0, 1), got %g", function, tolerance);
}

/* How many of the k singular values are the largest. */
static size_t count_largest(size_t k, const double *sigma, double tolerance)
{
    size_t count = 1;
    while (count < k && sigma[count] >= (1 - tolerance) * sigma[0])
        count++;
    return count;
}

/* The top pair out of left (d x k) and right (k x q); the sign is u's. */
static void copy_pair(size_t d, size_t q, size_t k, const double *left, const double *right, double *u, double *c)
{
    double top = 0;
    for (size_t i = 0; i < d; i++)
        if (fabs(left[i * k]) > fabs(top))
            top = left[i * k];
    const double sign = top < 0 ? -1 : 1;
    for (size_t i = 0; i < d && u != NULL; i++)
        u[i] = sign * left[i * k];
    for (size_t j = 0; j < q && c != NULL; j++)
        c[j] = sign * right[j];
}

moeg_status moeg_symmetry_spectrum(size_t d, size_t q, const double *M, double tolerance, double *sigma, double *u,
                                   double *c, size_t *multiple)
{
    static const char function[] = "symmetry_spectrum";
    moeg_status status = moeg_check_matrix(function, d, q, M);
    if (status == MOEG_OK)
        status = check_tolerance(function, tolerance);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "sigma", sigma);
    if (status != MOEG_OK)
        return status;
    const size_t k = d < q ? d : q;
    double *left = moeg_alloc(d * k, sizeof *left), *right = moeg_alloc(k * q, sizeof *right);
    if (left == NULL || right == NULL)
        status = moeg_fail_memory(function);
    else
        status = moeg_linalg_svd(function, d, q, M, sigma, left, right);
    if (status == MOEG_OK) {
        copy_pair(d, q, k, left, right, u, c);
        if (multiple != NULL)
            *multiple = count_largest(k, sigma, tolerance);
    }
    moeg_release(right);
    moeg_release(left);
    return status;
}

/* |P v|/|v|, P the projection on the first `count` columns of left (d x k). */
static double cosine(size_t d, size_t k, size_t count, const double *left, const double *v)
{
    double top = 0, whole = 0, part = 0;
    for (size_t i = 0; i < d; i++)
        top = fmax(top, fabs(v[i]));
    for (size_t i = 0; i < d; i++)
        whole += (v[i] / top) * (v[i] / top);
    for (size_t a = 0; a < count; a++) {
        double product = 0;
        for (size_t i = 0; i < d; i++)
            product += left[i * k + a] * (v[i] / top);
        part += product * product;
    }
    return fmin(sqrt(part / whole), 1);
}

moeg_status moeg_symmetry_alignment(size_t d, size_t q, const double *M, double tolerance, const double *v,
                                    double *least, double *most)
{
    static const char function[] = "symmetry_alignment";
    moeg_status status = moeg_check_matrix(function, d, q, M);
    if (status == MOEG_OK)
        status = check_tolerance(function, tolerance);
    if (status == MOEG_OK)
        status = moeg_check_direction(function, "v", d, v);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "least", least);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "most", most);
    if (status != MOEG_OK)
        return status;
    const size_t k = d < q ? d : q;
    double *left = moeg_alloc(d * k, sizeof *left), *sigma = moeg_alloc(k, sizeof *sigma);
    if (left == NULL || sigma == NULL)
        status = moeg_fail_memory(function);
    else
        status = moeg_linalg_svd(function, d, q, M, sigma, left, NULL);
    if (status == MOEG_OK && sigma[0] == 0)
        status = moeg_fail(MOEG_EDOM, "%s: M is 0: no direction grows faster than another", function);
    if (status == MOEG_OK) {
        const size_t count = count_largest(k, sigma, tolerance);
        *most = cosine(d, k, count, left, v);
        *least = count == 1 ? *most : 0;
    }
    moeg_release(sigma);
    moeg_release(left);
    return status;
}
