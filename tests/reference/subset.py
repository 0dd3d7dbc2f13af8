#!/usr/bin/env python3
"""SUBSET gates to 20 digits: python3 tests/reference/subset.py >> tests/reference/subset.csv (its last block).

Each probability from the elementary symmetric polynomials of all experts but one, by mpmath: those of being in S and of
not being in it separately, so that both keep their digits.  Sizes, temperatures and spreads from a fixed seed."""
import random

import mpmath as mp

random.seed(2385)
mp.mp.dps = 1200


def symmetric(w, k):
    e = [mp.mpf(1)] + [mp.mpf(0)] * k
    for x in w:
        for r in range(k, 0, -1):
            e[r] += x * e[r - 1]
    return e[k]


def row(name, k, tau, a):
    top = max(a)
    w = [mp.exp((mp.mpf(x) - mp.mpf(top)) / mp.mpf(tau)) if x > float("-inf") else mp.mpf(0) for x in a]
    total = symmetric(w, k)
    p, q = [], []
    for i in range(len(a)):
        rest = w[:i] + w[i + 1:]
        p.append(w[i] * symmetric(rest, k - 1) / total)
        q.append(symmetric(rest, k) / total)
    assert abs(mp.fsum(p) - k) < mp.mpf(10) ** -50
    text = [" ".join(mp.nstr(x, 20) for x in v) for v in (p, q)]
    print(",".join(["subset", name, str(len(a)), str(k), repr(tau), " ".join(map(repr, a)), *text]))


print("# made by tests/reference/subset.py; columns kind,case,N,k,tau,a,p,q")
for exponent in (-300, -77, -9, 0, 4, 150, 299):
    for N, k in ((3, 2), (7, 3), (16, 4), (40, 37)):
        tau = random.uniform(1, 9.9) * 10.0**exponent
        for spread in (0.3, 8, 300, 900):
            offset = random.choice((0, 40, 3000)) * tau
            row("random", k, tau, [offset + random.uniform(-1, 1) * spread * tau for _ in range(N)])
# A gap of 690 temperatures between groups: probabilities within 1e-300 of 0 and of 1.
for k in (2, 5, 6, 7, 12):
    row("far", k, 1 / 512, [(690 if i % 5 < 2 else 0) / 512 + random.uniform(-3, 3) / 512 for i in range(15)])
# Masks, and ties of different sizes.
row("masked", 3, 0.43, [0.5, float("-inf"), 1.25, 0.5, float("-inf"), -2.0, 0.5])
row("ties", 4, 0.031, [0.7, 0.7, 0.25, 0.25, 0.7, 0.25, 0.25, 0.1])
