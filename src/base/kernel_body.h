/* The kernels, written once. A file includes this after defining MOEG_KERNEL_TABLE (the symbol of its table) and
 * MOEG_KERNEL_NAME, and is compiled for its instruction set (src/CMakeLists.txt).
 *
 * Most loops are plain C for the compiler to vectorise. Two are on vector types, as the compilers do not find by
 * themselves the 32 x 32 bit multiply of Philox and the register tile of the affine map. */
#include "base/kernel.h"
#include "base/kernel_activation.h"
#include "base/kernel_math.h"
#include "base/kernel_table.h"

#include <float.h>
#include <math.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { VECTOR_LANES = 8, ROWS = 8, VECTORS = 3 };
#define LANE_NUMBERS ((words){0, 1, 2, 3, 4, 5, 6, 7})
#define FMA_REALS(a, b, c) _mm512_fmadd_pd(a, b, c)
#define MULTIPLY_LOW(a, b) ((words)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#include <immintrin.h>
enum { VECTOR_LANES = 4, ROWS = 4, VECTORS = 3 };
#define LANE_NUMBERS ((words){0, 1, 2, 3})
#define FMA_REALS(a, b, c) _mm256_fmadd_pd(a, b, c)
#define MULTIPLY_LOW(a, b) ((words)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#else
enum { VECTOR_LANES = 2, ROWS = 4, VECTORS = 2 };
#define LANE_NUMBERS ((words){0, 1})
#define FMA_REALS(a, b, c) ((a) * (b) + (c))
#if defined(__SSE2__)
#include <emmintrin.h>
#define MULTIPLY_LOW(a, b) ((words)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#else
#define MULTIPLY_LOW(a, b) (((a)&0xffffffff) * (b))
#endif
#endif

/* A tile of outputs of the affine map is ROWS rows by VECTORS vectors: its sums, a row of x and a weight fill the
 * registers, 32 with AVX-512, else 16. A tile of draws or of mixtures is TILE units, of MIXED outputs; one of margins
 * TOP_VECTORS vectors. */
enum { MIXED = 4, TILE = 128, TOP_VECTORS = 2 };

typedef double reals __attribute__((vector_size(8 * VECTOR_LANES), may_alias));
typedef uint64_t words __attribute__((vector_size(8 * VECTOR_LANES), may_alias));

/* A vector at any address. */
typedef double loose __attribute__((vector_size(8 * VECTOR_LANES), aligned(8), may_alias));

static inline reals load(const double *x)
{
    return *(const loose *)x;
}

/* The same value in every lane; a - 0 is a, the sign of zero too, at no cost. */
#define REALS(a) ((a) - (reals){0})
#define WORDS(a) ((a) - (words){0})

/* a where the mask is set, b where it is clear. */
static inline reals select_reals(words mask, reals a, reals b)
{
    return (reals)(((words)a & mask) | ((words)b & ~mask));
}

/* The larger and the smaller of two numbers; the second of them, where one is NaN or both are zeros. */
#if defined(__AVX512F__)
#define LARGER(a, b) ((reals)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define SMALLER(a, b) ((reals)_mm512_min_pd((__m512d)(a), (__m512d)(b)))
#elif defined(__AVX2__)
#define LARGER(a, b) ((reals)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define SMALLER(a, b) ((reals)_mm256_min_pd((__m256d)(a), (__m256d)(b)))
#elif defined(__SSE2__)
#define LARGER(a, b) ((reals)_mm_max_pd((__m128d)(a), (__m128d)(b)))
#define SMALLER(a, b) ((reals)_mm_min_pd((__m128d)(a), (__m128d)(b)))
#else
#define LARGER(a, b) select_reals((words)((a) > (b)), a, b)
#define SMALLER(a, b) select_reals((words)((a) < (b)), a, b)
#endif

/* The words of Philox4x32-10 of units first .. first + n - 1, n <= TILE: word0 and word1 hold w0 + 2^32 w1 and
 * w2 + 2^32 w3. A word of 32 bits stands in the low half of its 64-bit lane. */
static void philox_tile(uint64_t seed, uint32_t id, uint64_t first, uint32_t pair, size_t n, uint64_t *word0,
                        uint64_t *word1)
{
    const words low = WORDS(0xffffffff);
    for (size_t i = 0; i < n; i += VECTOR_LANES) {
        const words unit = WORDS(first + i) + LANE_NUMBERS;
        words c0 = unit & low, c1 = unit >> 32, c2 = WORDS(pair), c3 = WORDS(id);
        uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; round++) {
            const words product0 = MULTIPLY_LOW(c0, WORDS(0xD2511F53)), product1 = MULTIPLY_LOW(c2, WORDS(0xCD9E8D57));
            c0 = product1 >> 32 ^ c1 ^ WORDS(key0);
            c2 = product0 >> 32 ^ c3 ^ WORDS(key1);
            c1 = product1 & low;
            c3 = product0 & low;
            key0 += 0x9E3779B9;
            key1 += 0xBB67AE85;
        }
        *(words *)(word0 + i) = c0 | c1 << 32;
        *(words *)(word1 + i) = c2 | c3 << 32;
    }
}

static void uniform_tile(size_t n, const uint64_t *word0, const uint64_t *word1, double *restrict even,
                         double *restrict odd)
{
    for (size_t i = 0; i < n; i++) {
        even[i] = uniform_lane(word0[i]);
        odd[i] = uniform_lane(word1[i]);
    }
}

/* Box and Muller: radius sqrt(-2 log u0), angle 2 pi u1. */
static void normal_tile(size_t n, const uint64_t *word0, const uint64_t *word1, double *restrict even,
                        double *restrict odd)
{
    for (size_t i = 0; i < n; i++) {
        const double radius = sqrt(-2 * log_lane(uniform_lane(word0[i])));
        double sine, cosine;
        sincos_lane(uniform_lane(word1[i]), &sine, &cosine);
        even[i] = radius * cosine;
        odd[i] = radius * sine;
    }
}

typedef void (*tile_function)(size_t n, const uint64_t *word0, const uint64_t *word1, double *restrict even,
                              double *restrict odd);

static inline void fill(tile_function convert, uint64_t seed, uint32_t id, uint64_t first, uint32_t pair, size_t q,
                        size_t stride, double *out)
{
    _Alignas(64) uint64_t word0[TILE], word1[TILE];
    _Alignas(64) double unwanted[TILE]; /* The second of the last pair, if q is odd. */
    for (size_t j = 0; j < q; j += 2)
        for (size_t i = 0; i < stride; i += TILE) {
            const size_t n = stride - i < TILE ? stride - i : TILE;
            double *even = out + j * stride + i;
            philox_tile(seed, id, first + i, pair + (uint32_t)(j / 2), n, word0, word1);
            convert(n, word0, word1, even, j + 1 < q ? even + stride : unwanted);
        }
}

static void kernel_uniforms(uint64_t seed, uint32_t id, uint64_t first, uint32_t pair, size_t q, size_t stride,
                            double *u)
{
    fill(uniform_tile, seed, id, first, pair, q, stride, u);
}

static void kernel_normals(uint64_t seed, uint32_t id, uint64_t first, uint32_t pair, size_t q, size_t stride,
                           double *z)
{
    fill(normal_tile, seed, id, first, pair, q, stride, z);
}

static void kernel_exp(size_t n, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = exp_lane(x[i]);
}

static void kernel_log(size_t n, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = log_lane(x[i]);
}

static void kernel_sincos(size_t n, const double *v, double *s, double *c)
{
    for (size_t i = 0; i < n; i++)
        sincos_lane(v[i], &s[i], &c[i]);
}

#define FOR_EACH_ACTIVATION(X) X(relu) X(gelu) X(silu) X(tanh)

#define DEFINE_ACTIVATION(name)                                                                                        \
    static void kernel_##name(size_t n, const double *x, double *y)                                                    \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            y[i] = name##_lane(x[i]);                                                                                  \
    }                                                                                                                  \
    static void kernel_##name##_slope(size_t n, const double *x, double *y)                                            \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            y[i] = name##_slope_lane(x[i]);                                                                            \
    }
FOR_EACH_ACTIVATION(DEFINE_ACTIVATION)

/* s + 0 s is s where s is finite, its sign if it is 0 too, and NaN where it is not. */
static inline reals mark_overflows(reals s)
{
    return FMA_REALS(REALS(0.0), s, s);
}

/* relu_lane() of a vector: 0 v + max(v, 0) is 0 where v is negative or -0, and NaN where it is not finite, as LARGER
 * gives its second argument for NaN and for two zeros. */
static inline reals relu_reals(reals v)
{
    return FMA_REALS(REALS(0.0), v, LARGER(v, REALS(0.0)));
}

/* The numbers of one affine map, for the functions below: out[k, i] over columns of x. */
typedef struct affine_map {
    size_t d, x_stride, out_stride;
} affine_map;

/* Outputs of `rows` rows and `vectors` vectors, held in registers while j runs. Both, and relu, are constants where
 * this is called, so that each makes its own straight code. The weights of the next rows are asked for: they may be as
 * far as memory. */
static inline __attribute__((always_inline)) void affine_tile(int relu, int rows, int vectors, affine_map map,
                                                              const double *W, const double *b, const double *x,
                                                              double *out)
{
    reals sum[ROWS][2 * VECTORS];
    for (int k = 0; k < rows; k++)
        for (int v = 0; v < vectors; v++)
            sum[k][v] = REALS(b != NULL ? b[k] : 0.0);
    for (size_t j = 0; j < map.d; j++) {
        const reals *column = (const reals *)(x + j * map.x_stride);
        __builtin_prefetch((const void *)((uintptr_t)W + (size_t)rows * (map.d + j) * sizeof *W)); /* may be past W */
        for (int k = 0; k < rows; k++) {
            const reals weight = REALS(W[(size_t)k * map.d + j]);
            for (int v = 0; v < vectors; v++)
                sum[k][v] = FMA_REALS(weight, column[v], sum[k][v]);
        }
    }
    for (int k = 0; k < rows; k++) {
        for (int v = 0; v < vectors; v++)
            ((reals *)out)[v] = relu ? relu_reals(sum[k][v]) : mark_overflows(sum[k][v]);
        out += map.out_stride;
    }
}

/* n columns of `rows` rows, which stay in cache meanwhile. Rows that are few get wider tiles: an addition waits for the
 * one before, so that several must be under way. */
static inline __attribute__((always_inline)) void affine_strip(int relu, int rows, affine_map map, const double *W,
                                                               const double *b, size_t n, const double *x, double *out)
{
    const int vectors = rows > ROWS / 2 ? VECTORS : 2 * VECTORS;
    const size_t wide = (size_t)vectors * VECTOR_LANES;
    size_t i = 0;
    for (; i + wide <= n; i += wide)
        affine_tile(relu, rows, vectors, map, W, b, x + i, out + i);
    for (; i < n; i += VECTOR_LANES)
        affine_tile(relu, rows, 1, map, W, b, x + i, out + i);
}

#define STRIP(rows)                                                                                                    \
    case rows:                                                                                                         \
        affine_strip(relu, rows < ROWS ? rows : ROWS, map, weights, biases, n, x, to);                                 \
        break

static inline __attribute__((always_inline)) void affine_strips(int relu, size_t K, affine_map map, const double *W,
                                                                const double *b, size_t n, const double *x, double *out)
{
    for (size_t k = 0; k < K; k += ROWS) {
        const double *weights = W + k * map.d, *biases = b != NULL ? b + k : NULL;
        double *to = out + k * map.out_stride;
        switch (K - k < ROWS ? K - k : ROWS) {
            STRIP(1);
            STRIP(2);
            STRIP(3);
            STRIP(4);
            STRIP(5);
            STRIP(6);
            STRIP(7);
            STRIP(8);
        }
    }
}

#undef STRIP

static void kernel_layer(int relu, size_t K, size_t d, const double *W, const double *b, size_t n, size_t x_stride,
                         const double *x, size_t out_stride, double *out)
{
    const affine_map map = {d, x_stride, out_stride};
    if (relu)
        affine_strips(1, K, map, W, b, n, x, out);
    else
        affine_strips(0, K, map, W, b, n, x, out);
}

static void kernel_affine(size_t K, size_t d, const double *W, const double *b, size_t stride, const double *x,
                          double *out)
{
    kernel_layer(0, K, d, W, b, stride, stride, x, stride, out);
}

/* `vectors` vectors of units, a constant, without a branch. A NaN never becomes the largest. Returns whether one of the
 * units wants to be looked at. */
static inline __attribute__((always_inline)) int top2_tile(int vectors, size_t K, size_t stride, const double *a,
                                                           uint32_t *best, double *margin)
{
    reals first[TOP_VECTORS], second[TOP_VECTORS];
    words index[TOP_VECTORS], suspects = WORDS(0);
    for (int c = 0; c < vectors; c++) {
        first[c] = second[c] = REALS(-INFINITY);
        index[c] = WORDS(0);
    }
    for (uint64_t k = 0; k < K; k++)
        for (int c = 0; c < vectors; c++) {
            const reals v = load(a + k * stride + c * VECTOR_LANES);
            const words above = (words)(v > first[c]);
            const reals lesser = select_reals(above, first[c], v);
            second[c] = select_reals((words)(lesser > second[c]), lesser, second[c]);
            index[c] = (WORDS(k) & above) | (index[c] & ~above);
            first[c] = select_reals(above, v, first[c]);
            suspects |= ~(words)(v == v);
        }
    for (int c = 0; c < vectors; c++) {
        const reals difference = first[c] - second[c] + REALS(0.0); /* + 0 turns -0, the margin of -0 and 0, into 0 */
        suspects |= ~(words)(difference <= REALS(DBL_MAX));         /* an infinite first gives inf or NaN */
        *(loose *)(margin + c * VECTOR_LANES) = difference;
        for (int l = 0; l < VECTOR_LANES; l++)
            best[c * VECTOR_LANES + l] = (uint32_t)index[c][l];
    }
    uint64_t any = 0;
    for (int l = 0; l < VECTOR_LANES; l++)
        any |= suspects[l];
    return any != 0;
}

static int kernel_top2(size_t K, size_t stride, const double *a, uint32_t *best, double *margin)
{
    const size_t wide = TOP_VECTORS * VECTOR_LANES;
    int suspects = 0;
    size_t i = 0;
    for (; i + wide <= stride; i += wide)
        suspects |= top2_tile(TOP_VECTORS, K, stride, a + i, best + i, margin + i);
    for (; i < stride; i += VECTOR_LANES)
        suspects |= top2_tile(1, K, stride, a + i, best + i, margin + i);
    return suspects;
}

#include "base/kernel_gap.h"
#include "base/kernel_mixture.h"
#include "base/kernel_rank.h"
#include "base/kernel_ray.h"
#include "base/kernel_ray_rest.h"
#include "base/kernel_sums.h"
#define LIST_ACTIVATION(name) kernel_##name,
#define LIST_SLOPE(name) kernel_##name##_slope,

const moeg_kernel_table MOEG_KERNEL_TABLE = {
    .name = MOEG_KERNEL_NAME,
    .affine = kernel_affine,
    .top2 = kernel_top2,
    .gap = kernel_gap,
    .layer = kernel_layer,
    .exp = kernel_exp,
    .activate = {FOR_EACH_ACTIVATION(LIST_ACTIVATION)},
    .slope = {FOR_EACH_ACTIVATION(LIST_SLOPE)},
    .uniforms = kernel_uniforms,
    .normals = kernel_normals,
    .log = kernel_log,
    .sincos = kernel_sincos,
    .deviations = kernel_deviations,
    .magnitudes = kernel_magnitudes,
    .finite = kernel_finite,
    .center = kernel_center,
    .pairs = kernel_pairs,
    .products = kernel_products,
    .bins = kernel_bins,
    .winners = kernel_winners,
    .losers = kernel_losers,
    .gather = kernel_gather,
    .ranks = kernel_ranks,
    .rest = kernel_rest,
    .mix = kernel_mix,
    .softmax = kernel_softmax,
    .add_weighted = kernel_add_weighted,
    .ray_gap = kernel_ray_gap,
    .ray_rest = kernel_ray_rest,
};
