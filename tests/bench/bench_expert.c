/* Forward passes of experts: nanoseconds a row, of blocks as jobs use them, beside the time that their multiplications
 * and additions alone would take at the rate of cblas_dgemm (512-cube, one thread) in the same run. A ratio above 1 is
 * faster than that. And nanoseconds an activation. */
#include "base/kernel.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/dgemm.h"
#include "model/model.h"

#include <stdio.h>

enum { CUBE = 512, VALUES = 4096, MOST = 512 };

typedef struct bench_case {
    moeg_expert *expert;
    moeg_kernel_activation activation;
    size_t rows;
    double *A, *B, *x, *y, *workspace;
} bench_case;

static void multiply(void *user)
{
    const bench_case *c = user;
    bench_multiply(CUBE, CUBE, CUBE, c->A, c->B, c->y);
}

static void forward(void *user)
{
    const bench_case *c = user;
    moeg_expert_forward_block(c->expert, c->rows, c->rows, c->x, c->y, c->workspace);
}

static void rows_forward(void *user)
{
    const bench_case *c = user;
    moeg_expert_forward(c->expert, c->rows, c->x, c->y);
}

static void activate(void *user)
{
    const bench_case *c = user;
    moeg_kernel_activate(c->activation, VALUES, c->x, c->y);
}

static void slope(void *user)
{
    const bench_case *c = user;
    moeg_kernel_slope(c->activation, VALUES, c->x, c->y);
}

static void report(bench_case *c, const char *name, size_t d, size_t h, size_t m, size_t weights, double rate)
{
    c->rows = moeg_block_rows(d + m + moeg_expert_workspace(c->expert, 64) / 64);
    c->workspace = moeg_alloc(moeg_expert_workspace(c->expert, c->rows), sizeof(double));
    if (c->workspace == NULL)
        return;
    const double limit = 2 * (double)weights / rate;
    const double each = bench_seconds(forward, c) / (double)c->rows;
    const double by_rows = bench_seconds(rows_forward, c) / (double)c->rows;
    printf("%-6s d %3zu, h %3zu, m %2zu: %8.1f ns a row, dgemm %8.1f, ratio %5.2f; row-major %8.1f, ratio %5.2f\n",
           name, d, h, m, 1e9 * each, 1e9 * limit, limit / each, 1e9 * by_rows, limit / by_rows);
    moeg_release(c->workspace);
    moeg_expert_free(c->expert);
}

int main(int argc, char **argv)
{
    bench_quick(&argc, argv);
    static const char *const names[] = {"ReLU", "GELU", "SiLU", "tanh"};
    static const size_t shapes[][3] = {{16, 32, 1}, {64, 128, 8}, {512, 512, 32}};
    bench_case c = {
        .A = moeg_alloc(CUBE * CUBE, sizeof(double)),
        .B = moeg_alloc(CUBE * CUBE, sizeof(double)),
        .x = moeg_alloc(MOST * VALUES, sizeof(double)),
        .y = moeg_alloc(MOST * VALUES, sizeof(double)),
    };
    if (c.A == NULL || c.B == NULL || c.x == NULL || c.y == NULL)
        return 1;
    moeg_kernel_normals(1, 0, 0, 1, CUBE * CUBE, c.A);
    moeg_kernel_normals(2, 0, 0, 1, CUBE * CUBE, c.B);
    moeg_kernel_normals(3, 0, 0, 1, MOST * VALUES, c.x);
    const double rate = 2.0 * CUBE * CUBE * CUBE / bench_seconds(multiply, &c);
    printf("kernels %s; dgemm %.1f GFLOP/s\n", moeg_kernel_name(), 1e-9 * rate);
    for (int a = 0; a < MOEG_KERNEL_ACTIVATIONS; a++) {
        c.activation = (moeg_kernel_activation)a;
        const double value = bench_seconds(activate, &c) / VALUES, derivative = bench_seconds(slope, &c) / VALUES;
        printf("%-6s %5.2f ns, its slope %5.2f ns\n", names[a], 1e9 * value, 1e9 * derivative);
    }
    for (size_t s = 0; s < 3; s++) {
        const size_t d = shapes[s][0], h = shapes[s][1], m = shapes[s][2];
        const double *W[] = {c.A, c.B};
        for (int a = 0; a < 2; a++) {
            if (moeg_expert_mlp_create(&c.expert, 2, shapes[s], W, NULL, (moeg_activation)a) != MOEG_OK)
                return 1;
            report(&c, names[a], d, h, m, h * (d + m), rate);
        }
        if (moeg_expert_gated_create(&c.expert, d, h, m, c.A, c.B, c.A, MOEG_ACTIVATION_SILU) != MOEG_OK)
            return 1;
        report(&c, "SwiGLU", d, h, m, h * (2 * d + m), rate);
    }
    moeg_release(c.A);
    moeg_release(c.B);
    moeg_release(c.x);
    moeg_release(c.y);
    return 0;
}
