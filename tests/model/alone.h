/* A row alone, in a batch and in a block gives the same bits. */
#ifndef MOEG_TESTS_MODEL_ALONE_H
#define MOEG_TESTS_MODEL_ALONE_H

#include "base/kernel.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/rows.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

/* Rows of x as a block of `stride` units, those past the n-th of `padding`. */
static inline void fill_block(size_t n, size_t d, const double *x, size_t stride, double padding, double *block)
{
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < stride; i++)
            block[j * stride + i] = i < n ? x[i * d + j] : padding;
}

/* The n units of a block are the rows given. */
static inline void assert_block(size_t n, size_t m, const double *rows, size_t stride, const double *block)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            assert_same_bits(&block[j * stride + i], &rows[i * m + j], 1);
}

/* Logits, margins and the k best, which are those of the logits; K >= k. */
static inline void check_router_rows_stand_alone(const moeg_router *router, size_t n, const double *x, size_t k)
{
    const size_t K = moeg_router_experts(router), d = moeg_router_dim(router), stride = moeg_round_lanes(n);
    double *a = malloc((n + 1) * K * sizeof *a), *alone = a + n * K, *margin = malloc(n * sizeof *margin), one;
    size_t *top = malloc((n + 1) * k * sizeof *top), *top_alone = top + n * k;
    assert_true(a != NULL && margin != NULL && top != NULL);
    assert_ok(moeg_router_logits(router, n, x, a));
    assert_ok(moeg_router_margin(router, n, x, margin));
    assert_ok(moeg_router_top(router, n, x, k, top));
    for (size_t i = 0; i < n; i++) {
        assert_ok(moeg_router_logits(router, 1, x + i * d, alone));
        assert_same_bits(alone, a + i * K, K);
        assert_ok(moeg_router_margin(router, 1, x + i * d, &one));
        assert_same_bits(&one, margin + i, 1);
        assert_ok(moeg_margin(1, K, alone, &one));
        assert_same_bits(&one, margin + i, 1);
        assert_ok(moeg_router_top(router, 1, x + i * d, k, top_alone));
        assert_same_bits(top_alone, top + i * k, k);
        assert_ok(moeg_top(1, K, alone, k, top_alone));
        assert_same_bits(top_alone, top + i * k, k);
    }
    double *block = moeg_alloc((d + K) * stride + moeg_router_workspace(router, stride), sizeof *block);
    assert_non_null(block);
    double *out = block + d * stride;
    fill_block(n, d, x, stride, 0.25, block);
    assert_ok(moeg_router_logits_block(router, n, stride, block, out, out + K * stride));
    assert_block(n, K, a, stride, out);
    moeg_release(block);
    free(a);
    free(margin);
    free(top);
}

/* Values and Jacobians. */
static inline void check_expert_rows_stand_alone(const moeg_expert *expert, size_t n, const double *x)
{
    const size_t d = moeg_expert_dim(expert), m = moeg_expert_outputs(expert), stride = moeg_round_lanes(n);
    double *y = malloc(n * m * sizeof *y), *J = malloc(n * m * d * sizeof *J), *alone = malloc(m * d * sizeof *alone);
    assert_true(y != NULL && J != NULL && alone != NULL);
    assert_ok(moeg_expert_forward(expert, n, x, y));
    assert_ok(moeg_expert_jacobian(expert, n, x, J));
    for (size_t i = 0; i < n; i++) {
        assert_ok(moeg_expert_forward(expert, 1, x + i * d, alone));
        assert_same_bits(alone, y + i * m, m);
        assert_ok(moeg_expert_jacobian(expert, 1, x + i * d, alone));
        assert_same_bits(alone, J + i * m * d, m * d);
    }
    double *block = moeg_alloc((d + m) * stride + moeg_expert_workspace(expert, stride), sizeof *block);
    assert_non_null(block);
    double *out = block + d * stride;
    fill_block(n, d, x, stride, 0.5, block);
    assert_ok(moeg_expert_forward_block(expert, n, stride, block, out, out + m * stride));
    assert_block(n, m, y, stride, out);
    moeg_release(block);
    free(y);
    free(J);
    free(alone);
}

#endif
