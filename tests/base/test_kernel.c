#include "base/kernel.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"

#include <Random123/philox.h>

/* The draws of a unit, by Random123's own function: (top 52 bits + 1/2)/2^52 of w0 + 2^32 w1 and of w2 + 2^32 w3. */
static void oracle_pair(uint64_t seed, uint32_t id, uint64_t unit, uint32_t pair, double u[2])
{
    const philox4x32_ctr_t counter = {{(uint32_t)unit, (uint32_t)(unit >> 32), pair, id}};
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t w = philox4x32(counter, key);
    for (int half = 0; half < 2; half++) {
        const uint64_t word = (uint64_t)w.v[2 * half + 1] << 32 | w.v[2 * half];
        u[half] = ldexp((double)(word >> 12) + 0.5, -52);
    }
}

static void draws_are_random123s(void **state)
{
    (void)state;
    const uint64_t seeds[] = {0, 1, 4357, (uint64_t)1 << 32, 0x243f6a8885a308d3, UINT64_MAX};
    const uint64_t firsts[] = {0, 12345, 0xfffffff8, UINT64_MAX - 20};
    const uint32_t ids[] = {0, 7, 0xffffffff};
    enum { Q = 7, STRIDE = 32 };
    double *u = moeg_alloc(Q * STRIDE, sizeof *u), *z = moeg_alloc(Q * STRIDE, sizeof *z);
    for (size_t set = 0; moeg_kernel_available(set) != NULL; set++)
        for (size_t c = 0; c < 6 * 4 * 3; c++) {
            const uint64_t seed = seeds[c % 6], first = firsts[c / 6 % 4];
            const uint32_t id = ids[c / 24], from = c % 5 == 0 ? 0 : 0xfffffff0 + (uint32_t)c % 5;
            moeg_kernel_available(set)->uniforms(seed, id, first, from, Q, STRIDE, u);
            moeg_kernel_available(set)->normals(seed, id, first, from, Q, STRIDE, z);
            for (size_t i = 0; i < STRIDE; i++)
                for (size_t j = 0; j < Q; j++) {
                    double pair[2];
                    oracle_pair(seed, id, first + i, from + (uint32_t)(j / 2), pair);
                    assert_near(u[j * STRIDE + i], pair[j % 2], 0);
                    const double angle = 2 * acos(-1) * pair[1], radius = sqrt(-2 * log(pair[0]));
                    /* The angle's own rounding in this oracle, 2 ulp of 2 pi, times the radius. */
                    assert_near(z[j * STRIDE + i], radius * (j % 2 ? sin(angle) : cos(angle)), 16 * EPS * radius);
                }
        }
    moeg_release(u);
    moeg_release(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_random123s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
