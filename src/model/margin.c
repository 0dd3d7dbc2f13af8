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

/* Best experts and margins of units 0 .. count - 1, count at most CHUNK, without a branch: the loops over i are
 * compare-and-select, lane by lane. Whether any unit may be bad: it has a NaN (which never becomes the largest), or a
 * largest logit or a margin that is infinite. */
static inline int margin_chunk(size_t K, size_t count, size_t stride, const double *restrict a, uint32_t *restrict best,
                               double *restrict margin)
{
    double first[CHUNK], second[CHUNK];
    uint64_t index[CHUNK], suspects = 0;
    for (size_t i = 0; i < count; i++) {
        first[i] = second[i] = -INFINITY;
        index[i] = 0;
    }
    for (uint64_t k = 0; k < K; k++)
        for (size_t i = 0; i < count; i++) {
            const double v = a[k * stride + i], f = first[i], s = second[i];
            const double lesser = v > f ? f : v;
            second[i] = lesser > s ? lesser : s;
            index[i] = v > f ? k : index[i];
            first[i] = v > f ? v : f;
            suspects |= v == v ? 0 : 1;
        }
    for (size_t i = 0; i < count; i++) {
        margin[i] = first[i] - second[i] + 0;
        suspects |= margin[i] <= DBL_MAX ? 0 : 1; /* an infinite first[i] gives inf or NaN */
        best[i] = (uint32_t)index[i];
    }
    return suspects != 0;
}

typedef int (*chunk_function)(size_t K, size_t count, size_t stride, const double *restrict a, uint32_t *restrict best,
                              double *restrict margin);

#if defined(__x86_64__)
/* The same on four lanes with a blend, where the processor has them: the same bits in a third of the time. */
__attribute__((target("avx2"), flatten)) static int margin_chunk_avx2(size_t K, size_t count, size_t stride,
                                                                      const double *restrict a, uint32_t *restrict best,
                                                                      double *restrict margin)
{
    return margin_chunk(K, count, stride, a, best, margin);
}

static chunk_function pick_chunk_function(void)
{
    return __builtin_cpu_supports("avx2") ? margin_chunk_avx2 : margin_chunk;
}
#else
static chunk_function pick_chunk_function(void)
{
    return margin_chunk;
}
#endif

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
    const chunk_function chunk = pick_chunk_function();
    size_t bad = n;
    for (size_t start = 0; start < stride; start += CHUNK) {
        const size_t count = stride - start < CHUNK ? stride - start : CHUNK;
        if (!chunk(K, count, stride, a + start, best + start, margin + start))
            continue;
        for (size_t i = start; i < start + count && i < bad; i++)
            if (is_bad(K, stride, a + i, margin[i]))
                bad = i;
    }
    return bad;
}
