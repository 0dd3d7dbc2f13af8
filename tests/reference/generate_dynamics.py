"""Reference values for symmetry breaking, docs/theory.md: writes symmetry.csv beside this file.

    OMP_NUM_THREADS=1 python3 generate_dynamics.py          (under a minute; deterministic)

Everything is computed in mpmath with 45 digits and printed with PRINT. numpy is used only for independent double-precision self-checks,
which stop the run when they fail.

    Model  f_+- = fbar +- h,  h(x) = c.psi(x),  output fbar + tanh(u.x/2tau) h,  output mixing, E|.|^2 without a factor 1/2.
    Teacher Y = t(v.x) (beta.x + mu0),  |v| = 1 (or v'Sigma v != 1 with a covariance: t depends on v.x as written),
    t = sign (hard) or t(s) = tanh(s/(2 taus)) (soft);  X ~ N(0, Sigma).  M = E[X (r psi)'],  r = E[Y|X] - fbar.
"""
import os

import numpy as np
from mpmath import mp, mpf

mp.dps = 45
PRINT = 25
HERE = os.path.dirname(os.path.abspath(__file__))
R2P = mp.sqrt(2 / mp.pi)


def num(x):
    """A number as text: PRINT significant digits, exact zeros as 0."""
    return 'nan' if x is None else '0' if x == 0 else mp.nstr(mpf(x), PRINT, strip_zeros=False, min_fixed=-5, max_fixed=8)


# ---------------------------------------------------------------- one-dimensional quadrature

def _gauss_legendre(n):
    """Nodes and weights on [-1, 1], by Newton's method from the Chebyshev guess."""
    out = []
    for i in range(1, n + 1):
        x = mp.cos(mp.pi * (i - mpf(1) / 4) / (n + mpf(1) / 2))
        for _ in range(12):
            p0, p1 = mpf(1), x
            for k in range(2, n + 1):
                p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
            dp = n * (x * p1 - p0) / (x * x - 1)
            step = p1 / dp
            x -= step
            if abs(step) < mpf(10) ** (-mp.dps // 2 - 3):      # quadratic convergence: the next error is below 10^-dps
                break
        out.append((x, 2 / ((1 - x * x) * dp * dp)))
    return out


_GL = _gauss_legendre(40)
_CUT = mpf(110)         # 2/(1 + e^y) < 4e-48 beyond


def layer(f, tau, scales=(), split=1):
    """int_0^inf 2/(1 + exp(z/tau)) f(z) sqrt(2/pi) exp(-z^2/2) dz  =  E[(1 - tanh(|z|/2tau)) f(|z|)],  z ~ N(0, 1).

    Composite 40-point Gauss-Legendre in y = z/tau; `scales` are further lengths in z at which f varies. `split` refines every panel."""
    top = min(_CUT, 15 / tau)
    edges = {mpf(0), top}
    y = mpf(1)
    while y < top:
        edges.add(y)
        y *= mpf(3) / 2
    for s in (1, *scales):                                  # 1: the Gaussian factor
        for k in range(-3, 5):
            if 0 < mpf(2) ** k * s / tau < top:
                edges.add(mpf(2) ** k * s / tau)
    edges = sorted(edges)
    total = mpf(0)
    for a, b in zip(edges, edges[1:]):
        for i in range(split):
            lo, hi = a + (b - a) * i / split, a + (b - a) * (i + 1) / split
            c, h = (lo + hi) / 2, (hi - lo) / 2
            for x, w in _GL:
                y = c + h * x
                z = tau * y
                total += h * w * f(z) * mp.exp(-z * z / 2) / (1 + mp.exp(y))
    return 2 * R2P * tau * total


def abs_moment(n):
    """E|z|^n."""
    return mpf(2) ** (mpf(n) / 2) * mp.gamma(mpf(n + 1) / 2) / mp.sqrt(mp.pi)


def kappa(n, tau, split=1):
    """E[z^n tanh(z/2tau)], n odd.  tau = 0: E|z|^n."""
    if tau == 0:
        return abs_moment(n)
    return abs_moment(n) - layer(lambda z: z ** n, tau, split=split)


# ---------------------------------------------------------------- symmetry: M

def vec(*a):
    return mp.matrix([mpf(x) for x in a])


def outer(a, b):
    return a * b.T


def operator_m(v, beta, mu0, taus, fbar, contrast, sigma):
    """M of one scalar teacher.  fbar: 'zero', 'constant', 'linear' (no intercept) or 'affine': the class of the symmetric expert, least squares in it.
    contrast: 'constant' psi = (1), 'linear' psi = x, 'affine' psi = (1, x).  sigma: None or the covariance."""
    d = len(v)
    s = sigma if sigma is not None else mp.eye(d)
    L = mp.cholesky(s)
    vz, bz = L.T * v, L.T * beta                        # whitened: v.x = vz.z
    nv = mp.sqrt((vz.T * vz)[0])
    e = vz / nv
    k1, k3 = kappa(1, taus / nv), kappa(3, taus / nv)   # t(nv s) = tanh(s/(2 taus/nv))
    bv = (bz.T * e)[0]
    bp = bz - bv * e
    intercept = k1 * bv if fbar in ('constant', 'affine') else mpf(0)
    slope = mpf(0) if fbar in ('constant', 'zero') else mu0 * k1
    lin = k3 * bv * outer(e, e) + k1 * bv * (mp.eye(d) - outer(e, e)) + k1 * (outer(e, bp) + outer(bp, e)) - intercept * mp.eye(d)
    col = (mu0 * k1 - slope) * e
    lin, col = L * lin * L.T, L * col
    if contrast == 'linear':
        return lin
    if contrast == 'constant':
        return col
    m = mp.matrix(d, d + 1)
    for i in range(d):
        m[i, 0] = col[i]
        for j in range(d):
            m[i, j + 1] = lin[i, j]
    return m


def check_m(m, case):
    """Independent route: direct d-dimensional tensor Gauss quadrature in double precision, half-range Gauss-Legendre along v."""
    d = case['d']
    v = np.array([float(x) for x in case['v']])
    s = np.array(case['sigma'].tolist(), float) if case.get('sigma') is not None else np.eye(d)
    L = np.linalg.cholesky(s)
    vz = L.T @ v
    q = np.linalg.qr(np.column_stack([vz, np.eye(d)]))[0][:, :d]
    if q[:, 0] @ vz < 0:
        q[:, 0] *= -1
    xs, ws = np.polynomial.legendre.leggauss(60)
    edges = np.concatenate([[0.], np.geomspace(1e-4, 9, 14)])
    z0 = np.concatenate([(b + a) / 2 + (b - a) / 2 * xs for a, b in zip(edges, edges[1:])])
    w0 = np.concatenate([(b - a) / 2 * ws for a, b in zip(edges, edges[1:])]) * np.exp(-z0 ** 2 / 2) / np.sqrt(2 * np.pi)
    z0, w0 = np.concatenate([-z0, z0]), np.concatenate([w0, w0])
    h, wh = np.polynomial.hermite_e.hermegauss(5)
    wh = wh / wh.sum()
    grids = np.meshgrid(z0, *([h] * (d - 1)), indexing='ij')
    wgt = np.meshgrid(w0, *([wh] * (d - 1)), indexing='ij')
    z = np.stack([g.ravel() for g in grids])
    w = np.prod([g.ravel() for g in wgt], axis=0)
    x = (L @ q @ z).T
    taus = float(case['taus'])
    t = np.sign(x @ v) if taus == 0 else np.tanh(x @ v / (2 * taus))
    feats = {'zero': [], 'constant': [np.ones(len(x))], 'linear': list(x.T), 'affine': [np.ones(len(x))] + list(x.T)}[case['fbar']]
    psi = {'constant': [np.ones(len(x))], 'linear': list(x.T), 'affine': [np.ones(len(x))] + list(x.T)}[case['contrast']]
    blocks = []
    for beta, mu0 in zip(case['beta'], case['mu0']):
        y = t * (x @ np.array([float(a) for a in beta]) + float(mu0))
        r = y
        if feats:
            F = np.array(feats)
            r = y - np.linalg.solve((F * w) @ F.T, (F * w) @ y) @ F
        blocks.append((x.T * (w * r)) @ np.array(psi).T)
    got = np.hstack(blocks)
    err = np.abs(got - np.array(m.tolist(), float)).max()
    assert err < 1e-12, (case['name'], err)
    return err


RATE_TAUS = ('1', '0.5', '0.3', '0.1', '0.03', '0.02', '0.01')


def symmetry_cases():
    half = ('0.1', '0.5', '-0.5', '0.7')                # unit vectors with exact decimal coordinates
    odd = ('0.3', '-0.1', '0.9', '0.3')
    b2, b4 = ('0.7', '-1.3'), ('0.5', '-1.25', '2.1', '0.35')
    s2 = mp.matrix([['1.7', '0.6'], ['0.6', '0.9']])
    s4 = mp.matrix([['1.4', '0.3', '-0.2', '0.1'], ['0.3', '0.8', '0.25', '0'], ['-0.2', '0.25', '1.1', '0.4'], ['0.1', '0', '0.4', '0.6']])
    par2, par4 = ('0.96', '1.28'), ('0.17', '0.85', '-0.85', '1.19')      # 1.6 v, 1.7 v
    perp4 = ('1.4', '-0.3', '0.3', '0.2')               # beta.v = -0.02: sigma_1 nearly sigma_0
    C = []

    def add(name, v, beta, mu0='0', taus='0', fbar='affine', contrast='linear', sigma=None):
        scalar = isinstance(beta[0], str)
        C.append(dict(name=name, d=len(v), v=v, beta=[beta] if scalar else list(beta), mu0=[mu0] if scalar else list(mu0), taus=taus,
                      fbar=fbar, contrast=contrast, sigma=sigma))
    for f in ('affine', 'linear'):                      # 'linear' = no intercept
        add('hard2_oblique_' + f, ('0.6', '0.8'), b2, fbar=f)
        add('hard2_parallel_' + f, ('0.6', '0.8'), par2, fbar=f)
        add('hard4_oblique_' + f, half, b4, fbar=f)
        add('hard4_parallel_' + f, half, par4, fbar=f)
        add('soft2_oblique_' + f, ('0.6', '0.8'), b2, taus='0.7', fbar=f)
        add('soft2_sharp_' + f, ('-0.28', '0.96'), b2, taus='0.05', fbar=f)
        add('soft4_oblique_' + f, odd, b4, taus='1.3', fbar=f)
        add('cov2_hard_' + f, ('0.6', '0.8'), b2, fbar=f, sigma=s2)
        add('cov4_hard_' + f, half, b4, fbar=f, sigma=s4)
    add('hard4_orthogonal', half, perp4)
    add('cov2_parallel', ('0.6', '0.8'), par2, sigma=s2)
    add('cov2_soft', ('0.6', '0.8'), b2, taus='0.7', sigma=s2)
    add('const2_hard', ('0.6', '0.8'), ('0', '0'), mu0='1.35', fbar='constant', contrast='constant')
    add('const4_hard', half, ('0',) * 4, mu0='-0.85', fbar='constant', contrast='constant')
    add('const2_soft', ('0.6', '0.8'), ('0', '0'), mu0='1.35', taus='0.4', fbar='constant', contrast='constant')
    add('const2_hard_affine', ('0.6', '0.8'), ('0', '0'), mu0='1.35', fbar='affine', contrast='constant')      # M = 0
    for f in ('zero', 'constant', 'linear', 'affine'):
        add('mixed2_hard_' + f, ('0.6', '0.8'), b2, mu0='0.9', fbar=f, contrast='affine')
    add('mixed4_soft_constant', odd, b4, mu0='0.9', taus='0.7', fbar='constant', contrast='affine')
    add('vector2_hard', ('0.6', '0.8'), (b2, ('0.4', '0.2')), mu0=('0', '0'))                                   # two outputs
    add('vector4_mixed', half, (b4, ('0', '0', '0', '0'), ('-0.3', '0.1', '0.6', '0')), mu0=('0', '1.1', '-0.4'), fbar='constant', contrast='affine')
    return C


DECAYS = (('1', '1', '1', '1'), ('0.8', '1.5', '0.3', '0.07'), ('2', '0.5', '0.05', '0.6'))      # eta_u, eta_c, lambda_u, lambda_c


def growth(sigma, tau, eu, ec, lu=mpf(0), lc=mpf(0)):
    """Largest eigenvalue of [[-lu, eu sigma/tau], [ec sigma/tau, -lc]]."""
    return -(lu + lc) / 2 + mp.sqrt(((lu - lc) / 2) ** 2 + eu * ec * sigma ** 2 / tau ** 2)


def feature_gram(case, p, outputs):
    """E[psi psi'], repeated once per output."""
    d = case['d']
    s = case['sigma'] if case['sigma'] is not None else mp.eye(d)
    psi = mp.eye(p)
    shift = {'constant': None, 'linear': 0, 'affine': 1}[case['contrast']]
    if shift is not None:
        for i in range(d):
            for j in range(d):
                psi[shift + i, shift + j] = s[i, j]
    out = mp.zeros(p * outputs)
    for o in range(outputs):
        for i in range(p):
            for j in range(p):
                out[o * p + i, o * p + j] = psi[i, j]
    return out


def growth_loss(M, psi, tau):
    """Largest eigenvalue of the symmetric matrix [[0, M/tau], [M'/tau, -2 psi]]."""
    d, p = M.rows, M.cols
    a = mp.zeros(d + p)
    for i in range(d):
        for j in range(p):
            a[i, d + j] = a[d + j, i] = M[i, j] / tau
    for i in range(p):
        for j in range(p):
            a[d + i, d + j] = -2 * psi[i, j]
    return max(mp.eigsy(a, eigvals_only=True))


SYMMETRY_HEAD = """\
# Operator M = E[X (r psi)'] of symmetry breaking, its singular values, growth rates and critical temperatures.
# Made by {gen}; mpmath, {dps} digits: closed forms with kappa_n = E[z^n tanh(z/2taus)] by composite 40-point Gauss-Legendre.
# Checked in the same run against direct d-dimensional Gauss quadrature in double precision: largest difference of an entry {err:.1e} (the double side's rounding).
# Digits: {pr} printed, all of them good: halving the quadrature panels changes kappa_n by {conv} (relative).
# Model: output fbar(x) + tanh(u.x/(2 tau)) c.psi(x), loss E|Y - output|^2 (no factor 1/2, output mixing), X ~ N(0, Sigma).
# Teacher: Y_o = t(v.x) (beta_o.x + mu0_o), o = 0..outputs-1; t = sign if taus = 0, else t(s) = tanh(s/(2 taus)).
# fbar: least squares in the class named: zero, constant, linear (no intercept), affine.  contrast: constant psi = (1); linear psi = x; affine psi = (1, x).
# Vector output: M = [M_0 | M_1 | ...], one d x p block per output, so the column of (output o, feature j) is o p + j.
# Columns: case,quantity,i,j,value ; unused indices are 0.
#  d, outputs, p (features), taus, fbar (0 zero, 1 constant, 2 linear, 3 affine), contrast (1 constant, 2 linear, 3 affine)
#  v(i), beta(i = output, j = coordinate), mu0(i = output), Sigma(i,j) (absent: identity)
#  M(i,j); sigma(i) singular values, decreasing; rank (number that are not zero)
#  u1(i), c1(j): top singular pair of M (present if sigma_0 > sigma_1 and sigma_0 > 0), sign: the entry of u1 with the largest modulus is positive
#  growth(i): growth rate sigma_0/tau at eta_u = eta_c = 1, no decay, tau = rate_tau(i)
#  growth_loss(i): the same for loss mixing, whose quadratic part also holds E|c.psi|^2: largest eigenvalue of [[0, M/tau], [M'/tau, -2 Psi]], Psi = E[psi psi'] per output
#  decay_eta_u(i), decay_eta_c(i), decay_lambda_u(i), decay_lambda_c(i): rates in  u' = (eta_u/tau) M c - lambda_u u,  c' = (eta_c/tau) M'u - lambda_c c
#    (decoupled decay of the contrast only; fbar is not decayed);  tau_c(i): temperature at which the growth rate is 0
#    decayed_growth(i,j): growth rate (largest eigenvalue) at tau = tau_c(i) times 0.5 (j=0), 0.9 (j=1), 2 (j=2)
"""


def write_symmetry(path, cases, gen, decays=DECAYS, rate_taus=RATE_TAUS):
    rows, worst, n = [], 0.0, 0
    conv = max(abs(kappa(k, t, 2) / kappa(k, t) - 1) for k in (1, 3) for t in map(mpf, ('0.05', '0.4', '0.7', '1.3')))
    for c in cases:
        def put(q, value, i=0, j=0):
            rows.append('%s,%s,%d,%d,%s' % (c['name'], q, i, j, value if isinstance(value, str) else num(value)))
        d, m_out = c['d'], len(c['beta'])
        v = vec(*c['v'])
        blocks = [operator_m(v, vec(*b), mpf(m), mpf(c['taus']), c['fbar'], c['contrast'], c['sigma']) for b, m in zip(c['beta'], c['mu0'])]
        p = blocks[0].cols
        M = mp.matrix(d, p * m_out)
        for o, b in enumerate(blocks):
            for i in range(d):
                for j in range(p):
                    M[i, o * p + j] = b[i, j] if abs(b[i, j]) > mpf(10) ** -38 else mpf(0)
        worst = max(worst, check_m(M, c))
        for q, value in (('d', d), ('outputs', m_out), ('p', p)):
            put(q, str(value))
        put('taus', c['taus'])
        put('fbar', str(('zero', 'constant', 'linear', 'affine').index(c['fbar'])))
        put('contrast', str((None, 'constant', 'linear', 'affine').index(c['contrast'])))
        for i in range(d):
            put('v', c['v'][i], i)
        for o in range(m_out):
            for i in range(d):
                put('beta', c['beta'][o][i], o, i)
            put('mu0', c['mu0'][o], o)
        if c['sigma'] is not None:
            for i in range(d):
                for j in range(d):
                    put('Sigma', mp.nstr(c['sigma'][i, j], 10), i, j)
        for i in range(d):
            for j in range(p * m_out):
                put('M', M[i, j], i, j)
        # singular values from the symmetric eigenproblem of the smaller Gram matrix at twice the precision
        mp.dps *= 2
        gram = M * M.T if d <= p * m_out else M.T * M
        ev, vecs = mp.eigsy(gram)
        order = sorted(range(gram.rows), key=lambda k: -ev[k])
        sig = [mp.sqrt(ev[k]) if ev[k] > mpf(10) ** -70 else mpf(0) for k in order]
        mp.dps //= 2
        for i, s in enumerate(sig):
            put('sigma', s, i)
        put('rank', str(sum(1 for s in sig if s > 0)))
        if sig[0] > 0:
            if len(sig) == 1 or sig[0] - sig[1] > mpf(10) ** -20:
                k = vecs[:, order[0]]
                u1 = k if gram.rows == d and d <= p * m_out else M * k / sig[0]
                big = max(range(d), key=lambda i: abs(u1[i]))
                u1 = u1 * mp.sign(u1[big])
                c1 = M.T * u1 / sig[0]
                for i in range(d):
                    put('u1', u1[i] if abs(u1[i]) > mpf(10) ** -35 else 0, i)
                for j in range(p * m_out):
                    put('c1', c1[j] if abs(c1[j]) > mpf(10) ** -35 else 0, j)
            for i, t in enumerate(rate_taus):
                put('rate_tau', t, i)
                put('growth', sig[0] / mpf(t), i)
                put('growth_loss', growth_loss(M, feature_gram(c, p, m_out), mpf(t)), i)
            for i, dec in enumerate(decays):
                for name, val in zip(('eta_u', 'eta_c', 'lambda_u', 'lambda_c'), dec):
                    put('decay_' + name, val, i)
                eu, ec, lu, lc = map(mpf, dec)
                tc = sig[0] * mp.sqrt(eu * ec / (lu * lc))
                put('tau_c', tc, i)
                for j, f in enumerate(('0.5', '0.9', '2')):
                    put('decayed_growth', growth(sig[0], tc * mpf(f), eu, ec, lu, lc), i, j)
    with open(path, 'w') as f:
        f.write(SYMMETRY_HEAD.format(gen=gen, dps=mp.dps, pr=PRINT, err=worst, conv=mp.nstr(conv, 2)))
        f.write('case,quantity,i,j,value\n' + '\n'.join(rows) + '\n')
    return len(rows), worst, conv


if __name__ == '__main__':
    print('symmetry.csv: %d rows, direct quadrature %.1e, refinement %s' % write_symmetry(os.path.join(HERE, 'symmetry.csv'), symmetry_cases(),
                                                                                         os.path.basename(__file__)))
