#include "model/logits.h"

#include "base/error.h"

#include <float.h>
#include <math.h>

moeg_status moeg_check_finite_logits(const char *function, size_t row, size_t K, const double *logits, size_t wanted)
{
    size_t finite = 0;
    for (size_t k = 0; k < K; k++)
        finite += logits[k] != -INFINITY;
    if (finite < wanted)
        return moeg_fail(MOEG_EDOM, "%s: row %zu has %zu finite logits, fewer than %zu", function, row, finite, wanted);
    return MOEG_OK;
}

moeg_status moeg_check_logits(const char *function, size_t n, size_t K, const double *logits, size_t wanted)
{
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < n && status == MOEG_OK; i++) {
        const double *a = logits + i * K;
        for (size_t k = 0; k < K; k++)
            if (!(a[k] <= DBL_MAX))
                return moeg_fail(MOEG_EINVAL, "%s: logits[%zu, %zu] must be finite or -inf, got %g", function, i, k,
                                 a[k]);
        status = moeg_check_finite_logits(function, i, K, a, wanted);
    }
    return status;
}
