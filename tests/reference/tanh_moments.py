"""E[z tanh(z/2s)] and E[z^3 tanh(z/2s)], z ~ N(0, 1): python3 tests/reference/tanh_moments.py > tests/reference/tanh_moments.csv

mpmath. For s < 1/50 and s > 50 by their expansions, carried to where their terms are below 1e-35; in between by quadrature,
which is checked against the expansions at the two ends."""
from mpmath import bernoulli, exp, fac, gamma, inf, linspace, mp, mpf, nstr, pi, quad, sqrt, tanh, zeta

mp.dps = 50
TERMS = 60


def absolute(n):
    """E|z|^n."""
    return mpf(2) ** (mpf(n) / 2) * gamma(mpf(n + 1) / 2) / sqrt(pi)


def summed(terms):
    """Of an asymptotic series, up to its smallest term."""
    total, last = mpf(0), inf
    for t in terms:
        if t != 0 and abs(t) >= abs(last):
            break
        total, last = total + t, t
    assert abs(last) < mpf(10) ** -35 * abs(total), (last, total)
    return total


def sharp(n, s):
    """E|z|^n less 2 sqrt(2/pi) s^(n+1) sum_k (-s^2/2)^k/k! int y^(n+2k)/(1 + e^y) dy."""
    fermi = lambda a: (1 - mpf(2) ** -a) * zeta(a + 1) * gamma(a + 1)
    return absolute(n) - 2 * sqrt(2 / pi) * s ** (n + 1) * summed(
        (-s * s / 2) ** k / fac(k) * fermi(n + 2 * k) for k in range(TERMS))


def blunt(n, s):
    """tanh x = sum_k 4^k (4^k - 1) B_2k/(2k)! x^(2k-1), E z^2k = (2k - 1)!!."""
    return summed(mpf(4) ** k * (mpf(4) ** k - 1) * bernoulli(2 * k) / fac(2 * k) / (2 * s) ** (2 * k - 1) * absolute(n - 1 + 2 * k)
                  for k in range(1, TERMS))


def direct(n, s):
    edges = sorted({mpf(0), *(s * mpf(2) ** k for k in range(-4, 12) if s * mpf(2) ** k < 16), *linspace(0, 16, 17)})
    return 2 * quad(lambda z: z ** n * tanh(z / (2 * s)) * exp(-z * z / 2), edges) / sqrt(2 * pi)


for n in (1, 3):
    for s in (mpf(1) / 50, mpf(1) / 60):
        assert abs(sharp(n, s) / direct(n, s) - 1) < mpf(10) ** -30
    for s in (mpf(50), mpf(60)):
        assert abs(blunt(n, s) / direct(n, s) - 1) < mpf(10) ** -30


print("# E[z tanh(z/2s)], E[z^3 tanh(z/2s)] of a standard normal z, 25 digits by mpmath, of s as the nearest double:")
print("# python3 tests/reference/tanh_moments.py > tests/reference/tanh_moments.csv")
print("s,first,third")
values = [10.0 ** k for k in (-300, -200, -100, -50, -20, -16, -12, -9, -8, -7, -6, -5, -4)]
values += [0.001, 0.003, 0.01, 0.019, 0.021, 0.03, 0.05, 0.1, 0.17, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0]
values += [1.01, 1.1, 1.25, 1.3, 1.5, 2.0, 2.5, 3.0, 4.0, 5.5, 7.0, 10.0, 20.0, 49.0, 51.0, 100.0, 1000.0]
values += [10.0 ** k for k in (4, 5, 6, 7, 8, 9, 12, 16, 20, 50, 100, 200, 300)]
for s in values:
    f = sharp if s < 0.02 else blunt if s > 50 else direct
    print("%r,%s,%s" % (s, nstr(f(1, mpf(s)), 25), nstr(f(3, mpf(s)), 25)))
