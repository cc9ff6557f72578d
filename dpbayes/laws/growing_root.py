"""The mean of sqrt(1 - z) from as few moments of z as its law needs.

A fitted sum of powers that is right for every z takes powers up to 14 / gap, where z <= e^-gap. But
where z is near 1 with small probability only, the sum may be wrong there: moments that are known
already bound that probability, and the powers end when it no longer matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.square_root import one_less_root

_WHOLE = 8
_RATIO, _GROWTH, _LARGEST_RATIO = 1.4, 1.03, 4.0
_SPARE = 1500.0  # so much smaller errors than the tolerance are aimed at
_MOST_POWERS = 60
_ENOUGH = 3.0  # times the tolerance, with what moments are wrong by
_SELDOM = 4  # beyond 8 cheap powers weights are sought every fourth time only
_DEPTHS, _FITTED_TO, _MEASURED_TO = 2500, 60.0, 400.0
_FINER = 5
_ROUNDING = 1e-15


class NoMoment(Exception):
    """A moment would take too long: those that are known have to do."""


def next_power(power: float, count: int, rest: float, tolerance: float) -> float:
    """Return the power after `count` of them, the last of which is `power`.

    Whole ones to 8, and then ratios that grow from 1.4 to 4, but no farther than is right for what
    is left: the error of a sum over powers so far apart falls like e^(-pi^2 / ln ratio), of the
    about `rest` / (2 sqrt(power)) that all powers beyond add, where E[z^power; z < 1] is `rest`.

    >>> next_power(3.0, 3, 0.5, 1e-10), round(next_power(100.0, 25, 0.5, 1e-10), 1)
    (4.0, 144.8)
    """
    if count < _WHOLE:
        return power + 1.0
    worst = max(_SPARE * rest / (2.0 * np.sqrt(power) * tolerance), 2.0)
    right = float(np.exp(np.pi**2 / np.log(worst)))
    return power * min(max(right, _RATIO), _RATIO * _GROWTH ** (count - _WHOLE), _LARGEST_RATIO)


def mean_root(
    moment: Callable[[float], tuple[float, float]],
    gap: float,
    mass: float,
    at_one: Callable[[], float],
    tolerance: float,
    powers: Iterable[float] | None = None,
    closer: bool = False,
) -> tuple[float, float]:
    """Return E[sqrt(1 - z); A] and a bound on its error, mostly below three times `tolerance` > 0.

    A `moment` other than the first may raise `NoMoment`: then the bound is as good as moments
    before it make it. Other `powers`, of which 1 is the first, may take the place of `next_power`
    where moments are cheap.

    `mass` = P(A), `at_one` returns P(A, z = 1), and z <= e^-gap otherwise, unless it may be
    `closer` to 1: then what is missed there is bounded as well. `moment` takes a power s > 0 and
    returns E[z^s; A] and its error. With weights c of powers s the error is at most the mean of
    |sum c_s z^s - (1 - sqrt(1 - z))|, and P(-ln z <= d) <= e^(s d) E[z^s] for each known s.

    >>> value, error = mean_root(lambda s: (1 / (s + 1), 0.0), 1e-6, 1.0, lambda: 0.0, 1e-9)
    >>> bool(abs(value - 2.0 / 3.0) < error < 1e-8)  # z is uniform
    True
    """
    first, doubt = moment(1.0) if mass * np.exp(-gap) > tolerance else (0.0, mass * np.exp(-gap))
    if _small(first, doubt, tolerance):
        return mass - 0.75 * first, float(0.25 * first + doubt)
    one = at_one()
    rest, tried, means, errors = mass - one, [1.0], [max(first - one, 0.0)], [doubt + _ROUNDING]
    if rest <= tolerance:  # all but so much lies at z = 1
        rest = max(rest, 0.0)
        return 0.5 * rest, 0.5 * rest + doubt + _ROUNDING
    if _small(means[0], doubt, tolerance):
        return rest - 0.75 * means[0], float(0.25 * means[0] + doubt)
    value, error = rest, means[0] + errors[0]
    given = None if powers is None else iter(powers)
    if given is not None:
        next(given)
    while given is not None or len(tried) < _MOST_POWERS:
        if given is None or len(tried) <= _WHOLE or len(tried) % _SELDOM == 0:
            s, m, each = np.array(tried), np.array(means), np.array(errors)
            weights, missed = _fitted(s, m + each, each, gap, rest)
            if closer:
                missed += _missed_closer(weights, s, m + each, gap, rest)
            carried = float(np.abs(weights) @ each)
            if missed + carried < error:
                value, error = rest - float(weights @ m), missed + carried
            if missed + carried <= _ENOUGH * tolerance or means[-1] <= errors[-1]:
                break
        if given is None:
            power = next_power(tried[-1], len(tried), means[-1], tolerance)
        elif (power := next(given, 0.0)) == 0.0:
            break
        try:
            found, doubt = moment(power)
        except NoMoment:
            break
        tried.append(power)
        means.append(max(found - one, 0.0))
        errors.append(doubt + _ROUNDING)
    return value, error


def _small(first: float, doubt: float, tolerance: float) -> bool:
    """Say whether E[z] is so small that 1 - sqrt(1 - z), between z / 2 and z, is known by it."""
    return 0.25 * first + doubt <= 2.0 * tolerance


def _fitted(
    s: NDArray[np.float64],
    most: NDArray[np.float64],
    errors: NDArray[np.float64],
    gap: float,
    mass: float,
) -> tuple[NDArray[np.float64], float]:
    """Return weights of the powers s, and a bound on the mean of what their sum misses.

    They make a sum of squares small: of what is missed, each depth -ln z weighted by a bound on
    the probability of smaller ones, and of the errors that the weights carry.
    """
    depth = np.geomspace(gap, max(_FITTED_TO, 2.0 * gap), _DEPTHS)
    sizes = _chances(depth, s, most, mass)
    columns = np.vstack((np.exp(-np.outer(depth, s)) * sizes[:, None], np.diag(errors)))
    wanted = np.append(one_less_root(depth) * sizes, np.zeros(s.size))
    norms = np.linalg.norm(columns, axis=0)
    weights = np.linalg.lstsq(columns / norms, wanted, rcond=1e-16)[0] / norms
    fine = np.geomspace(gap, max(_MEASURED_TO, 2.0 * gap), _FINER * _DEPTHS + 1)
    missed = np.abs(np.exp(-np.outer(fine, s)) @ weights - one_less_root(fine))
    beyond = np.maximum.accumulate(missed[::-1])[::-1]  # the most at this depth or deeper
    drops = -np.diff(beyond, append=0.0)
    chances = np.append(_chances(fine[1:], s, most, mass), mass)
    return np.asarray(weights), float(drops @ chances)


def _missed_closer(
    weights: NDArray[np.float64],
    s: NDArray[np.float64],
    most: NDArray[np.float64],
    gap: float,
    mass: float,
) -> float:
    """Return a bound on how much more is missed where -ln z is below the gap.

    From there to the gap no term moves by more than s gap, and the root not by more than its own.
    """
    moved = gap * float(np.abs(weights) @ s) + np.sqrt(gap)
    return float(_chances(np.array([gap]), s, most, mass)[0] * moved)


def _chances(
    depth: NDArray[np.float64], s: NDArray[np.float64], most: NDArray[np.float64], mass: float
) -> NDArray[np.float64]:
    """Return bounds on the probability that -ln z is at most each depth."""
    logs = (np.log(most) + np.outer(depth, s)).min(axis=1)
    return np.asarray(np.exp(np.minimum(logs, np.log(mass))))
