"""Masses of normal intervals to 25 digits: python3 tests/reference/normal.py > tests/reference/normal.csv (mpmath)."""
import random

from mpmath import exp, mp, mpf, ncdf, nstr, pi, quad, sqrt

mp.dps = 60
random.seed(20261130)


def density(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


def mass(mid, half):
    m, h = abs(mpf(mid)), mpf(half)
    if m > h and m * h < 1e-3 and h < 1e-3:  # Taylor's series around the middle
        return 2 * density(m) * h * (1 + h**2 * (m**2 - 1) / 6 + h**4 * (m**4 - 6 * m**2 + 3) / 120
                                     + h**6 * (m**6 - 15 * m**4 + 45 * m**2 - 15) / 5040)
    mp.dps = 400
    value = ncdf(h - m) - ncdf(-h - m)
    mp.dps = 60
    return value


print("# P(|Z - mid| <= half) to 25 digits by mpmath: python3 tests/reference/normal.py > tests/reference/normal.csv")
print("mid,half,mass")
cases = [(m, h) for m in (0.0, 0.7312, -2.385, 6.1, 17.25, -30.0625, 36.5) for h in
         (1e-300, 1e-150, 1e-17, 1e-9, 3e-4, 0.0099, 0.0101, 0.137, 0.4999, 0.5001, 1.75, 6.2, 40.0)]
cases += [(random.gauss(0, 8), 10 ** random.uniform(-12, 1.5)) for _ in range(120)]
for m, h in cases:
    print("%r,%r,%s" % (m, h, nstr(mass(m, h), 25)))
