"""Gates softmax(a/tau) to 25 digits: python3 tests/reference/softmax.py > tests/reference/softmax.csv (mpmath)."""
import random
import sys

from mpmath import exp, mp, mpf, nstr

mp.dps = 700  # (a - top)/tau spans 600 digits
random.seed(20240817)
INF = float("inf")
cases = []


def case(tau, logits):
    cases.append((tau, [float(a) for a in logits]))


# Differences far below one, as soft as any other: only (a_i - a_j)/tau counts.
for tau in (1e-7, 1e-9, 1e-300):
    case(tau, (0, tau))
    case(tau, (tau, 0))
    case(tau, (-INF, 0, tau, -INF))
# One finite logit, alone or among masks; exact ties.
case(2.385, (42.5,))
case(1e-300, (-1.7e308,))
case(0.7, (-INF, -INF, -3.25))
case(1e-300, (1.5, 1.5, -2, 1.5))
case(1e300, (-1.7e308, -1.7e308))
case(0.31, [1.25] * 17)
# Near the end of the range: differences that overflow, and differences that do not.
for tau in (1e-300, 1, 1e300):
    case(tau, (1.7e308, -1.7e308, 1.7e308))
    case(tau, (-1.7e308, 3.1, sys.float_info.max))
case(1e300, (1.7e308, 1.7e308 - 3e300, 1.7e308 - 7.4e302, 1.7e308 - 7.1e302))
case(1e300, (9.9e306, 1.1e307, 1.05e307))
case(1e300, (-1.7e308, -1.7e308 + 2.5e300, -INF, -1.7e308 - 1e299))
# Subnormal logits: 5e-324 and its multiples against the smallest tau.
case(1e-300, (5e-324, 0, -5e-324, 1e-310, -3e-300))
# Subnormal gates, where the sum is 1 and where it is not.
case(1, [-745.0 + 0.37 * j for j in range(120)] + [0])
case(1, [-745.2 + 0.0625 * j for j in range(16)] + [0, 0, 0])
case(0.013, [0.013 * (-746 + 0.21 * j) for j in range(230)] + [-1e-3, 0])
case(3e-9, [1 - 3e-9 * (740 + 0.11 * j) for j in range(60)] + [1])
# Every size of tau, K and offset: the quotient loses 2^-53 times itself, up to 745 epsilon, unless it is carried.
for exponent in (-300, -155, -31, -8, -1, 0, 3, 12, 77, 150, 300):
    for K in (2, 3, 17):
        tau = random.uniform(1, 9.9) * 10.0**exponent if exponent < 300 else 0.93e300
        spread = random.choice((1, 40, 700)) * tau
        case(tau, [-random.random() * spread for _ in range(K)])
        offset = random.uniform(-300, 300) * tau
        case(tau, [offset - random.random() * spread for _ in range(K)])
        case(tau, [-INF if random.random() < 0.3 else random.gauss(0, 1) * spread for _ in range(K - 1)] + [0])
for spread in (1, 30, 400):
    case(1.37, [random.gauss(0, 1) * spread for _ in range(1000)])
# Terms below half an ulp of the sum so far, each lost without compensation.
case(1, [0] + [-37.0 - 1e-3 * j for j in range(1000)])

print("# Gates to 25 digits by mpmath: python3 tests/reference/softmax.py > tests/reference/softmax.csv")
print("case,tau,logit,gate")
for number, (tau, logits) in enumerate(cases):
    top = max(logits)
    quotients = [None if a == -INF else (mpf(a) - mpf(top)) / mpf(tau) for a in logits]
    terms = [mpf(0) if q is None or q < -2000 else exp(q) for q in quotients]
    mp.dps = 40
    total = sum(terms)
    for a, term in zip(logits, terms):
        print(f"{number},{tau!r},{a!r},{nstr(term / total, 25)}")
    mp.dps = 700
