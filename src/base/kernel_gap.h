/* The kernel of gaps between ranked logits, a part of kernel_body.h. */
#ifndef MOEG_BASE_KERNEL_GAP_H
#define MOEG_BASE_KERNEL_GAP_H

enum { GAP_VECTORS = 2 };

/* `vectors` vectors of units, a constant. The `held` largest values so far stand in order; a new one moves down past
 * those above it, a maximum and a minimum a rank. With sign -1 the largest of -a: rank K + 1 - r of a. Where `held` is
 * a constant they stay in registers. */
static inline __attribute__((always_inline)) int gap_tile(int vectors, size_t K, size_t stride, const double *a,
                                                          double sign, size_t upper, size_t held, double *gap)
{
    reals list[GAP_VECTORS][MOEG_GAP_RANKS];
    words suspects = WORDS(0);
    for (int c = 0; c < vectors; c++)
        for (size_t r = 0; r < held; r++)
            list[c][r] = REALS(-INFINITY);
    for (size_t k = 0; k < K; k++)
        for (int c = 0; c < vectors; c++) {
            const reals logit = load(a + k * stride + c * VECTOR_LANES);
            reals v = REALS(sign) * logit;
            suspects |= ~(words)(logit <= REALS(DBL_MAX));
            for (size_t r = 0; r < held; r++) {
                const reals here = list[c][r];
                list[c][r] = LARGER(here, v);
                v = SMALLER(here, v);
            }
        }
    for (int c = 0; c < vectors; c++) {
        reals above = REALS(-INFINITY), below = above;
        for (size_t r = 0; r < held; r++) {
            above = r == upper - 1 ? list[c][r] : above;
            below = list[c][r];
        }
        const reals difference = above - below + REALS(0.0); /* + 0 turns -0, of -0 and 0, into 0 */
        suspects |= ~(words)(difference <= REALS(DBL_MAX));
        *(loose *)(gap + c * VECTOR_LANES) = difference;
    }
    uint64_t any = 0;
    for (int l = 0; l < VECTOR_LANES; l++)
        any |= suspects[l];
    return any != 0;
}

static inline __attribute__((always_inline)) int gap_tiles(size_t K, size_t stride, const double *a, double sign,
                                                           size_t upper, size_t held, double *gap)
{
    const size_t wide = GAP_VECTORS * VECTOR_LANES;
    int suspects = 0;
    size_t i = 0;
    for (; i + wide <= stride; i += wide)
        suspects |= gap_tile(GAP_VECTORS, K, stride, a + i, sign, upper, held, gap + i);
    for (; i < stride; i += VECTOR_LANES)
        suspects |= gap_tile(1, K, stride, a + i, sign, upper, held, gap + i);
    return suspects;
}

static int kernel_gap(size_t K, size_t stride, const double *a, size_t upper, size_t lower, double *gap)
{
    if (lower == 2)
        return gap_tiles(K, stride, a, 1, upper, 2, gap);
    if (lower == 3)
        return gap_tiles(K, stride, a, 1, upper, 3, gap);
    if (lower == 4)
        return gap_tiles(K, stride, a, 1, upper, 4, gap);
    if (lower + upper <= K + 1)
        return gap_tiles(K, stride, a, 1, upper, lower, gap);
    return gap_tiles(K, stride, a, -1, K + 1 - lower, K + 1 - upper, gap);
}

#endif
