"""Tail and density of Z = sum v_i X_i, X_i standard Laplace, by an integral through the saddle.

With K(s) = -sum ln(1 - v_i^2 s^2), the logarithm of E exp(sZ),
P(Z > x) = (1/2 pi i) int exp(K(s) - sx) ds/s along any line that crosses the real axis between 0
and the first pole 1/max v. We bend the line into the hyperbola
s(u) = c + 0.4 d (cosh u - 1) + i d sinh u through the saddle c, where the integrand falls off so
fast that the trapezoid rule is exact to rounding. The density is the same integral without 1/s.
All lengths are measured in the gap g = 1 - c to the pole, which may be as small as floats go.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SMALLEST_RATIO = 1e-12
"""Weights below this share of the largest must not reach the contour (see `NoiseLaw`)."""

_STEP = 0.05
_BEND = 0.4
_REACH = 44.0
_TOO_FAR = 50.0
_DEEP = 3.0
_GROWTH = 1.15
_CANDIDATES: NDArray[np.float64] = 1.2 * np.power(_GROWTH, np.arange(40.0))
_SADDLE_TOLERANCE = 1e-8
_AT_ONCE = 1 << 20
_MANY = 64  # fewer weights are multiplied out
_PIECE = 256
_STRIDE = 8
_RADIUS = 0.25  # weights with r |z| below this enter through their power sums,
_ORDER = 28  # of which so many make an error of 0.25^29 each
_ORDERS = np.arange(1, _ORDER + 1)
_SIGNED: NDArray[np.float64] = (-1.0) ** (_ORDERS + 1) / _ORDERS


def saddle(v: NDArray[np.float64], x: float) -> tuple[float, float]:
    """Return the root c in (0, 1) of K'(s) = x + 1/s, and 1 - c; the largest of v is 1, x >= 0.

    K' - 1/s - x rises from minus to plus infinity, so Newton steps kept inside a bracket find it.
    The unknown is s below one half and the gap 1 - s above, so that neither loses its digits.
    """
    spread = float(v @ v)
    s = (x + math.sqrt(x * x + 8.0 * spread)) / (4.0 * spread) if x < 1e100 else 1.0
    gap = max(1.0 - s, 0.5 / (x + 2.0))
    s = s if s < 0.5 else 1.0 - gap
    low, widest = 0.0, 1.0  # the root lies above low, and its gap is below widest
    high, closest = 1.0, 0.0
    for _ in range(200):
        # a = v g / (1 - v s) lies in (0, 1]; K' and K'' are taken times g and g^2.
        a = v * gap / ((1.0 - v) + v * gap)
        b = a / (1.0 + v * s)
        value = 2.0 * s * float(v @ b) - gap * x - gap / s
        slope = 2.0 * float((b * b) @ (1.0 + (v * s) ** 2)) + (gap / s) ** 2
        if value > 0.0:
            high, closest = s, gap
        else:
            low, widest = s, gap
        step = value / slope * gap
        if abs(step) <= _SADDLE_TOLERANCE * min(s, gap):
            return s, gap
        if s < 0.5:
            s = s - step if low < s - step < high else 0.5 * (low + high)
            gap = 1.0 - s
        else:
            gap = gap + step if closest < gap + step < widest else 0.5 * (closest + widest)
            s = 1.0 - gap
    return s, gap


def log_tail_and_hazard(v: NDArray[np.float64], x: float) -> tuple[float, float]:
    """Return (ln P(Z > x), density(x) / P(Z > x)) for weights whose largest is 1 and x >= 0.

    Weights lie in [`SMALLEST_RATIO`, 1]. Raises ArithmeticError rather than return NaN.
    """
    c, gap = saddle(v, x)
    # 1 - v^2 s^2 = (1 - v^2 c^2)(1 - r (s^2 - c^2)): nothing cancels, however close c is to a pole.
    a = v * gap / ((1.0 - v) + v * gap)
    b = a / (1.0 + v * c)
    r = Factors(v * b)  # times the gap
    d = 1.0 / math.sqrt(2.0 * float((b * b) @ (1.0 + (v * c) ** 2)) + (gap / c) ** 2)
    u = np.arange(0.0, _reach(r, x, c, gap, d) + _STEP, _STEP)
    rise = _BEND * d * (np.cosh(u) - 1.0)
    across = d * np.sinh(u)
    shift = rise + 1j * across  # in gaps
    s = c + gap * shift
    slope = _BEND * across + 1j * d * np.cosh(u)
    terms = _integrand(r, -shift * (s + c), shift * (gap * x)) * slope
    terms[0] *= 0.5
    tail = _STEP / math.pi * float(np.sum((terms / s).imag))
    density = _STEP / math.pi * float(np.sum(terms.imag))
    if not (math.isfinite(tail) and math.isfinite(density) and tail > 0.0):
        raise ArithmeticError(f"the tail at x = {x!r} came out as {tail!r}, not a probability")
    log_scale = _cumulant(v, c, gap) - (c * x if c < 0.5 else x - gap * x)
    return log_scale + math.log(gap) + math.log(tail), density / tail


def _cumulant(v: NDArray[np.float64], c: float, gap: float) -> float:
    """Return K(c) = -sum ln(1 - v^2 c^2), by whichever form rounds least for each weight."""
    z = v * c
    small = z < 0.5
    near = np.log(((1.0 - v[~small]) + v[~small] * gap) * (1.0 + z[~small]))
    far = np.log1p(-(z[small] ** 2))
    # All terms have one sign, and long doubles lose nothing of a double in so many of them.
    return -float(np.sum(far, dtype=np.longdouble) + np.sum(near, dtype=np.longdouble))


class Factors:
    """The numbers r of a product prod(1 + r_i z): large ones apart, small ones as power sums.

    ln prod(1 + r_i z) = sum_j (-1)^(j+1) (sum_i r_i^j) z^j / j where all r_i |z| are small, so that
    of thousands of weights only the largest are multiplied out. Book: `thm-power-sums`.
    """

    def __init__(self, r: NDArray[np.float64]) -> None:
        self.r = np.sort(r)
        self._powers = np.empty((_ORDER, r.size if r.size > _MANY else 0))
        for j in range(_ORDER if self._powers.size else 0):
            np.multiply(self._powers[j - 1] if j else 1.0, self.r, out=self._powers[j])
        # Splits at several places share the sums of all whole pieces before them.
        whole = self._powers.shape[1] // _PIECE
        pieces = self._powers[:, : whole * _PIECE].reshape(_ORDER, whole, _PIECE).sum(axis=2)
        self._before = np.zeros((_ORDER, whole + 1))
        np.cumsum(pieces, axis=1, out=self._before[:, 1:])

    def split(
        self, z: NDArray[np.complex128]
    ) -> tuple[NDArray[np.float64], NDArray[np.complex128]]:
        """Return the numbers to be multiplied out, and the logarithm of the product of the rest."""
        small, largest = 0, float(np.abs(z).max())
        if self._powers.size:
            small = int(np.searchsorted(self.r, _RADIUS / largest))
        logs = np.zeros(z.size, dtype=np.complex128)
        if small:
            whole = small // _PIECE
            sums = self._before[:, whole] + self._powers[:, whole * _PIECE : small].sum(axis=1)
            # Powers of z 2^-e lie within the unit circle, and multiplication by 2^ej is exact.
            e = math.frexp(largest)[1]
            powers = np.cumprod(np.broadcast_to(z * 2.0**-e, (_ORDER, z.size)), axis=0)
            logs = np.ldexp(_SIGNED * sums, _ORDERS * e) @ powers
        return self.r[small:], logs


def _integrand(
    factors: Factors, z: NDArray[np.complex128], fall: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Return exp(-fall) / prod(1 + r_i z).

    Deep in the tail of many equal weights both parts are huge and cancel: there logarithms are
    summed; elsewhere the product keeps more digits.
    """
    r, logs = factors.split(z)
    if float(fall.real.max()) <= _DEEP:
        others = np.expm1(logs)
        product = _product_minus_one(r, z)
        return np.asarray(np.exp(-fall) / (1.0 + (product + others + product * others)))
    exponent = -fall - logs
    rows = max(_AT_ONCE // z.size, 1)
    for start in range(0, r.size, rows):
        f = r[start : start + rows, None] * z[None, :]
        exponent.real -= 0.5 * np.log1p(f.real * (2.0 + f.real) + f.imag**2).sum(axis=0)
        exponent.imag -= np.arctan2(f.imag, 1.0 + f.real).sum(axis=0)
    return np.asarray(np.exp(exponent))


def _product_minus_one(r: NDArray[np.float64], z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return prod(1 + r_i z) - 1 for each z, a bounded number of factors at a time.

    Pairs are joined as (1 + a)(1 + b) - 1 = a + b + ab, so that rounding is relative to the small
    factors and not to 1; a plain product of a thousand factors near 1 loses three digits.
    """
    rows = max(_AT_ONCE // z.size, 1)
    result = np.zeros(z.size, dtype=np.complex128)
    for start in range(0, r.size, rows):
        f = r[start : start + rows, None] * z[None, :]
        while f.shape[0] > 1:
            even = f.shape[0] // 2 * 2
            a, b = f[0:even:2], f[1:even:2]
            f = np.concatenate([a + b + a * b, f[even:]])
        result = result + f[0] + result * f[0]
    return result


def _reach(factors: Factors, x: float, c: float, gap: float, d: float) -> float:
    """Return a parameter u at which the integrand is between e^-44 and e^-50 of its centre.

    Growing candidates bracket it and a few points between find it, so that no product of factors on
    the way there can overflow. The largest weight alone makes the integrand fall like e^-u. Of many
    weights one in eight stands for its neighbours, and what that finds is checked with all.
    """

    def fall(u: NDArray[np.float64], stride: int = 1) -> NDArray[np.float64]:
        shift = _BEND * d * (np.cosh(u) - 1.0) + 1j * d * np.sinh(u)
        z = shift * (2.0 * c + gap * shift)
        r, others = factors.split(-z)
        logs = 2.0 * others.real
        alike = max(r.size - _MANY, 0) // stride * stride if stride > 1 else 0
        for some, times in ((r[stride // 2 : alike : stride], stride), (r[alike:], 1)):
            for start in range(0, some.size, _AT_ONCE // 8):
                part = some[start : start + _AT_ONCE // 8, None]
                one = np.log((1.0 - part * z.real) ** 2 + (part * z.imag) ** 2)
                logs += times * one.sum(axis=0)
        return np.asarray(0.5 * logs + shift.real * (gap * x) - np.log(np.cosh(u)))

    if factors.r.size > _STRIDE * _MANY:
        found = _first_beyond(lambda u: fall(u, _STRIDE))
        if found is not None and _REACH <= fall(np.array([found])).item() <= _TOO_FAR:
            return found
    found = _first_beyond(fall)
    if found is None:
        raise ArithmeticError(f"the integrand at x = {x!r} does not fall off")
    return found


def _first_beyond(fall: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float | None:
    low = 0.0
    for first in range(0, _CANDIDATES.size, 8):
        u = _CANDIDATES[first : first + 8]
        far = np.flatnonzero(fall(u) >= _REACH)
        if far.size:
            low = float(u[far[0] - 1]) if far[0] else low
            return _narrowed(fall, low, float(u[far[0]]))
        low = float(u[-1])
    return None


def _narrowed(
    fall: Callable[[NDArray[np.float64]], NDArray[np.float64]], low: float, high: float
) -> float:
    for _ in range(20):
        u = np.linspace(low, high, 9)[1:]
        falls = fall(u)
        first = int(np.argmax(falls >= _REACH))
        if float(falls[first]) <= _TOO_FAR:
            return float(u[first])
        low, high = float(u[first - 1]) if first else low, float(u[first])
    return high
