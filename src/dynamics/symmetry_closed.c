#include "base/error.h"
#include "base/memory.h"
#include "dynamics/symmetry.h"
#include "dynamics/symmetry_frame.h"
#include "dynamics/tanh_moments.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

moeg_status moeg_check_operator(const char *function, const moeg_law *law, size_t d, size_t m, moeg_symmetric symmetric,
                                const moeg_contrast *contrast, const double *M)
{
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status == MOEG_OK)
        status = moeg_check_symmetric(function, symmetric);
    if (status == MOEG_OK)
        status = moeg_check_contrast(function, contrast);
    if (status != MOEG_OK)
        return status;
    if (contrast->kind == MOEG_CONTRAST_USER)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the contrast must be constant, linear or affine", function);
    size_t columns;
    if (moeg_multiply_overflows(m, moeg_contrast_features(contrast, d), &columns))
        return moeg_fail(MOEG_EINVAL, "%s: %zu outputs are more than memory can hold", function, m);
    return moeg_check_array(function, "M", d, columns, M);
}

moeg_status moeg_check_operator_range(const char *function, size_t d, size_t q, const double *M)
{
    for (size_t i = 0; i < d * q; i++)
        if (!isfinite(M[i]))
            return moeg_fail(MOEG_ERANGE, "%s: M[%zu, %zu] overflows", function, i / q, i % q);
    return MOEG_OK;
}

/* With v.x = n s and beta.x = along s + across t: Y = t(n s) (along s + across t + mu), of moments in
 * k = E[s^n t(n s)]. */
static void fill_operator(const moeg_halves *halves, moeg_symmetry_frame *frame, moeg_symmetric symmetric,
                          const moeg_contrast *contrast, double first, double third, double *M)
{
    const size_t p = moeg_contrast_features(contrast, halves->d);
    for (size_t o = 0; o < halves->outputs; o++) {
        moeg_symmetry_frame_set_across(frame, halves->beta + o * halves->d);
        const moeg_symmetry_frame_moments moments = {.one = first * frame->along,
                                                     .s = halves->mu != NULL ? first * halves->mu[o] : 0,
                                                     .ss = (third - first) * frame->along,
                                                     .st = first * frame->across};
        moeg_symmetry_frame_operator(frame, symmetric, contrast, &moments, halves->outputs * p, M + o * p);
    }
}

/* The mean of a Gaussian law is 0. */
static moeg_status check_mean(const char *function, const moeg_law *law)
{
    const double *mean, *covariance;
    if (!moeg_law_gaussian_parts(law, &mean, &covariance))
        return MOEG_OK; /* for the frame to refuse */
    for (size_t j = 0; j < moeg_law_dim(law); j++)
        if (mean[j] != 0)
            return moeg_fail(MOEG_EUNSUPPORTED, "%s: the mean of the law must be 0, got mean[%zu] = %g", function, j,
                             mean[j]);
    return MOEG_OK;
}

/* tau over the spread of v.x: what overflows on the way does not where the quotient does not. */
static double scale_tau(const moeg_symmetry_frame *frame, double tau)
{
    int over, under;
    const double dividend = frexp(tau, &over), divisor = frexp(frame->spread, &under);
    return ldexp(dividend / divisor, over - under - frame->exponent);
}

moeg_status moeg_symmetry_closed(const moeg_halves *halves, const moeg_law *law, moeg_symmetric symmetric,
                                 const moeg_contrast *contrast, double *M)
{
    static const char function[] = "symmetry_closed";
    moeg_status status = moeg_check_halves(function, halves);
    if (status == MOEG_OK)
        status = moeg_check_operator(function, law, halves->d, halves->outputs, symmetric, contrast, M);
    if (status == MOEG_OK)
        status = check_mean(function, law);
    moeg_symmetry_frame frame;
    if (status == MOEG_OK)
        status = moeg_symmetry_frame_create(function, law, halves->d, halves->v, symmetric, &frame);
    if (status != MOEG_OK)
        return status;
    const size_t d = halves->d, q = halves->outputs * moeg_contrast_features(contrast, d);
    double first = 0, third = 0, *result = moeg_alloc(d * q, sizeof *result);
    if (result == NULL || moeg_tanh_moments(scale_tau(&frame, halves->tau), &first, &third) != MOEG_OK) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    fill_operator(halves, &frame, symmetric, contrast, first, third, result);
    status = moeg_check_operator_range(function, d, q, result);
    if (status == MOEG_OK)
        memcpy(M, result, d * q * sizeof *M);
cleanup:
    moeg_release(result);
    moeg_symmetry_frame_free(&frame);
    return status;
}
