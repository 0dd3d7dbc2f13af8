"""Reference limits for the intervals of src/base/interval.c, by 34-digit Gauss-Legendre quadrature of the tails (mpmath).

    python3 generate_clopper_pearson.py clopper_pearson.csv gamma_interval.csv student.csv

Each row's limits solve their defining equations to 20 digits. Counts up to 10^4 are checked against the direct sum.
"""
import csv
import sys

from mpmath import exp, log, log1p, loggamma, mp, mpf, quad, sqrt
from scipy.stats import norm

mp.dps = 34


def tail(log_density, u, direction, pieces):
    """The density at u, and its integral from u outward over these pieces, over the density at u."""
    at_u = log_density(u)
    return at_u, quad(lambda v: exp(log_density(u + direction * v) - at_u), pieces, method="gauss-legendre")


def solve(log_density, direction, pieces, probability, u):
    """Newton's iteration on the logarithm of the tail; pieces(u) are those of a tail that begins at u."""
    for _ in range(60):
        at_u, integral = tail(log_density, u, direction, pieces(u))
        step = (at_u + log(integral / probability)) * integral * direction
        u += step
        if abs(step) < mpf(10) ** -16 * pieces(u)[1]:  # quadratic: the next step would be below 1e-30
            return u
    raise ArithmeticError("no convergence")


def scaled(scale):
    """Pieces for a density that falls at least exponentially over this scale."""
    return [scale * s for s in (0, 2, 5, 10, 18, 30, 50, 80)]


def guess(probability):
    """Normal quantile: enough to start from."""
    return mpf(float(norm.isf(float(probability))))


def beta_limits(a, b, probability):
    """x and 1 - x with P(Beta(a, b) <= x) = probability; density in the logit of x."""
    a, b = mpf(a), mpf(b)
    constant = loggamma(a + b) - loggamma(a) - loggamma(b)
    centre = log(a / b)
    log_density = lambda d: constant + a * (centre + d) - (a + b) * log1p(exp(centre + d))
    scale = sqrt(1 / a + 1 / b)
    d = solve(log_density, -1, lambda u: scaled(scale), probability, -guess(probability) * scale)
    odds = exp(centre + d)
    return odds / (1 + odds), 1 / (1 + odds)


def direct_sum(count, n, x):
    """P(Bin(n, x) >= count)."""
    return sum(mp.binomial(n, k) * x**k * (1 - x) ** (n - k) for k in range(count, n + 1))


def lower(count, n, probability):
    if count == 0:
        return mpf(0), mpf(1)
    if count == n:
        x = probability ** (mpf(1) / n)
        return x, 1 - x
    x, y = beta_limits(count, n - count + 1, probability)
    if n <= 10000 and n - count <= 200:
        assert abs(direct_sum(count, n, x) / probability - 1) < mpf(10) ** -20
    return x, y


def gamma_limit(n, probability, upper):
    n = mpf(n)
    constant = n * log(n) - n - loggamma(n)
    log_density = lambda d: constant + n * (d + 1 - exp(d))
    scale = 1 / sqrt(n)
    direction = 1 if upper else -1
    start = log1p(guess(probability) * scale) if upper else -guess(probability) * scale
    pieces = lambda d: scaled(1 / (sqrt(n * max(1, exp(d))) + max(0, direction * n * (exp(d) - 1))))
    return exp(solve(log_density, direction, pieces, probability, start))


def student(dof, probability):
    """Density in t itself; the tail's pieces reach far, it falls like a power."""
    dof = mpf(dof)
    constant = loggamma((dof + 1) / 2) - loggamma(dof / 2) - log(dof * mp.pi) / 2
    log_density = lambda t: constant - (dof + 1) / 2 * log1p(t * t / dof)
    pieces = lambda t: [0, 1, 2, 4, 8, 16, 32, 64, 128, 512, 2048, 8192]
    return solve(log_density, 1, pieces, probability, guess(probability))


def text(value):
    return mp.nstr(value, 20)


LEVELS = [0.5, 0.95, 0.999999, 1 - 2.0**-50]
CASES = [
    (0, 1), (1, 1), (0, 18), (18, 18), (1, 2), (1, 18), (3, 7), (17, 18), (0, 1000), (1, 1000), (30, 1000), (500, 1000),
    (999, 1000), (7, 10000), (9990, 10000), (1, 10**6), (29, 10**6), (123456, 10**6), (10**6 - 3, 10**6),
    (1, 10**9), (40, 10**9), (5 * 10**8, 10**9), (987654321, 10**9), (1, 2**53), (10**4, 2**53), (2**52, 2**53),
    (2**53 - 12345, 2**53), (2**53 - 1, 2**53), (2**53, 2**53),
]


def main():
    with open(sys.argv[1], "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["count", "n", "level", "lo", "one_minus_lo", "hi", "one_minus_hi"])
        for count, n in CASES:
            for level in LEVELS:
                probability = (1 - mpf(level)) / 2
                lo, lo_rest = lower(count, n, probability)
                hi_rest, hi = lower(n - count, n, probability)
                out.writerow([count, n, repr(level)] + [text(v) for v in (lo, lo_rest, hi, hi_rest)])
    with open(sys.argv[2], "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["count", "level", "lo", "hi"])
        for count in (1, 2, 3, 7, 15, 16, 30, 1000, 10**6, 10**12, 2**53):
            for level in LEVELS:
                probability = (1 - mpf(level)) / 2
                out.writerow([count, repr(level)] + [text(gamma_limit(count, probability, u)) for u in (0, 1)])
    with open(sys.argv[3], "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["dof", "level", "t"])
        for dof in (29, 30, 59, 100, 1000, 10**6, 10**12, 2**53 - 1):
            for level in LEVELS:
                out.writerow([dof, repr(level), text(student(dof, (1 - mpf(level)) / 2))])


main()
