/* Random numbers for tests, apart from the library's own. */
#ifndef MOEG_TESTS_SUPPORT_RANDOM_H
#define MOEG_TESTS_SUPPORT_RANDOM_H

#include <math.h>
#include <stdint.h>

/* 64 random bits (splitmix64: Steele, Lea, Flood 2014). */
static inline uint64_t next_bits(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform in (-1, 1), with a full mantissa. */
static inline double next_uniform(uint64_t *seed)
{
    return ((double)(next_bits(seed) >> 11) + 0.5) / 4503599627370496.0 - 1;
}

/* Normal, by one half of Box and Muller's pair. */
static inline double next_normal(uint64_t *seed)
{
    const double radius = sqrt(-2 * log(0.5 + 0.5 * next_uniform(seed)));
    return radius * cos(3.14159265358979323846 * next_uniform(seed));
}

#endif
