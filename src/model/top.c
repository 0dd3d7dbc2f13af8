/* The k largest logits, in order. */
#include "base/error.h"
#include "model/block.h"
#include "model/logits.h"

#include <moegeom/router.h>

/* Insertion into the sorted list of the k best so far. Experts come by ascending index and move up past strictly
 * smaller logits only: ties stay in the order of the index, and the first j entries are the same for every k >= j. */
void moeg_top_row(size_t K, const double *logits, size_t k, size_t *index)
{
    size_t held = 0;
    for (size_t j = 0; j < K; j++) {
        if (held == k && !(logits[j] > logits[index[k - 1]]))
            continue;
        size_t place = held < k ? held++ : k - 1;
        for (; place > 0 && logits[j] > logits[index[place - 1]]; place--)
            index[place] = index[place - 1];
        index[place] = j;
    }
}

moeg_status moeg_top(size_t n, size_t K, const double *logits, size_t k, size_t *index)
{
    static const char function[] = "top";
    if (k == 0 || k > K)
        return moeg_fail(MOEG_EINVAL, "%s: k must be in [1, K = %zu], got %zu", function, K, k);
    moeg_status status = moeg_check_array(function, "logits", n, K, logits);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "index", n, k, index);
    if (status == MOEG_OK)
        status = moeg_check_logits(function, n, K, logits, k);
    for (size_t i = 0; i < n && status == MOEG_OK; i++)
        moeg_top_row(K, logits + i * K, k, index + i * k);
    return status;
}
