"""Functions of the affinity as short sums of its powers, fitted by non-negative least
squares.

With c = -ln BC the weight e^(-rate sqrt(1 - e^-c)) is completely monotone in c: a
mixture of e^(-s c), and so is 1 - sqrt(1 - e^-c). Columns that are positive, divided by
their peaks, leave a well-posed problem (Lawson and Hanson); what the fit misses is
measured on a finer grid and stated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpbayes import _validate
from dpbayes._validate import Floats

# What weighs less than e^-42 of the rest, 6e-19, is below the digits of a float and
# left out.
DEPTH = 42.0
_ROWS = 400  # of the grid that is fitted, and at least three for each power
_FINER = 4  # times as many check the fit
# between powers: three an octave leave 2e-12 of a square root
_OCTAVE = float(np.log(2.0)) / 3.0
# the mixture lies on the whole powers; the first ones are taken one by one
_WHOLE = 8.0


@dataclass(frozen=True)
class Powers:
    """A function of c >= `gap` as the sum of weights e^(-powers c), and what that
    misses.

    `weights` has a row for each function fitted, `errors` (rows,) the largest
    difference relative to the scale of the fit.
    """

    powers: Floats
    weights: Floats
    errors: Floats

    def __post_init__(self) -> None:
        for name in ("powers", "weights", "errors"):
            object.__setattr__(self, name, _validate.frozen(getattr(self, name)))


def distance(c: Floats, exponent: float = 1.0) -> Floats:
    """Return sqrt(1 - BC^exponent) at c = -ln BC >= 0, any shape."""
    return np.asarray(np.sqrt(-np.expm1(-exponent * c)))


@lru_cache(maxsize=64)
def root_powers(gap: float, exponent: float = 1.0) -> Powers:
    """Return sqrt(1 - BC^exponent) = sum of w (1 - BC^s), relative to itself, for -ln
    BC >= gap.

    The last power is infinite: BC^s is then 1 at the truth and 0 elsewhere.

    >>> found = root_powers(1e-6)
    >>> bool(found.errors[0] < 1e-8), bool((found.weights >= 0).all())
    (True, True)
    """
    least = exponent * gap
    top = (DEPTH + 3.0) / least  # e^-45 is nothing beside 1
    s = np.append(_geometric(np.arange(1.0, _WHOLE), top), np.inf)

    def columns(c: Floats) -> Floats:
        return np.asarray(-np.expm1(-np.outer(c, s)))

    weights, error = _fit(least, DEPTH + 20.0, s.size, columns, [distance], distance)
    return _used(Powers(s * exponent, weights, error))


def mean_from_moments(
    moment: Callable[[float], float], order: int, gap: float, exponent: float
) -> tuple[float, float]:
    """Return E[d^order] for d^2 = 1 - BC^exponent and its error, from s to E[BC^s];
    order 1 or 2.

    >>> value, _ = mean_from_moments(lambda s: 0.5 + 0.5 * 0.75**s, 1, 0.1, 1.0)
    >>> round(value, 9)  # half at BC = 1, half at BC = 3/4
    0.25
    """
    everything = moment(0.0)
    if order == 2:
        return max(everything - moment(exponent), 0.0), 0.0
    found = root_powers(gap, exponent)
    missing = [everything - moment(power) for power in found.powers.tolist()]
    value = max(float(found.weights[0] @ missing), 0.0)
    return value, value * float(found.errors[0])


@lru_cache(maxsize=64)
def weight_powers(
    rate: float, gap: float, log_candidates: float, ratio: float = 1.0
) -> Powers:
    """Return w = e^(-rate d), (1 - d') w and (1 - d'^2) w as sums of powers of z =
    e^-c, c >= gap.

    d = sqrt(1 - z) is the score, d' = sqrt(1 - z^ratio) the distance reported.
    Candidates are at most e^`log_candidates`; those that weigh e^-42 of the truth
    together are not fitted. Errors are relative to w d: that makes them relative errors
    of the mean distance.

    >>> bool(weight_powers(20.0, 1e-4, 30.0).errors.max() < 1e-6)
    True
    """
    limit, top = (log_candidates + DEPTH) / rate, (DEPTH + 20.0) / min(ratio, 1.0)
    if limit < 1.0:
        top = float(-np.log1p(-(limit**2)))
        if top <= gap:  # no other candidate is seen beside the truth
            return Powers(np.zeros(1), np.zeros((3, 1)), np.zeros(3))
    top = max(top, 4.0 * gap)
    s = _saddles(rate, gap, top, ratio)

    def columns(c: Floats) -> Floats:
        return np.asarray(np.exp(rate * distance(c)[:, None] - np.outer(c, s)))

    targets: list[Callable[[Floats], Floats]] = [
        lambda c: np.ones(c.size),
        lambda c: 1.0 - distance(c, ratio),
        lambda c: np.exp(-ratio * c),
    ]
    weights, errors = _fit(gap, top, s.size, columns, targets, distance)
    return _used(Powers(s, weights, errors))


def _geometric(first: Floats, top: float) -> Floats:
    # `first`, and from its end powers three to the octave up to `top`.
    end = float(first[-1]) + float(first[-1] - first[-2])
    steps = max(1, int(np.ceil(np.log(max(top / end, 1.0)) / _OCTAVE)))
    return np.concatenate((first, end * np.exp(_OCTAVE * np.arange(steps + 1))))


def _saddles(rate: float, gap: float, top: float, ratio: float) -> Floats:
    """Return powers no further apart than half the width of the mixture at any c.

    At c the mixture of e^(-rate sqrt c) is centred at s = rate / (2 sqrt c) with a
    relative standard deviation of 1 / sqrt(rate sqrt c); by Poisson's formula half of
    it is fine enough.
    """
    # 1. The least power that counts at all, from the largest c that is fitted.
    farthest, nearest = distance(np.array([top, gap])).tolist()
    # The centre of the mixture at `top`, less eight standard deviations.
    low = 0.5 * rate * np.exp(-top) / farthest
    low *= max(0.0, 1.0 - 8.0 / np.sqrt(rate * farthest))
    # 2. Whole powers, which the mixture lies on while they are few: the weight is a
    # function of z = e^-c with a power series in z.
    some = np.arange(_WHOLE)
    # z^ratio adds its own whole powers, and their sums with whole numbers
    if ratio != 1.0:
        both = np.add.outer(some, ratio * some).ravel()
        some = np.union1d(_geometric(min(ratio, 1.0) * some[1:], _WHOLE), both)
    powers: list[float] = some[some < _WHOLE].tolist() if low < _WHOLE else []
    # 3. From there steps of half the width of the mixture, at the c whose mixture is
    # centred near s: s = rate / (2 sqrt c) for small c, as s = (rate / 2) e^(-c/2) /
    # sqrt(1 - e^-c) is, which can be solved for c.
    # Powers beyond would add 1e-9 of the weight at the gap, from sums that rounding has
    # emptied.
    last = (rate * nearest + 0.5 * DEPTH) / gap
    s = max(low, _WHOLE)
    while s < last:
        powers.append(s)
        c = min(max(float(np.log1p((0.5 * rate / s) ** 2)), gap), top)
        width = 1.0 / np.sqrt(rate * np.sqrt(-np.expm1(-c)))
        s *= float(np.exp(min(0.5 * width, _OCTAVE)))
    every = np.union1d([*powers, s], some[some >= _WHOLE])
    return np.asarray(every[every <= (last if last < 1.0 else max(s, last))])


@np.errstate(over="ignore", invalid="ignore")
def _fit(
    gap: float,
    top: float,
    size: int,
    columns: Callable[[Floats], Floats],
    targets: list[Callable[[Floats], Floats]],
    scale: Callable[[Floats], Floats],
    rows: int = _ROWS,
) -> tuple[Floats, Floats]:
    """Return weights w >= 0 (targets, size) of the columns, and the errors (targets,).

    Each target t is fitted by sum_j w_j column_j at `rows` values of c from `gap` to
    `top`, a geometric progression, in least squares of (sum - t) / scale. Columns are
    divided by their peaks, so that powers far apart stand side by side. The error is
    the largest |sum - t| / scale on a grid four times as fine; where it is above 1e-6
    the fit is made again on twice the rows, up to 1,600.
    """
    from scipy.optimize import nnls  # a quarter of the package's start-up otherwise

    top, rows = max(top, 2.0 * gap), max(rows, 3 * size)
    # Geometric, so that each octave of c has as many points: gap and top are many
    # apart.
    c = np.geomspace(gap, top, rows)
    fine = np.geomspace(gap, top, _FINER * rows + 1)
    # Divided by the scale, least squares weigh relative errors.
    basis = columns(c) / scale(c)[:, None]
    checked = columns(fine) / scale(fine)[:, None]
    peaks = np.maximum(basis.max(axis=0), 1e-300)  # a column of zeros stays one
    weights, errors = [], []
    for target in targets:
        wanted = target(c) / scale(c)
        try:
            scaled = nnls(basis / peaks, wanted, maxiter=100 * peaks.size)[0]
        # It does not end, or e^rate is beyond a float.
        except (RuntimeError, ValueError):
            raise ArithmeticError(
                f"epsilon must be smaller: at a gap of {gap:.3g} no powers have weights"
                " of e^rate"
            ) from None
        w = scaled / peaks
        weights.append(w)
        errors.append(np.abs(checked @ w - target(fine) / scale(fine)).max())
    # too coarse for three digits that are sure
    if max(errors) > 1e-6 and rows < 4 * _ROWS:
        return _fit(gap, top, size, columns, targets, scale, 2 * rows)
    return np.array(weights), np.array(errors)


def _used(found: Powers) -> Powers:
    some = np.flatnonzero(np.any(found.weights > 0.0, axis=0))
    return Powers(found.powers[some], found.weights[:, some], found.errors)
