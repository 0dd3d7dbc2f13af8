/* The kernels of ranked experts, a part of kernel_body.h. */
#ifndef MOEG_BASE_KERNEL_RANK_H
#define MOEG_BASE_KERNEL_RANK_H

/* One more rank of a vector of units: of the logits after the one of the rank before, the largest, the lowest index on
 * a tie. `value` and `index` are those of the rank before; +inf and 0 before the first. */
static inline __attribute__((always_inline)) void next_rank(size_t K, size_t stride, const double *a, uint64_t rank,
                                                            reals *value, words *index)
{
    const words none = WORDS(UINT64_MAX);
    reals top = REALS(-INFINITY);
    words at = none;
    for (uint64_t k = 0; k < K; k++) {
        const reals v = *(const reals *)(a + k * stride);
        const words after = (words)(v < *value) | ((words)(v == *value) & (words)(*index < WORDS(k)));
        const words better = after & ((words)(v > top) | (words)(at == none));
        top = select_reals(better, v, top);
        at = (WORDS(k) & better) | (at & ~better);
    }
    *value = top;
    const words missing = (words)(at == none);
    *index = (WORDS(rank) & missing) | (at & ~missing);
}

static void kernel_ranks(size_t K, size_t ranks, size_t stride, const double *a, uint32_t *index)
{
    for (size_t i = 0; i < stride; i += VECTOR_LANES) {
        reals value = REALS(INFINITY);
        words at = WORDS(0);
        for (size_t r = 0; r < ranks; r++) {
            next_rank(K, stride, a + i, r, &value, &at);
            for (int l = 0; l < VECTOR_LANES; l++)
                index[r * stride + i + (size_t)l] = (uint32_t)at[l];
        }
    }
}

/* Each expert in turn is written behind those left so far, where the next one takes its place if it was taken. */
static void kernel_rest(size_t K, size_t ranks, size_t stride, uint32_t *index)
{
    for (size_t i = 0; i < stride; i += VECTOR_LANES) {
        size_t end[VECTOR_LANES];
        for (int l = 0; l < VECTOR_LANES; l++)
            end[l] = ranks;
        for (uint32_t k = 0; k < K; k++) {
            uint32_t left[VECTOR_LANES];
            for (int l = 0; l < VECTOR_LANES; l++)
                left[l] = 1;
            for (size_t r = 0; r < ranks; r++)
                for (int l = 0; l < VECTOR_LANES; l++)
                    left[l] &= index[r * stride + i + (size_t)l] != k;
            for (int l = 0; l < VECTOR_LANES; l++) {
                index[end[l] * stride + i + (size_t)l] = k;
                end[l] += end[l] < K ? left[l] : 0; /* where ranks have no meaning, more may be left */
            }
        }
    }
}

#endif
