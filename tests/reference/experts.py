"""Remakes experts.csv from its own weights and tokens, to 30 digits (mpmath):
python3 tests/reference/experts.py tests/reference/experts.csv > remade.csv; the two files are the same.

The Jacobian is a complex step of 1e-60 in the formula of the expert, not its closed form."""
import sys

from mpmath import erfc, exp, im, mp, mpc, mpf, nstr, re, sqrt, tanh

mp.dps = 150
STEP = mpf(10) ** -60
ACTIVATIONS = {
    "relu": lambda z: z if re(z) > 0 else mpf(0),  # relu'(0) = 0
    "gelu": lambda z: z * erfc(-z / sqrt(mpf(2))) / 2,
    "silu": lambda z: z / (1 + exp(-z)),
    "tanh": tanh,
}


def matrix(rows, cols, text):
    values = [mpf(float(v)) for v in text.split()]
    return [values[i * cols:(i + 1) * cols] for i in range(rows)]


def times(A, x):
    return [sum((a * b for a, b in zip(row, x)), mpf(0)) for row in A]


def plus(x, column):
    return [a + b[0] for a, b in zip(x, column)]


def value(kind, w, x):
    if kind == "affine":
        return plus(times(w["W"], x), w["b"])
    if kind in ("swiglu", "geglu"):
        s = ACTIVATIONS["silu" if kind == "swiglu" else "gelu"]
        return times(w["down"], [s(g) * u for g, u in zip(times(w["gate"], x), times(w["up"], x))])
    z = plus(times(w["W1"], x), w["b1"])
    return plus(times(w["W2"], [ACTIVATIONS[kind](v) for v in z]), w["b2"])


def jacobian(kind, w, x):
    columns = []
    for k in range(len(x)):
        moved = [v + mpc(0, STEP) if j == k else v for j, v in enumerate(x)]
        columns.append([im(v) / STEP for v in value(kind, w, moved)])
    return [columns[k][j] for j in range(len(columns[0])) for k in range(len(x))]


def text(values):
    return " ".join("0" if 0 < abs(v) < mpf(10) ** -330 else nstr(re(v), 30) for v in values)


kinds, weights, tokens = {}, {}, {}
for line in open(sys.argv[1]):
    f = line.rstrip("\n").split(",")
    if f[0] == "weights":
        kinds[f[1]] = f[2]
        weights.setdefault(f[1], {})[f[3]] = matrix(int(f[4]), int(f[5]), f[6])
    elif f[0] == "tokens":
        tokens[f[1]] = matrix(int(f[2]), int(f[3]), f[4])
    elif f[0] in ("forward", "jacobian"):
        make = value if f[0] == "forward" else jacobian
        f[-1] = text(make(kinds[f[1]], weights[f[1]], tokens[f[2]][int(f[3])]))
    print(",".join(f))
