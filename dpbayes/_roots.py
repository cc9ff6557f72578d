"""The root of a monotone function, without `scipy.optimize`.

That package takes as long to import as the rest of this one.
"""

from __future__ import annotations

from collections.abc import Callable


def root(
    f: Callable[[float], float],
    low: float,
    high: float,
    *,
    xtol: float = 1e-12,
    rtol: float = 4e-16,
) -> float:
    """Return where f changes sign between `low` and `high`, to xtol + rtol |root|.

    Chandrupatla's method: inverse quadratic interpolation where it is safe, bisection
    elsewhere (Advances in Engineering Software 28 (1997) 145). Raises ValueError where
    the ends have the same sign.

    >>> root(lambda x: x * x - 2.0, 0.0, 2.0)
    1.4142135623730954
    """
    a, b, fa, fb = high, low, f(high), f(low)
    if fa == 0.0 or fb == 0.0:
        return a if fa == 0.0 else b
    if (fa > 0.0) == (fb > 0.0):
        raise ValueError(f"f must change sign from {low} to {high}, got {fb}, {fa}")
    t = 0.5
    while True:
        x = a + t * (b - a)
        fx = f(x)
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        best, least = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        near = (rtol * abs(best) + 0.5 * xtol) / abs(b - a)
        if near >= 0.5 or least == 0.0:
            return best
        t = _step(a, b, c, fa, fb, fc)
        t = min(1.0 - near, max(near, t))


def _step(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """Return the next point as a share of the way from a to b."""
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if phi**2 < xi and (1.0 - phi) ** 2 < 1.0 - xi:
        here = fa / (fb - fa) * fc / (fb - fc)
        return here + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return 0.5
