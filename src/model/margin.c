/* The margin a_(1) - a_(2), of rows and of blocks. */
#include "base/error.h"
#include "model/block.h"
#include "model/logits.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

int moeg_margin_row(size_t K, const double *logits, double *margin)
{
    double first = -INFINITY, second = -INFINITY;
    for (size_t k = 0; k < K; k++) {
        second = fmax(second, fmin(first, logits[k]));
        first = fmax(first, logits[k]);
    }
    *margin = first - second;
    return *margin <= DBL_MAX || second == -INFINITY;
}

moeg_status moeg_margin(size_t n, size_t K, const double *logits, double *margin)
{
    static const char function[] = "margin";
    if (K < 2)
        return moeg_fail(MOEG_EDOM, "%s: K must be at least 2, got %zu", function, K);
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

enum { CHUNK = 64 };

/* The two largest of each unit and the index of the first, for units 0 .. count - 1, without a branch: every loop over
 * i is one compare-and-select per lane. A NaN never becomes the largest, so it is remembered apart. */
static void largest_two(size_t K, size_t count, size_t stride, const double *a, double *first, double *second,
                        double *best, double *nan)
{
    for (size_t i = 0; i < count; i++) {
        first[i] = second[i] = -INFINITY;
        best[i] = nan[i] = 0;
    }
    for (size_t k = 0; k < K; k++) {
        const double *row = a + k * stride, index = (double)k;
        for (size_t i = 0; i < count; i++) {
            const double v = row[i], f = first[i], s = second[i];
            const double lesser = v > f ? f : v;
            second[i] = lesser > s ? lesser : s;
            best[i] = v > f ? index : best[i];
            first[i] = v > f ? v : f;
            nan[i] = v == v ? nan[i] : 1;
        }
    }
}

size_t moeg_margin_block(size_t K, size_t n, size_t stride, const double *a, uint32_t *best, double *margin)
{
    size_t bad = n;
    double first[CHUNK], second[CHUNK], index[CHUNK], nan[CHUNK];
    for (size_t start = 0; start < stride; start += CHUNK) {
        const size_t count = stride - start < CHUNK ? stride - start : CHUNK;
        largest_two(K, count, stride, a + start, first, second, index, nan);
        for (size_t i = 0; i < count; i++) {
            const double difference = first[i] - second[i];
            const int is_good = nan[i] == 0 && isfinite(first[i]) && (difference <= DBL_MAX || second[i] == -INFINITY);
            best[start + i] = (uint32_t)index[i];
            margin[start + i] = difference;
            if (!is_good && start + i < bad)
                bad = start + i;
        }
    }
    return bad;
}
