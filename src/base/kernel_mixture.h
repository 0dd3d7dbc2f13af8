/* The kernels of gates and mixtures, a part of kernel_body.h. Each lane is a row. The best expert's term of the softmax
 * is 1, so that only its losers take an exponential. */
#ifndef MOEG_BASE_KERNEL_MIXTURE_H
#define MOEG_BASE_KERNEL_MIXTURE_H

static void kernel_winners(size_t step, size_t n, const uint32_t *restrict best, const double *restrict a,
                           double *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[best[i] * step + i];
}

static void kernel_losers(size_t k, size_t n, const uint32_t *restrict best, const double *restrict a,
                          const double *restrict next, const double *restrict winner, double *restrict out)
{
    const uint32_t number = (uint32_t)k;
    for (size_t i = 0; i < n; i++)
        out[i] = (number < best[i] ? a[i] : next[i]) - winner[i];
}

static void kernel_gather(size_t n, const uint32_t *restrict place, const double *restrict in, double *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[place[i]];
}

/* exp(below_k/tau) of a tile into `gate`. `exact` is a constant: the kernel's exp ends at -708; where sums are exact,
 * the subnormal tail comes from the library's. */
static inline __attribute__((always_inline)) void evaluate_terms(int exact, const moeg_kernel_mixture *x, size_t k,
                                                                 size_t first, size_t count, double tau)
{
    const double inverse = 1 / tau;
    const double *restrict below = x->below + k * x->stride + first;
    double *restrict gate = x->gate + k * x->stride + first;
    for (size_t i = 0; exact && i < count; i++)
        gate[i] = below[i] / tau < -700 ? exp(below[i] / tau) : exp_lane(below[i] / tau);
    for (size_t i = 0; !exact && i < count; i++)
        gate[i] = exp_lane(below[i] * inverse);
}

/* SOFTMAX: the terms v_k into `gate`, 1 + their sum into total. */
static inline __attribute__((always_inline)) void evaluate_gates(int exact, const moeg_kernel_mixture *x, size_t first,
                                                                 size_t count, double tau, double *restrict total)
{
    for (size_t i = 0; i < count; i++)
        total[i] = 1;
    for (size_t k = 0; k < x->experts; k++) {
        evaluate_terms(exact, x, k, first, count, tau);
        const double *restrict gate = x->gate + k * x->stride + first;
        for (size_t i = 0; i < count; i++)
            total[i] += gate[i];
    }
}

/* The experts without a contrast of their own add to the last one. */
static void pool_gates(const moeg_kernel_mixture *x, size_t first, size_t count)
{
    for (size_t k = x->contrasts; k < x->experts; k++) {
        double *restrict pool = x->gate + (x->contrasts - 1) * x->stride + first;
        const double *restrict gate = x->gate + k * x->stride + first;
        for (size_t i = 0; i < count; i++)
            pool[i] += gate[i];
    }
}

/* SUBSET, a vector of rows whose terms v (winners) and u (losers) stand in `gate` [theory: gates]. With winners that
 * are gone less losers that have come = r, from r = 0 to r = 0:
 *
 *     F_r <- F_r + rho v F_{r-1} (winner),    F_r <- F_r + u F_{r+1} (loser),
 *
 * and B the same from the other end. Leaves in `gate` x sum_r F_r B_{r+-1}, x = rho v or u; returns k B_0, over which
 * these are the changes of the gates. */
static reals change_sides(const moeg_kernel_mixture *x, size_t i, reals rho)
{
    const size_t K = x->experts, k = x->winners, depth = k < K - k ? k : K - k, width = depth + 1;
    reals *back = (reals *)x->chain, *F = back + (K + 1) * width;
    for (size_t r = 0; r < width; r++)
        F[r] = back[K * width + r] = REALS(r == 0 ? 1.0 : 0.0);
    for (size_t e = K; e-- > k;) {
        const reals odds = *(const reals *)(x->gate + e * x->stride + i), *after = back + (e + 1) * width;
        reals *B = back + e * width;
        B[0] = after[0];
        for (size_t r = 0; r < depth; r++)
            B[r + 1] = FMA_REALS(odds, after[r], after[r + 1]);
    }
    for (size_t e = k; e-- > 0;) {
        reals *odds = (reals *)(x->gate + e * x->stride + i), *B = back + e * width;
        const reals *after = back + (e + 1) * width;
        *odds *= rho;
        B[depth] = after[depth];
        for (size_t r = 0; r < depth; r++)
            B[r] = FMA_REALS(*odds, after[r + 1], after[r]);
    }
    for (size_t e = 0; e < K; e++) {
        reals *gate = (reals *)(x->gate + e * x->stride + i), sum = REALS(0.0);
        const reals *B = back + (e + 1) * width, odds = *gate;
        for (size_t r = 0; r < depth; r++)
            sum = e < k ? FMA_REALS(F[r], B[r + 1], sum) : FMA_REALS(F[r + 1], B[r], sum);
        for (size_t r = depth; e < k && r > 0; r--)
            F[r] = FMA_REALS(odds, F[r - 1], F[r]);
        for (size_t r = 0; e >= k && r < depth; r++)
            F[r] = FMA_REALS(odds, F[r + 1], F[r]);
        *gate = odds * sum;
    }
    return REALS((double)k) * back[0];
}

/* SUBSET: the changes of gates, times total, into `gate`. */
static void evaluate_subsets(const moeg_kernel_mixture *x, size_t first, size_t count, double tau,
                             double *restrict total)
{
    const double inverse = 1 / tau;
    const double *restrict margin = x->margin + first;
    for (size_t i = 0; i < count; i++)
        total[i] = exp_lane(-margin[i] * inverse);
    for (size_t k = 0; k < x->experts; k++)
        evaluate_terms(0, x, k, first, count, tau);
    for (size_t i = 0; i < count; i += VECTOR_LANES)
        *(reals *)(total + i) = change_sides(x, first + i, *(const reals *)(total + i));
}

/* D of `outputs` outputs, a constant, from output j on; one vector of rows. */
static inline __attribute__((always_inline)) void mix_outputs(int outputs, const moeg_kernel_mixture *x, size_t j,
                                                              size_t i, reals scale, reals *gap, reals *soft)
{
    reals mixed[MIXED];
    for (int o = 0; o < outputs; o++)
        mixed[o] = REALS(0.0);
    for (size_t k = 0; k < x->contrasts; k++) {
        const reals gate = *(const reals *)(x->gate + k * x->stride + i);
        const double *contrast = x->contrast + (k * x->m + j) * x->stride + i;
        for (int o = 0; o < outputs; o++)
            mixed[o] = FMA_REALS(gate, *(const reals *)(contrast + (size_t)o * x->stride), mixed[o]);
    }
    for (int o = 0; o < outputs; o++) {
        const reals D = mixed[o] * scale;
        if (x->loss) {
            *gap = D;
            *soft = *(const reals *)(x->hard + i) + D;
        } else {
            const reals residual = *(const reals *)(x->residual + (j + (size_t)o) * x->stride + i);
            const reals error = residual + D;
            *gap = FMA_REALS(D, D + 2 * residual, *gap);
            *soft = FMA_REALS(error, error, *soft);
        }
    }
}

static void mix_tile(const moeg_kernel_mixture *x, size_t first, size_t count, double tau, double *gap, double *soft)
{
    _Alignas(64) double total[TILE]; /* that the gates are divided by */
    if (x->gates == MOEG_KERNEL_SUBSET)
        evaluate_subsets(x, first, count, tau, total);
    else if (x->gates == MOEG_KERNEL_GIVEN)
        for (size_t i = 0; i < count; i++)
            total[i] = 1;
    else if (x->exact)
        evaluate_gates(1, x, first, count, tau, total);
    else
        evaluate_gates(0, x, first, count, tau, total);
    pool_gates(x, first, count);
    for (size_t i = 0; i < count; i += VECTOR_LANES) {
        const reals inverse = REALS(1.0) / *(const reals *)(total + i);
        reals g = REALS(0.0), s = REALS(0.0);
        size_t j = 0;
        for (; j + MIXED <= x->m; j += MIXED)
            mix_outputs(MIXED, x, j, first + i, inverse, &g, &s);
        for (; j < x->m; j++)
            mix_outputs(1, x, j, first + i, inverse, &g, &s);
        *(reals *)(gap + i) = g;
        *(reals *)(soft + i) = s;
    }
}

static void kernel_mix(const moeg_kernel_mixture *x, size_t first, size_t count, double tau, double *gap, double *soft)
{
    for (size_t i = 0; i < count; i += TILE)
        mix_tile(x, first + i, count - i < TILE ? count - i : TILE, tau, gap + i, soft + i);
}

static inline void softmax_tile(size_t K, size_t count, double tau, size_t stride, double *restrict a)
{
    double top[TILE], sum[TILE];
    for (size_t i = 0; i < count; i++) {
        top[i] = -INFINITY;
        sum[i] = 0;
    }
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < count; i++)
            top[i] = a[k * stride + i] > top[i] ? a[k * stride + i] : top[i];
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < count; i++) {
            a[k * stride + i] = exp_lane((a[k * stride + i] - top[i]) / tau);
            sum[i] += a[k * stride + i];
        }
    for (size_t i = 0; i < count; i++)
        sum[i] = 1 / sum[i];
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < count; i++)
            a[k * stride + i] *= sum[i];
}

static void kernel_softmax(size_t K, double tau, size_t stride, double *a)
{
    for (size_t i = 0; i < stride; i += TILE)
        softmax_tile(K, stride - i < TILE ? stride - i : TILE, tau, stride, a + i);
}

static void kernel_add_weighted(size_t n, const double *restrict g, const double *restrict f, double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        const double product = g[i] * f[i];
        y[i] += g[i] != 0 ? product : 0;
    }
}

#endif
