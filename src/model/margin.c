/* The margin a_(1) - a_(2), of rows and of blocks. */
#include "base/error.h"
#include "base/kernel.h"
#include "model/logits.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

int moeg_margin_row(size_t K, const double *logits, double *margin)
{
    double first = -INFINITY, second = -INFINITY;
    for (size_t k = 0; k < K; k++) {
        const double v = logits[k], lesser = v > first ? first : v;
        second = lesser > second ? lesser : second;
        first = v > first ? v : first;
    }
    *margin = first - second + 0; /* + 0 turns -0, the margin of -0 and 0, into 0 */
    return *margin <= DBL_MAX || second == -INFINITY;
}

moeg_status moeg_margin(size_t n, size_t K, const double *logits, double *margin)
{
    static const char function[] = "margin";
    if (K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 1, got 0", function);
    moeg_status status = moeg_check_array(function, "logits", n, K, logits);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "margin", n, 1, margin);
    if (status == MOEG_OK)
        status = moeg_check_logits(function, n, K, logits, 1);
    if (status != MOEG_OK)
        return status;
    double value;
    for (size_t i = 0; i < n; i++)
        if (!moeg_margin_row(K, logits + i * K, &value))
            return moeg_fail(MOEG_ERANGE, "%s: the margin of row %zu overflows", function, i);
    for (size_t i = 0; i < n; i++)
        moeg_margin_row(K, logits + i * K, &margin[i]);
    return MOEG_OK;
}

/* One unit, looked at closely: a margin of +inf is right where only one logit is not -inf. */
static int is_bad(size_t K, size_t stride, const double *a, double margin)
{
    size_t finite = 0;
    for (size_t k = 0; k < K; k++) {
        if (!(a[k * stride] <= DBL_MAX))
            return 1;
        finite += a[k * stride] != -INFINITY;
    }
    return finite == 0 || (finite > 1 && !(margin <= DBL_MAX));
}

size_t moeg_margin_block(size_t K, size_t n, size_t stride, const double *a, uint32_t *best, double *margin)
{
    if (moeg_kernel_top2(K, stride, a, best, margin))
        for (size_t i = 0; i < n; i++)
            if (is_bad(K, stride, a + i, margin[i]))
                return i;
    return n;
}
