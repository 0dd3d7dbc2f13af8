#!/usr/bin/env python3
"""High-precision reference values for the soft-to-hard limit of a mixture of experts.

    python3 generate_limit.py [--out DIR] [--only NAME ...]        (NAME: binary, alpha, boundary, k3)

writes gap_binary_affine.csv, gap_alpha.csv, boundary_k3.csv and gap_k3.csv into DIR (default: this folder).
Deterministic; needs only mpmath and numpy.  Run with OMP_NUM_THREADS=1; about ten minutes in all.

File format
    '#'  lines    what the table holds, the formulas, the method, the digits.
    '#@' lines    parameters, one array a line:  #@ <case> <name> <rows> <cols> <value> <value> ...   (row-major).
                  Every value is the IEEE double nearest to the decimal shown: it was used as that double, not as the decimal.
    one header line with the column names, then the rows.  Column `digits` = decimal digits that agree between the
    evaluation printed and a second one with other nodes and other panels (capped by the arithmetic).

Conventions (docs/theory.md)
    X ~ N(mu, Sigma); logits a = W x + b; the hard router takes the argmax; experts f_k(x) = A_k x + c_k;
    Y = m(X) without noise, so  L_0 = E|m - f_k*|^2  and the gap  G = L_tau - L_0.
    output mixing: L_tau = E|m - sum_k g_k f_k|^2.      loss mixing: L_tau = E sum_k g_k |m - f_k|^2.
    SUBSET gates, k active: the hard model is f_S* = mean of the k top experts, and L_0 = E|m - f_S*|^2.
    G ~ lead_coef * tau^lead_power as tau -> 0, unless the file says otherwise.

No cancellation: with delta = f_win - f_other, r = f_win - m, and q = 1 - g_win = 1/(1 + e^{|s|/tau}) for two experts,
    output   |f_tau - m|^2 - |f_win - m|^2 = q (-2 delta.r + q |delta|^2)
    loss                                   = q (-2 delta.r +   |delta|^2)
and q is computed directly, so nothing of size 1 is ever subtracted.
"""
import argparse
import itertools
import os

import mpmath as mp
import numpy as np

mp.mp.dps = 45
LD = np.longdouble
TAUS = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)
WGRID = (1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0)


# ---------------------------------------------------------------- small tools

_gl = {}


def gauss(n):
    """Gauss-Legendre nodes and weights on [-1, 1] in the working precision of mpmath (Newton from numpy's)."""
    if n not in _gl:
        guess, _ = np.polynomial.legendre.leggauss(n)
        nodes = []
        for g in guess:
            x = mp.mpf(float(g))
            for _ in range(8):
                p0, p1 = mp.mpf(1), x
                for k in range(2, n + 1):
                    p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
                dp = n * (x * p1 - p0) / (x * x - 1)
                x -= p1 / dp
            nodes.append((x, 2 / ((1 - x * x) * dp * dp)))
        _gl[n] = nodes
    return _gl[n]


def gauss_ld(n):
    """The same as two longdouble arrays."""
    pairs = gauss(n)
    return (np.array([LD(mp.nstr(x, 25)) for x, _ in pairs]), np.array([LD(mp.nstr(w, 25)) for _, w in pairs]))


def panels(edges, width):
    """Sorted distinct edges, subdivided so that no panel is wider than `width`."""
    edges = sorted(set(edges))
    out = [edges[0]]
    for hi in edges[1:]:
        lo = out[-1]
        n = int(mp.ceil((hi - lo) / width))
        out += [lo + (hi - lo) * i / n for i in range(1, n)] + [hi]
    return out


def layer_edges(scale, top, last, first=1):
    """0, h, 2h, 4h, ... (h = first * scale) up to min(top, last * scale): the layer of an interface."""
    end = min(top, last * scale)
    out, e = [0 * scale], scale * first
    while e < end:
        out.append(e)
        e *= 2
    return out + [end]


def quad(f, edges, n):
    """Composite Gauss-Legendre; f may return a tuple, summed componentwise."""
    tot = None
    for lo, hi in zip(edges[:-1], edges[1:]):
        c, h = (lo + hi) / 2, (hi - lo) / 2
        for x, w in gauss(n):
            v = f(c + h * x)
            v = v if isinstance(v, tuple) else (v,)
            tot = [h * w * y for y in v] if tot is None else [t + h * w * y for t, y in zip(tot, v)]
    return tot


def agree(a, b, cap):
    """Decimal digits common to a and b, at most cap."""
    a, b = (mp.mpf(np.format_float_scientific(t, precision=24, unique=False)) if isinstance(t, LD) else mp.mpf(t)
            for t in (a, b))
    if a == b:
        return cap
    if a == 0 or b == 0:
        return 0
    return max(0, min(cap, int(mp.floor(-mp.log10(abs(a - b) / abs(a))))))


def fmt(x, digits=20):
    if isinstance(x, LD):
        return np.format_float_scientific(x, precision=18, unique=False)
    return mp.nstr(mp.mpf(x), digits, min_fixed=0, max_fixed=0)


def param(case, name, value):
    a = np.atleast_2d(np.array(value, dtype=float))
    return '#@ %s %s %d %d %s' % (case, name, a.shape[0], a.shape[1], ' '.join(repr(float(v)) for v in a.ravel()))


def write(path, comments, header, rows):
    with open(path + '.tmp', 'w') as f:
        for c in comments:
            f.write(c + '\n')
        f.write(','.join(header) + '\n')
        for r in rows:
            f.write(','.join(str(v) for v in r) + '\n')
    os.replace(path + '.tmp', path)
    print(path, len(rows), 'rows')


def cholesky(S, one):
    """Lower factor of a 1x1 or 2x2 covariance, in the arithmetic of `one`."""
    if len(S) == 1:
        return [[sqrt_(one * S[0][0])]]
    l00 = sqrt_(one * S[0][0])
    l10 = one * S[1][0] / l00
    return [[l00, 0 * one], [l10, sqrt_(one * S[1][1] - l10 * l10)]]


def sqrt_(x):
    return np.sqrt(x) if isinstance(x, LD) else mp.sqrt(x)


def vdot(a, b):
    return sum(x * y for x, y in zip(a, b))


class Affine:
    """x -> A x + c, re-expressed in whitened coordinates z by `at`: c + A mu, A L."""

    def __init__(self, A, c):
        self.A, self.c = A, c

    def at(self, mu, L, one):
        d, m = len(mu), len(self.c)
        base = [one * self.c[r] + sum(one * self.A[r][k] * mu[k] for k in range(d)) for r in range(m)]
        cols = [[sum(one * self.A[r][k] * L[k][j] for k in range(d)) for r in range(m)] for j in range(d)]
        return base, cols

    def params(self, case, name):
        return [param(case, name + '_A', self.A), param(case, name + '_c', self.c)]


# ---------------------------------------------------------------- 1. two experts, affine router

def binary_setup(c):
    """Coordinates z = (s - mu_s)/sigma_s and xi independent of it: every affine map becomes F0 + Fz z + Fx xi."""
    one, d = mp.mpf(1), c['d']
    mu = [one * v for v in c['mu']]
    L = cholesky(c['Sigma'], one)
    w = [one * c['W'][0][k] - one * c['W'][1][k] for k in range(d)]
    b = one * c['b'][0] - one * c['b'][1]
    Lw = [sum(L[k][j] * w[k] for k in range(d)) for j in range(d)]
    sig = mp.sqrt(vdot(Lw, Lw))
    e = [v / sig for v in Lw]
    n = [-e[1], e[0]] if d == 2 else [0 * one]

    def coords(F):
        base, cols = F.at(mu, L, one)
        m = len(base)
        return (base, [sum(cols[j][r] * e[j] for j in range(d)) for r in range(m)],
                [sum(cols[j][r] * n[j] for j in range(d)) for r in range(m)])
    return dict(mus=b + vdot(w, mu), sig=sig, f=[coords(F) for F in c['experts']],
                mp_=coords(c['m_plus']), mm=coords(c['m_minus']),
                h=coords(Affine([c['v']], [c['e']])) if c['v'] is not None else None)


def moments(lo, hi):
    """(M0, M1, M2) of a standard normal restricted to (lo, hi)."""
    pdf = lambda t: mp.npdf(t) if abs(t) < mp.inf else mp.mpf(0)
    up = lambda t: mp.mpf(0) if t == mp.inf else mp.mpf(1) if t == -mp.inf else mp.erfc(t / mp.sqrt(2)) / 2
    tail = lambda t: t * pdf(t) if abs(t) < mp.inf else mp.mpf(0)
    m0 = up(lo) - up(hi)
    return m0, pdf(lo) - pdf(hi), m0 + tail(lo) - tail(hi)


def branches(g, z, side):
    """The pieces of m on the line {z}: list of (m, xi_lo, xi_hi).  `side` = sign of s, used when the teacher's
    interface is the router's own."""
    if g['h'] is None:
        return [(g['mp_'], -mp.inf, mp.inf)]
    h0, hz, hx = g['h'][0][0], g['h'][1][0], g['h'][2][0]
    if abs(hx) > mp.mpf(10) ** -30:
        x0 = -(h0 + hz * z) / hx
        up, dn = (g['mp_'], g['mm']) if hx > 0 else (g['mm'], g['mp_'])
        return [(dn, -mp.inf, x0), (up, x0, mp.inf)]
    zh = -h0 / hz
    if abs(zh + g['mus'] / g['sig']) < mp.mpf(10) ** -30:
        sign = side if hz > 0 else -side
    else:
        sign = 1 if (z - zh) * hz > 0 else -1
    return [(g['mp_'] if sign > 0 else g['mm'], -mp.inf, mp.inf)]


def conditional(g, z, side):
    """E[delta.r | z], E[|delta|^2 | z], E[|r|^2 | z] on the side where s has sign `side`."""
    win, oth = (0, 1) if side > 0 else (1, 0)
    at = lambda F: ([a + b * z for a, b in zip(F[0], F[1])], F[2])
    f0, f1 = at(g['f'][win])
    o0, o1 = at(g['f'][oth])
    d0, d1 = [a - b for a, b in zip(f0, o0)], [a - b for a, b in zip(f1, o1)]
    A = R = mp.mpf(0)
    for m, lo, hi in branches(g, z, side):
        m0, m1 = at(m)
        r0, r1 = [a - b for a, b in zip(f0, m0)], [a - b for a, b in zip(f1, m1)]
        M0, M1, M2 = moments(lo, hi)
        A += M0 * vdot(d0, r0) + M1 * (vdot(d0, r1) + vdot(d1, r0)) + M2 * vdot(d1, r1)
        R += M0 * vdot(r0, r0) + 2 * M1 * vdot(r0, r1) + M2 * vdot(r1, r1)
    return A, vdot(d0, d0) + vdot(d1, d1), R


def binary_breaks(g, side):
    """Values of |s| on this side where m jumps for every xi at once (teacher's interface parallel to the router's)."""
    if g['h'] is None or abs(g['h'][2][0]) > mp.mpf(10) ** -30:
        return []
    s = side * (g['mus'] + g['sig'] * (-g['h'][0][0] / g['h'][1][0]))
    return [s] if s > mp.mpf(10) ** -30 else []


def binary_gap(g, tau, n, first):
    """(G output, G loss)."""
    tau, tot = mp.mpf(tau), [mp.mpf(0), mp.mpf(0)]
    for side in (1, -1):
        top = 13.5 * g['sig'] + side * g['mus']
        edges = layer_edges(tau, top, 100, first)
        edges += [s for s in binary_breaks(g, side) if s < edges[-1]]

        def f(s):
            z = (side * s - g['mus']) / g['sig']
            A, B, _ = conditional(g, z, side)
            q = 1 / (1 + mp.exp(s / tau))
            p = mp.npdf(z) / g['sig']
            return p * q * (q * B - 2 * A), p * q * (B - 2 * A)
        tot = [t + v for t, v in zip(tot, quad(f, panels(edges, g['sig']), n))]
    return tot


def binary_L0(g, n, width):
    tot = mp.mpf(0)
    for side in (1, -1):
        top = 13.5 * g['sig'] + side * g['mus']
        edges = [mp.mpf(0), top] + [s for s in binary_breaks(g, side) if s < top]
        f = lambda s: mp.npdf((side * s - g['mus']) / g['sig']) / g['sig'] * conditional(g, (side * s - g['mus']) / g['sig'], side)[2]
        tot += quad(f, panels(edges, width * g['sig']), n)[0]
    return tot


def binary_leading(g):
    """{mixing: (power, coefficient)} from docs/theory.md, with S[q] = p_s(0) E[q | s = 0]."""
    z0 = -g['mus'] / g['sig']
    p0 = mp.npdf(z0) / g['sig']
    Ap, B, _ = conditional(g, z0, 1)
    Am, _, _ = conditional(g, z0, -1)
    # delta = f1 - f2 on both sides: J.delta = (m1 - m2).delta = |delta|^2 - (A+ + A-)
    SJ, SB = p0 * (B - Ap - Am), p0 * B
    out = {'output': (1, 2 * mp.log(2) * SJ - SB)}
    if abs(SJ) > mp.mpf(10) ** -30:
        out['loss'] = (1, 2 * mp.log(2) * SJ)
    else:
        # psi(s) = p_s(s) E[l_1 - l_2 | s], with l_1 - l_2 = 2 delta.(f_1 - m) - |delta|^2
        def psi(s):
            z = (s - g['mus']) / g['sig']
            A, Bz, _ = conditional(g, z, 1)
            return mp.npdf(z) / g['sig'] * (2 * A - Bz)
        out['loss'] = (2, -mp.pi ** 2 / 6 * mp.diff(psi, 0, h=mp.mpf(10) ** -12))
    return out


def make_binary(path, cases):
    com = ['# Gap G(tau) = L_tau - L_0 of two affine experts behind an affine router, Gaussian input (docs/theory.md).',
           '# gates: g_1 = 1/(1 + exp(-s/tau)), s = a_1 - a_2, a = W x + b.  m(x) = mplus_A x + mplus_c where teacher_v.x + teacher_e > 0,',
           '# mminus_A x + mminus_c elsewhere; no teacher lines: m = mplus everywhere.  Y = m(X), no noise.',
           '# coincident = 1: teacher_v = W_1 - W_2 and teacher_e = b_1 - b_2 exactly (dyadic entries), the teacher jumps on the router interface itself.',
           '# G ~ lead_coef tau^lead_power.  output mixing: 2 ln2 S[J.delta] - S[|delta|^2] at power 1.  loss mixing: 2 ln2 S[J.delta] at power 1 where',
           '# m jumps on the router interface, else -(pi^2/6) d/ds[p_s(s) E(l_1 - l_2 | s)] at s = 0, power 2.',
           '# method: X given s integrated in closed form (truncated normal moments), then Gauss-Legendre (40 nodes a panel) in |s| on panels',
           '#   tau*[0,1,2,4,...,100], at most sigma_s wide, mpmath with 45 digits; digits: against 52 nodes on panels 0.7 tau*[0,1,2,...], capped at 30.',
           '# parameters:  #@ case name rows cols values (row-major; each value is the double nearest to the decimal)']
    rows = []
    for name, c in cases:
        com.append('# case %s: %s' % (name, c['what']))
        com += [param(name, 'mu', c['mu']), param(name, 'Sigma', c['Sigma']), param(name, 'W', c['W']), param(name, 'b', c['b'])]
        for k, F in enumerate(c['experts']):
            com += F.params(name, 'f%d' % (k + 1))
        com += c['m_plus'].params(name, 'mplus') + c['m_minus'].params(name, 'mminus')
        if c['v'] is not None:
            com += [param(name, 'teacher_v', c['v']), param(name, 'teacher_e', [c['e']])]
        g = binary_setup(c)
        if c['v'] is not None:              # does the teacher share the router's interface, exactly?
            own = [c['W'][0][k] - c['W'][1][k] for k in range(c['d'])] == c['v'] and c['b'][0] - c['b'][1] == c['e']
            assert own == name.endswith(('own', 'same')), name
            com.append(param(name, 'coincident', [own]))
        L0, L0b = binary_L0(g, 40, 1), binary_L0(g, 52, mp.mpf('0.7'))
        if L0 < mp.mpf(10) ** -60:          # m is the model itself: only rounding is left
            L0 = L0b = mp.mpf(0)
        lead = binary_leading(g)
        for tau in TAUS:
            G, H = binary_gap(g, tau, 40, 1), binary_gap(g, tau, 52, mp.mpf('0.7'))
            for i, mix in enumerate(('output', 'loss')):
                dig = min(agree(L0, L0b, 30), agree(G[i], H[i], 30))
                rows.append((name, c['d'], mix, repr(tau), fmt(L0), fmt(L0 + G[i]), fmt(G[i]), lead[mix][0], fmt(lead[mix][1]), dig))
        write(path, com, ('case', 'd', 'mixing', 'tau', 'L0', 'Ltau', 'G', 'lead_power', 'lead_coef', 'digits'), rows)


def binary_cases():
    # Router entries are dyadic, so that W_1 - W_2 and b_1 - b_2 are exact doubles and a coincident teacher coincides to the last bit.
    d1 = dict(d=1, mu=[0.25], Sigma=[[1.3]], W=[[0.875], [-0.625]], b=[0.375, -0.0625],
              experts=[Affine([[0.2]], [1.0]), Affine([[0.1]], [-0.7])], v=None, e=None)
    d2 = dict(d=2, mu=[0.3, -0.2], Sigma=[[1.2, 0.5], [0.5, 0.8]], W=[[1.125, -0.375], [-0.3125, 0.6875]], b=[0.15625, -0.1875],
              experts=[Affine([[0.5, -0.3], [0.2, 0.4]], [0.8, -0.1]), Affine([[-0.2, 0.6], [0.1, -0.5]], [-0.5, 0.45])], v=None, e=None)
    m1, m2 = Affine([[0.5]], [0.3]), Affine([[0.25, -0.15], [0.35, 0.05]], [0.2, -0.3])
    t1p, t1m = Affine([[0.4]], [0.9]), Affine([[-0.3]], [-0.4])
    t2p, t2m = Affine([[0.45, -0.1], [0.3, 0.2]], [0.7, 0.1]), Affine([[-0.35, 0.3], [0.15, -0.25]], [-0.6, 0.25])
    own1, own2 = d1['experts'], d2['experts']
    return [
        ('d1_affine', dict(d1, m_plus=m1, m_minus=m1, what='d = 1, m affine (J = 0)')),
        ('d1_own', dict(d1, m_plus=own1[0], m_minus=own1[1], v=[1.5], e=0.4375, what='d = 1, m = the model itself, teacher interface = router interface (J = delta, L_0 = 0)')),
        ('d1_same', dict(d1, m_plus=t1p, m_minus=t1m, v=[1.5], e=0.4375, what='d = 1, piecewise m, teacher interface = router interface, J != delta')),
        ('d1_other', dict(d1, m_plus=t1p, m_minus=t1m, v=[1.0], e=-0.5, what='d = 1, piecewise m jumping at x = 0.5, away from the router interface')),
        ('d2_affine', dict(d2, m_plus=m2, m_minus=m2, what='d = 2, covariance, two outputs, m affine (J = 0)')),
        ('d2_own', dict(d2, m_plus=own2[0], m_minus=own2[1], v=[1.4375, -1.0625], e=0.34375, what='d = 2, m = the model itself (J = delta, L_0 = 0)')),
        ('d2_same', dict(d2, m_plus=t2p, m_minus=t2m, v=[1.4375, -1.0625], e=0.34375, what='d = 2, piecewise m, teacher interface = router interface, J != delta')),
        ('d2_other', dict(d2, m_plus=t2p, m_minus=t2m, v=[0.6, 0.9], e=-0.2, what='d = 2, piecewise m whose interface crosses the router interface')),
    ]


# ---------------------------------------------------------------- 2. margin exponents

def alpha_gap(fam, tau, n, first):
    """E[q] and E[q^2] for q = 1/(1 + e^{|s|/tau}): all that is needed when delta and J are constant and s is symmetric."""
    tau = mp.mpf(tau)
    kind = fam['kind']
    if kind == 'power':                     # s = sign(x)|x|^p, X ~ N(0,1)
        p = mp.mpf(fam['p'])
        scale, dens, margin = tau ** (1 / p), lambda x: 2 * mp.npdf(x), lambda x: x ** p / tau
    elif kind == 'rayleigh':                # s has density |s| e^{-s^2/2}/2
        scale, dens, margin = tau, lambda x: x * mp.exp(-x * x / 2), lambda x: x / tau
    else:                                   # s = sign(x)(Delta0 + |x|), X ~ N(0,1)
        D0 = mp.mpf(fam['Delta0'])
        scale, dens, margin = tau, lambda x: 2 * mp.npdf(x), lambda x: (D0 + x) / tau
    p_ = fam.get('p', 1) if kind == 'power' else 1
    last = mp.mpf(100) ** (mp.mpf(1) / p_)
    top = mp.mpf('13.5')
    end = min(top, last * scale)
    # |x|^p with p > 1 has its poles at angle pi/(2p): panels of ratio 2 start at scale/4, at most 0.6 scale wide near the layer
    edges = layer_edges(scale, top, last, mp.mpf(first) / 4)
    if p_ != 1:
        edges += [first * scale * mp.mpf(k) / 3 for k in range(1, 40) if first * scale * mp.mpf(k) / 3 < end]
    if p_ != int(p_):                       # x^p is not smooth at 0: grade down to 1e-60
        edges += [first * scale * mp.mpf(2) ** -j for j in range(1, 260)]

    def f(x):
        q = 1 / (1 + mp.exp(margin(x)))
        return dens(x) * q, dens(x) * q * q
    return quad(f, panels(edges, mp.mpf(1)), n)


def make_alpha(path, fams, targets):
    com = ['# Gap G(tau) for routers with a known margin exponent: P(|s| <= w) ~ C w^alpha, constant experts f_1, f_2, m = m_plus where s > 0, m_minus where s < 0.',
           '# family power:     s = sign(x) |x|^p, X ~ N(0,1):          alpha = 1/p, C = sqrt(2/pi)',
           '# family rayleigh:  s = x, density |x| exp(-x^2/2)/2 (not Gaussian): alpha = 2, C = 1/2',
           '# family bounded:   s = sign(x) (Delta0 + |x|), X ~ N(0,1): the margin is at least Delta0',
           '# delta = f_1 - f_2, J = m_plus - m_minus.  G ~ lead_coef * tau^alpha, lead_coef = C Gamma(alpha+1) (J delta eta(alpha) - delta^2 eta(alpha-1)) for output mixing,',
           '# C Gamma(alpha+1) J delta eta(alpha) for loss mixing (eta = Dirichlet eta).  bounded (alpha = inf in the table):',
           '# G ~ lead_coef * tau * exp(-Delta0/tau), lead_coef = sqrt(2/pi) (J delta - delta^2) for output, sqrt(2/pi) J delta for loss mixing.',
           '# Exact: G = (J delta - delta^2) E q + delta^2 E q^2 (output), J delta E q (loss), q = 1/(1 + e^{|s|/tau}); J = 0 gives G = 0 for loss mixing, not listed.',
           '# L0 = ((f_1 - m_plus)^2 + (f_2 - m_minus)^2)/2.  Rows with |G| < 1e-300 (bounded, small tau) are left out.',
           '# method: Gauss-Legendre (40 nodes a panel) in |x| on panels graded around 0 at scale tau^{1/p}, mpmath with 45 digits; digits: against 52 nodes, panels scaled by 0.7; capped at 30.']
    rows = []
    for name, fam in fams:
        kind = fam['kind']
        if kind == 'power':
            p = mp.mpf(fam['p'])
            al, C = 1 / p, mp.sqrt(2 / mp.pi)
        elif kind == 'rayleigh':
            al, C = mp.mpf(2), mp.mpf(1) / 2
        else:
            al, C = mp.inf, mp.sqrt(2 / mp.pi)
        for tau in TAUS:
            if kind == 'bounded' and fam['Delta0'] / tau > 680:
                continue
            e1, e2 = alpha_gap(fam, tau, 40, 1)
            h1, h2 = alpha_gap(fam, tau, 52, mp.mpf('0.7'))
            for f1, f2, mplus, mminus in targets:
                de = mp.mpf(f1) - mp.mpf(f2)
                Jd = (mp.mpf(mplus) - mp.mpf(mminus)) * de
                L0 = ((mp.mpf(f1) - mp.mpf(mplus)) ** 2 + (mp.mpf(f2) - mp.mpf(mminus)) ** 2) / 2
                for mix in ('output', 'loss'):
                    if mix == 'loss' and Jd == 0:
                        continue
                    G = (Jd - de * de) * e1 + de * de * e2 if mix == 'output' else Jd * e1
                    H = (Jd - de * de) * h1 + de * de * h2 if mix == 'output' else Jd * h1
                    if abs(G) < mp.mpf(10) ** -300:
                        continue
                    if al == mp.inf:
                        lead = C * (Jd - de * de if mix == 'output' else Jd)
                    else:
                        lead = C * mp.gamma(al + 1) * (Jd * mp.altzeta(al) - (de * de * mp.altzeta(al - 1) if mix == 'output' else 0))
                    rows.append((name, kind, repr(float(fam.get('p', 1))), repr(float(fam.get('Delta0', 0))), 'inf' if al == mp.inf else fmt(al), fmt(C),
                                 repr(f1), repr(f2), repr(mplus), repr(mminus), mix, repr(tau), fmt(L0), fmt(L0 + G), fmt(G), fmt(lead), agree(G, H, 30)))
    write(path, com, ('case', 'family', 'p', 'Delta0', 'alpha', 'C', 'f1', 'f2', 'm_plus', 'm_minus', 'mixing', 'tau', 'L0', 'Ltau', 'G', 'lead_coef', 'digits'), rows)


ALPHA_FAMILIES = [('p5', dict(kind='power', p=5.0)), ('p3', dict(kind='power', p=3.0)), ('p2', dict(kind='power', p=2.0)),
                  ('p1', dict(kind='power', p=1.0)), ('a2', dict(kind='rayleigh')), ('bounded', dict(kind='bounded', Delta0=0.5))]
ALPHA_TARGETS = [(1.0, -1.0, 0.2, 0.2), (1.0, -1.0, 0.9, -0.5), (1.0, -1.0, 1.0, -1.0)]


# ---------------------------------------------------------------- 3. boundary mass in the plane

class Plane:
    """K affine logits in d = 2, whitened.  On {a_i - a_j = s}: z = t e + xi n with t = (s - c)/N, xi ~ N(0,1) free."""

    def __init__(self, c, one):
        self.one, self.K = one, len(c['W'])
        self.mu = [one * v for v in c['mu']]
        self.L = cholesky(c['Sigma'], one)
        base, cols = Affine(c['W'], c['b']).at(self.mu, self.L, one)
        self.a0, self.a1, self.a2 = base, cols[0], cols[1]      # a_k = a0 + a1 z1 + a2 z2

    def pair(self, i, j):
        """N, c, e, n of the pair and, for every l, (alpha, beta, gamma): a_l - a_j = alpha + beta s + gamma xi."""
        D = [self.a1[i] - self.a1[j], self.a2[i] - self.a2[j]]
        c = self.a0[i] - self.a0[j]
        N = sqrt_(D[0] * D[0] + D[1] * D[1])
        e = [D[0] / N, D[1] / N]
        n = [-e[1], e[0]]
        lin = []
        for l in range(self.K):
            B = [self.a1[l] - self.a1[j], self.a2[l] - self.a2[j]]
            be = (B[0] * e[0] + B[1] * e[1]) / N
            lin.append((self.a0[l] - self.a0[j] - be * c, be, B[0] * n[0] + B[1] * n[1]))
        return N, c, e, n, lin


def gap_density(P, p, q, v):
    """Density at v of a_(p) - a_(q) (ranks from 1): sum over ordered pairs (i at rank p, j at rank q) of
    phi(t)/N times the normal measure of the xi where p-1 logits lie above a_i and q-p-1 between.  Closed form."""
    tot = mp.mpf(0)
    for i, j in itertools.permutations(range(P.K), 2):
        N, c, _, _, lin = P.pair(i, j)
        cuts = set()
        for l in range(P.K):
            if l not in (i, j):
                al, be, ga = lin[l]
                cuts |= {-(al + be * v) / ga, -(al + be * v - v) / ga}
        cuts = [-mp.inf] + sorted(cuts) + [mp.inf]
        mass = mp.mpf(0)
        for lo, hi in zip(cuts[:-1], cuts[1:]):
            if lo == -mp.inf:
                mid = hi - 1
            elif hi == mp.inf:
                mid = lo + 1
            else:
                mid = (lo + hi) / 2
            vals = [lin[l][0] + lin[l][1] * v + lin[l][2] * mid for l in range(P.K) if l not in (i, j)]
            if sum(x > v for x in vals) == p - 1 and sum(0 < x <= v for x in vals) == q - p - 1:
                mass += moments(lo, hi)[0]
        tot += mp.npdf((v - c) / N) / N * mass
    return tot


def density_breaks(P):
    """Every v > 0 at which two cuts of some pair meet: between them the densities above are analytic."""
    out = set()
    for i, j in itertools.permutations(range(P.K), 2):
        lin = P.pair(i, j)[4]
        lines = [(-(al + 0) / ga, -(be - s) / ga) for l, (al, be, ga) in enumerate(lin) if l not in (i, j) for s in (0, 1)]
        for (u0, u1), (w0, w1) in itertools.combinations(lines, 2):
            if u1 != w1:
                v = (w0 - u0) / (u1 - w1)
                if v > mp.mpf(10) ** -30:
                    out.add(v)
    return out


def cumulative(P, p, q, grid, n, width):
    """int_0^w of the density for every w of the grid: no cancellation at small w."""
    brk = density_breaks(P)
    tot, lo, out = mp.mpf(0), mp.mpf(0), []
    for w in grid:
        hi = mp.mpf(w)
        edges = panels([lo, hi] + [b for b in brk if lo < b < hi], width)
        tot += quad(lambda v: gap_density(P, p, q, v), edges, n)[0]
        out.append(tot)
        lo = hi
    return out


def C2(P):
    """BM_2(w) = P(a_(1) - a_(3) <= w) ~ C_2 w^2: C_2 = 3 sum over the active triple points of p / |det(grad(a_i-a_j), grad(a_i-a_l))|,
    since {u in R^2: max(0,u1,u2) - min(0,u1,u2) <= w} is a hexagon of area 3 w^2."""
    tot = mp.mpf(0)
    for i, j, l in itertools.combinations(range(P.K), 3):
        g = [[P.a1[i] - P.a1[m], P.a2[i] - P.a2[m], P.a0[i] - P.a0[m]] for m in (j, l)]
        det = g[0][0] * g[1][1] - g[0][1] * g[1][0]
        z1 = (-g[0][2] * g[1][1] + g[0][1] * g[1][2]) / det
        z2 = (-g[0][0] * g[1][2] + g[0][2] * g[1][0]) / det
        a = [P.a0[m] + P.a1[m] * z1 + P.a2[m] * z2 for m in range(P.K)]
        if all(a[m] < a[i] for m in range(P.K) if m not in (i, j, l)):
            tot += 3 * mp.npdf(z1) * mp.npdf(z2) / abs(det)
    return tot


def make_boundary(path, cases):
    com = ['# Boundary mass of affine routers in d = 2, X ~ N(mu, Sigma), a = W x + b (docs/theory.md).  Column quantity:',
           '#   BM         P(a_(1) - a_(2) <= w)                     BM_2      P(a_(1) - a_(3) <= w)',
           '#   TOPK2      P(a_(2) - a_(3) <= w), the top-k gap, k = 2    PAIRWISE  sum_{i<j} P(|a_i - a_j| <= w) >= BM',
           '#   and, with w = 0:  SLOPE_BM = 2 S[1] over the active facets;  SLOPE_TOPK2 = 2 S[1] over the facets of the top-2 gap;',
           '#   SLOPE_PAIRWISE = 2 sum_{i<j} int_{a_i=a_j} p/|grad(a_i - a_j)|;  C2 = lim BM_2(w)/w^2 = 3 sum over active triple points p/|det|.',
           '# method: the density of each gap at v is a closed form (normal pdf across, normal cdf differences along the lines a_i - a_j = v); it is integrated from 0 to w by',
           '#   Gauss-Legendre (36 nodes a panel, at most 1/4 wide, split where a facet appears or ends), mpmath with 45 digits: full relative accuracy at every w.',
           '#   digits: against 44 nodes on panels at most 0.17 wide; capped at 30.  Closed forms: 30.',
           '# parameters:  #@ case name rows cols values (row-major; each value is the double nearest to the decimal)']
    rows = []
    for name, c in cases:
        com += ['# case %s: %s' % (name, c['what'])] + [param(name, k, c[k]) for k in ('mu', 'Sigma', 'W', 'b')]
        P = Plane(c, mp.mpf(1))
        K = P.K
        pairs = [P.pair(i, j)[:2] for i, j in itertools.combinations(range(K), 2)]
        for quantity, p, q in (('BM', 1, 2), ('BM_2', 1, 3), ('TOPK2', 2, 3)):
            A = cumulative(P, p, q, WGRID, 36, mp.mpf(1) / 4)
            B = cumulative(P, p, q, WGRID, 44, mp.mpf('0.17'))
            rows += [(name, K, quantity, repr(w), fmt(a), agree(a, b, 30)) for w, a, b in zip(WGRID, A, B)]
            if quantity != 'BM_2':
                rows.append((name, K, 'SLOPE_' + quantity, 0, fmt(gap_density(P, p, q, mp.mpf(0))), 30))
        for w in WGRID:
            v = sum(moments((-w - c_) / N, (w - c_) / N)[0] for N, c_ in pairs)
            rows.append((name, K, 'PAIRWISE', repr(w), fmt(v), 30))
        rows.append((name, K, 'SLOPE_PAIRWISE', 0, fmt(sum(2 * mp.npdf(c_ / N) / N for N, c_ in pairs)), 30))
        rows.append((name, K, 'C2', 0, fmt(C2(P)), 30))
        write(path, com, ('case', 'K', 'quantity', 'w', 'value', 'digits'), rows)


ROUTER3 = dict(mu=[0.0, 0.0], Sigma=[[1.0, 0.0], [0.0, 1.0]], W=[[1.0, 0.2], [-0.6, 0.9], [-0.3, -1.1]], b=[0.1, -0.2, 0.05])
ROUTER5 = dict(mu=[0.2, -0.1], Sigma=[[1.1, 0.3], [0.3, 0.7]], W=[[1.2, 0.1], [0.35, 1.05], [-0.95, 0.6], [-0.7, -0.85], [0.4, -1.15]],
               b=[0.05, -0.15, 0.2, 0.1, -0.25])


def boundary_cases():
    return [('K3', dict(ROUTER3, what='three experts, standard normal input')),
            ('K5', dict(ROUTER5, what='five experts, correlated input with a mean'))]


# ---------------------------------------------------------------- 4. more than two experts in the plane

class Region:
    """The cell of (S, i, j): S the top-k set, i its lowest member, j the best outsider.  Coordinates s = a_i - a_j >= 0 and xi along the facet.
    Constraints: A_p = a_p - a_i >= 0 (p in S), B_q = a_j - a_q >= 0 (q outside), all written alpha + beta s + gamma xi, so that every gate
    exponent is a sum of non-negative terms that are exact near the facet and near its ends."""

    def __init__(self, P, S, i, j):
        self.S, self.i, self.j = S, i, j
        self.N, self.c, self.e, self.n, lin = P.pair(i, j)
        self.con = {}
        for l in range(P.K):
            al, be, ga = lin[l]
            if l in S and l != i:
                self.con[l] = (al, be - 1, ga)
            elif l not in S and l != j:
                self.con[l] = (-al, -be, -ga)

    def bounds(self, s):
        """(lo, index, hi, index) of the admissible xi at this s; an index None means unbounded."""
        lo, hi, il, ih = LD(-12), LD(12), None, None
        for l, (al, be, ga) in self.con.items():
            x = -(al + be * s) / ga
            if ga > 0 and x > lo:
                lo, il = x, l
            if ga < 0 and x < hi:
                hi, ih = x, l
        return lo, il, hi, ih

    def breaks(self, top):
        """s in (0, top) at which two constraints meet (the interval changes its ends or closes)."""
        out = []
        for (a, b, g), (a2, b2, g2) in itertools.combinations(self.con.values(), 2):
            den = b / g - b2 / g2
            if den != 0:
                s = -(a / g - a2 / g2) / den
                if 0 < s < top:
                    out.append(s)
        return out

    def strip(self, s, scale, width, nodes):
        """Nodes xi, weights and the constraint values at them.  Measured from the nearer end, so the binding constraint is exact."""
        lo, il, hi, ih = self.bounds(s)
        if hi <= lo:
            return None
        gx, gw = nodes
        half = (hi - lo) / 2
        xs, ws, vals = [], [], {l: [] for l in self.con}
        for end, idx, sign in ((lo, il, 1), (hi, ih, -1)):
            edges = [LD(0), half] if idx is None else layer_edges(LD(scale), half, LD(64)) + [half]
            edges = np.array(panels(edges, width), dtype=LD)
            h, c = (edges[1:] - edges[:-1]) / 2, (edges[1:] + edges[:-1]) / 2
            off = (c[:, None] + h[:, None] * gx).ravel()
            ws.append((h[:, None] * gw).ravel())
            xs.append(end + sign * off)
            for l, (al, be, ga) in self.con.items():
                vals[l].append(abs(ga) * off if l == idx else np.maximum(al + be * s + ga * xs[-1], 0))
        return np.concatenate(xs), np.concatenate(ws), {l: np.concatenate(v) for l, v in vals.items()}


def panels_ld(edges, width):
    return [LD(e) for e in panels(edges, width)]


class PlaneModel:
    """SOFTMAX (k = 1) or SUBSET (k > 1) gates on K affine experts in d = 2."""

    def __init__(self, c):
        self.P = Plane(c, LD(1))
        self.k, K = c['k'], self.P.K
        co = lambda F: F.at(self.P.mu, self.P.L, LD(1))
        self.f = [co(F) for F in c['experts']]
        self.m = [co(F) for F in c['m']] if isinstance(c['m'], list) else co(c['m'])
        self.regions = []
        for S in itertools.combinations(range(K), self.k):
            for i in S:
                for j in set(range(K)) - set(S):
                    self.regions.append(Region(self.P, S, i, j))

    def values(self, F, z1, z2):
        base, cols = F
        return [base[r] + cols[0][r] * z1 + cols[1][r] * z2 for r in range(len(base))]

    def target(self, R, z1, z2, cell=None):
        """m(x); a list of maps means: m = m_i in the cell of expert i (k = 1), the teacher sharing the router's partition."""
        F = self.m[R.i if cell is None else cell] if isinstance(self.m, list) else self.m
        return self.values(F, z1, z2)

    def integrand(self, R, s, xi, con, tau):
        """(output, loss) gap densities at (s, xi), without cancellation."""
        t = (s - R.c) / R.N
        z1, z2 = t * R.e[0] + xi * R.n[0], t * R.e[1] + xi * R.n[1]
        K, k, S = self.P.K, self.k, R.S
        out = [q for q in range(K) if q not in S]
        f = [self.values(F, z1, z2) for F in self.f]
        m = self.target(R, z1, z2)
        M = len(m)
        up = {p: con[p] if p != R.i else 0 * xi for p in S}
        dn = {q: con[q] if q != R.j else 0 * xi for q in out}
        Z, e, lo = 1 + 0 * xi, [0 * xi for _ in range(M)], 0 * xi
        for r in range(1, min(k, len(out)) + 1):
            for Pm in itertools.combinations(S, r):
                for Q in itertools.combinations(out, r):
                    E = np.exp(-(sum(up[p] for p in Pm) + sum(dn[q] for q in Q) + r * s) / tau)
                    Z = Z + E
                    for c in range(M):
                        fq, fp = [f[q][c] for q in Q], [f[p][c] for p in Pm]
                        e[c] = e[c] + E * (sum(fq) - sum(fp)) / k
                        # sum over Q of |f_q - m|^2 minus sum over P, as (f_q - f_p)(f_q + f_p - 2m)
                        lo = lo + E * sum((a - b) * (a + b - 2 * m[c]) for a, b in zip(fq, fp)) / k
        fS = [sum(f[p][c] for p in S) / k for c in range(M)]
        ou = sum((e[c] / Z) * (2 * (fS[c] - m[c]) + e[c] / Z) for c in range(M))
        w = np.exp(-(t * t + xi * xi) / 2) / (2 * LD(np.pi_ld)) / R.N
        return ou * w, lo / Z * w

    def gap(self, tau, n, first, width):
        tau, nodes = LD(tau), gauss_ld(n)
        tot = np.zeros(2, dtype=LD)
        for R in self.regions:
            gmax = max([abs(g) for _, _, g in R.con.values()])
            top = R.c + 12 * R.N
            if top <= 0:
                continue
            edges = layer_edges(tau, top, LD(64), LD(first))
            edges = panels_ld(edges + R.breaks(edges[-1]), LD(width) * R.N)
            for lo, hi in zip(edges[:-1], edges[1:]):
                for gx, gw in zip(*nodes):
                    s = (lo + hi) / 2 + (hi - lo) / 2 * gx
                    st = R.strip(s, tau / gmax * LD(first), LD(width), nodes)
                    if st is not None:
                        a, b = self.integrand(R, s, st[0], st[2], tau)
                        tot += (hi - lo) / 2 * gw * np.array([(a * st[1]).sum(), (b * st[1]).sum()])
        return tot

    def L0(self, n, width):
        nodes, tot = gauss_ld(n), np.zeros(2, dtype=LD)
        for R in self.regions:
            top = R.c + 12 * R.N
            if top <= 0:
                continue
            edges = panels_ld([LD(0), top] + R.breaks(top), LD(width) * R.N)
            for lo, hi in zip(edges[:-1], edges[1:]):
                for gx, gw in zip(*nodes):
                    s = (lo + hi) / 2 + (hi - lo) / 2 * gx
                    st = R.strip(s, LD(1), LD(width), nodes)
                    if st is None:
                        continue
                    xi, t = st[0], (s - R.c) / R.N
                    z1, z2 = t * R.e[0] + xi * R.n[0], t * R.e[1] + xi * R.n[1]
                    m = self.target(R, z1, z2)
                    f = [self.values(self.f[p], z1, z2) for p in R.S]
                    ou = sum((sum(g[c] for g in f) / self.k - m[c]) ** 2 for c in range(len(m)))
                    ls = sum(sum((g[c] - m[c]) ** 2 for g in f) for c in range(len(m))) / self.k
                    w = st[1] * np.exp(-(t * t + xi * xi) / 2) / (2 * LD(np.pi_ld)) / R.N
                    tot += (hi - lo) / 2 * gw * np.array([(ou * w).sum(), (ls * w).sum()])
        return tot

    def leading(self, n, width):
        """(S[J.delta]/k, S[|delta|^2]/k^2, slope of P(Delta_k <= w)) over the facets of the top-k gap."""
        nodes, tot = gauss_ld(n), np.zeros(3, dtype=LD)
        for R in self.regions:
            if R.i > R.j:
                continue
            st = R.strip(LD(0), LD(1), LD(width), nodes)
            if st is None:
                continue
            xi, t = st[0], -R.c / R.N
            z1, z2 = t * R.e[0] + xi * R.n[0], t * R.e[1] + xi * R.n[1]
            d = [a - b for a, b in zip(self.values(self.f[R.i], z1, z2), self.values(self.f[R.j], z1, z2))]
            J = [a - b for a, b in zip(self.target(R, z1, z2, R.i), self.target(R, z1, z2, R.j))]
            w = st[1] * np.exp(-(t * t + xi * xi) / 2) / (2 * LD(np.pi_ld)) / R.N
            tot += np.array([(sum(a * b for a, b in zip(J, d)) * w).sum() / self.k, (sum(a * a for a in d) * w).sum() / self.k ** 2, 2 * w.sum()])
        return tot


np.pi_ld = LD('3.14159265358979323846264338327950288')


def make_k3(path, cases):
    com = ['# Gap G(tau) = L_tau - L_0 for affine routers with more than two experts in d = 2, X ~ N(mu, Sigma), a = W x + b (docs/theory.md).',
           '# k = 1: SOFTMAX gates.  k > 1: SUBSET gates g_i = P(i in S)/k; hard model = mean of the k top experts; L0 for output mixing E|m - mean|^2, for loss mixing E mean|m - f_i|^2.',
           '# experts f_i(x) = fi_A x + fi_c.  m(x) = m_A x + m_c, or, with lines m1_A, m2_A, ...: m = mi_A x + mi_c in the argmax cell of expert i (teacher on the router\'s own partition).',
           '# G ~ lead_coef tau^lead_power.  output: 2 ln2 S[J.delta]/k - S[|delta|^2]/k^2 over the facets of the top-k gap, power 1.  loss: 2 ln2 S[J.delta]/k at power 1;',
           '#   where J = 0 the loss gap is O(tau^2) with no closed form here: lead_power 2 and lead_coef nan.',
           '# method: the plane is cut into the cells (top-k set S, its lowest member i, best outsider j); in coordinates s = a_i - a_j and xi along the facet all gate exponents are',
           '#   sums of non-negative linear terms, exact near facets and near triple points; composite Gauss-Legendre (20 nodes) graded at scale tau towards s = 0 and towards both ends of the facet,',
           '#   80-bit long double.  digits: against 24 nodes on panels scaled by 0.7; capped at 17.  Loss-mixing gaps with J = 0 cancel between the two sides of a facet: fewer digits, as listed.',
           '# parameters:  #@ case name rows cols values (row-major; each value is the double nearest to the decimal)']
    rows = []
    ln2 = np.log(LD(2))
    for name, c in cases:
        com += ['# case %s: %s' % (name, c['what'])] + [param(name, q, c[q]) for q in ('mu', 'Sigma', 'W', 'b')] + [param(name, 'k', [c['k']])]
        for i, F in enumerate(c['experts']):
            com += F.params(name, 'f%d' % (i + 1))
        for i, F in enumerate(c['m'] if isinstance(c['m'], list) else [c['m']]):
            com += F.params(name, 'm%d' % (i + 1) if isinstance(c['m'], list) else 'm')
        M = PlaneModel(c)
        L0, L0b = M.L0(20, 0.6), M.L0(24, 0.45)
        SJ, SB, _ = M.leading(20, 0.6)
        for tau in TAUS:
            G, H = M.gap(tau, 20, 1, 0.6), M.gap(tau, 24, 0.7, 0.45)
            for i, mix in enumerate(('output', 'loss')):
                if mix == 'output':
                    power, lead = 1, fmt(2 * ln2 * SJ - SB)
                else:
                    power, lead = (1, fmt(2 * ln2 * SJ)) if isinstance(c['m'], list) else (2, 'nan')
                dig = min(agree(L0[i], L0b[i], 17) if L0[i] else 17, agree(G[i], H[i], 17))
                rows.append((name, M.P.K, M.k, mix, repr(tau), fmt(L0[i]), fmt(L0[i] + G[i]), fmt(G[i]), power, lead, dig))
        write(path, com, ('case', 'K', 'k', 'mixing', 'tau', 'L0', 'Ltau', 'G', 'lead_power', 'lead_coef', 'digits'), rows)


def k3_cases():
    const = lambda *v: [Affine([[0.0, 0.0]], [x]) for x in v]
    m = Affine([[0.5, -0.2]], [0.3])
    aff = [Affine([[0.4, -0.1]], [1.0]), Affine([[-0.3, 0.2]], [-0.5]), Affine([[0.1, 0.5]], [2.0])]
    tea = [Affine([[0.6, 0.1]], [0.7]), Affine([[-0.2, -0.4]], [-0.9]), Affine([[0.3, 0.25]], [1.2])]
    return [('K3_const', dict(ROUTER3, k=1, experts=const(1.0, -0.5, 2.0), m=m, what='K = 3, constant experts, affine m (J = 0)')),
            ('K3_affine', dict(ROUTER3, k=1, experts=aff, m=m, what='K = 3, affine experts, affine m (J = 0)')),
            ('K3_teacher', dict(ROUTER3, k=1, experts=aff, m=tea, what='K = 3, affine experts, teacher on the same partition with other experts')),
            ('K3_own', dict(ROUTER3, k=1, experts=aff, m=aff, what='K = 3, m = the hard model itself (J = delta, L_0 = 0)')),
            ('K5_subset', dict(ROUTER5, k=2, experts=const(1.0, -0.5, 2.0, 0.3, -1.2), m=m, what='K = 5, SUBSET k = 2, constant experts, affine m (J = 0)'))]


def main(out, binary, alpha, boundary, k3, only=()):
    run = lambda n: not only or n in only
    if run('boundary'):
        make_boundary(os.path.join(out, 'boundary_k3.csv'), boundary)
    if run('binary'):
        make_binary(os.path.join(out, 'gap_binary_affine.csv'), binary)
    if run('alpha'):
        make_alpha(os.path.join(out, 'gap_alpha.csv'), *alpha)
    if run('k3'):
        make_k3(os.path.join(out, 'gap_k3.csv'), k3)


if __name__ == '__main__':
    ap = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    ap.add_argument('--out', default=os.path.dirname(os.path.abspath(__file__)))
    ap.add_argument('--only', nargs='*', default=())
    a = ap.parse_args()
    main(a.out, binary_cases(), (ALPHA_FAMILIES, ALPHA_TARGETS), boundary_cases(), k3_cases(), a.only)
