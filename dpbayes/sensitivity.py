"""How far one replaced record can move the posterior: local, global and smooth
sensitivity.

The closed forms rest on phi(a) = psi(a, a + 1), increasing and concave: one record
moved from category i to category j changes ln BC by phi(a_i - 1) + phi(a_j).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.divergences import (
    Metric,
    affinity_exponent,
    distance_from_log_affinity,
    metric_name,
    one_step_affinity,
)

FORMS = ("reciprocal", "exponential")
DISTANCES = ("hamming", "l1")


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(ByValue):
    """A sensitivity in (0, 1] and the pair of neighbouring histograms (k,) that attains
    it.

    The first of the pair is `records_away` replaced records from the histogram that was
    asked for.

    >>> found = local_sensitivity([3, 1], [1, 1])
    >>> round(found.value, 4), [x.tolist() for x in found.witness]
    (0.3755, [[3, 1], [4, 0]])
    """

    value: float
    witness: tuple[Whole, Whole] = field(compare=False)
    records_away: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < _validate.real("value", self.value) <= 1.0:
            raise ValueError(f"value must lie in (0, 1], got {self.value!r}")


def _checked(
    counts: ArrayLike, prior: ArrayLike, metric: Metric | str
) -> tuple[Whole, Floats, float]:
    x, alpha = _validate.counts_and_prior(counts, prior)
    if x.sum() < 1:
        raise ValueError(f"counts must hold at least 1 record, got {x.tolist()}")
    return x, alpha, affinity_exponent(metric, float(alpha.sum() + x.sum()))


def _smoothing(
    gamma: float, form: str, distance: str
) -> Callable[[Floats, Whole], Floats]:
    """Return F(LS, replaced records), its three options checked."""
    rate = _validate.positive("gamma", gamma)
    _validate.choice("form", form, FORMS)
    if _validate.choice("distance", distance, DISTANCES) == "l1":
        rate *= 2.0
    if form == "reciprocal":
        return lambda local, records: 1.0 / (1.0 / local + rate * records)
    return lambda local, records: local * np.exp(-rate * records)


def _pair(x: Whole, source: int, target: int) -> tuple[Whole, Whole]:
    moved = np.array(x)
    moved[[source, target]] += [-1, 1]
    return _validate.frozen(x.copy()), _validate.frozen(moved)


def local_sensitivity(
    counts: ArrayLike, prior: ArrayLike, metric: Metric | str = "hellinger"
) -> Sensitivity:
    """Return LS(x), the largest distance between the posterior of x and that of a
    neighbour.

    LS(x)^2 = max over i != j with x_i >= 1 of -expm1(phi(a_i - 1) + phi(a_j)), a =
    prior + x. Source: D, sections 4.2.2 and 7.1; book: `def-local`. `counts` (k,) hold
    at least one record; `metric` is "hellinger" or "published".

    >>> round(local_sensitivity([50, 50], [1, 1]).value, 12)
    0.070275628559
    """
    x, alpha, exponent = _checked(counts, prior, metric)
    # Entry (i, j): ln BC between x and x with one record moved from i to j; inf if
    # impossible.
    leaving = np.full(x.shape, np.inf)
    leaving[x > 0] = one_step_affinity(alpha[x > 0] + (x[x > 0] - 1))
    table = leaving[:, None] + one_step_affinity(alpha + x)[None, :]
    np.fill_diagonal(table, np.inf)
    source, target = np.unravel_index(np.argmin(table), table.shape)
    value = float(distance_from_log_affinity(table[source, target], exponent))
    return Sensitivity(value, _pair(x, int(source), int(target)))


def global_sensitivity(
    n: int, prior: ArrayLike, metric: Metric | str = "hellinger"
) -> Sensitivity:
    """Return GS, the largest local sensitivity over all histograms of n >= 1 records.

    It is attained in a corner: a record leaves a category that held no other and enters
    an empty one, or for k = 2 one with the other n - 1. Source: D, section 4.2.1; book:
    `thm-global`.

    >>> round(global_sensitivity(100, [1, 1]).value, 12)
    0.338939760898
    """
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior)
    return _largest(size, tuple(alpha.tolist()), metric_name(metric))


@lru_cache(maxsize=64)
def _largest(n: int, prior: tuple[float, ...], metric: str) -> Sensitivity:
    # The same for all data of a size: a mean over all of them asks once.
    found = [local_sensitivity(x, prior, metric) for x in corners(n, np.array(prior))]
    return max(found, key=lambda one: one.value)


def corners(n: int, alpha: Floats) -> list[Whole]:
    """Return the histograms among which the global sensitivity is attained;
    `thm-global`.

    >>> [x.tolist() for x in corners(5, np.ones(3))]
    [[1, 0, 4], [0, 1, 4]]
    """
    if alpha.size == 2:
        return [
            np.array([1, n - 1]),
            np.array([n, 0]),
            np.array([n - 1, 1]),
            np.array([0, n]),
        ]
    unit = np.eye(alpha.size, dtype=np.int64)
    first, second, *_, last = np.argsort(alpha, kind="stable")
    return [unit[one] + (n - 1) * unit[last] for one in (first, second)]


def smooth_sensitivity(
    counts: ArrayLike,
    prior: ArrayLike,
    gamma: float = 1.0,
    form: str = "reciprocal",
    distance: str = "hamming",
    metric: Metric | str = "hellinger",
) -> Sensitivity:
    """Return S(x) = max over histograms x'' of F(LS(x''), d(x, x'')), in O(k^2)
    whatever n is.

    F = 1/(1/LS + gamma d) for form "reciprocal" (D, Definition 3; book: `def-smooth`)
    and F = LS exp(-gamma d) for "exponential" (A, equation 1; book:
    `def-smooth-exponential`). d counts replaced records ("hamming") or is the l1
    distance of histograms ("l1"). `gamma` is positive.

    >>> round(smooth_sensitivity([50, 50], [1, 1]).value, 12)
    0.070275628559
    """
    x, alpha, exponent = _checked(counts, prior, metric)
    smoothed, plans = _smoothing(gamma, form, distance), drains(x, alpha)
    values = smoothed(
        distance_from_log_affinity(plans.affinity, exponent), plans.records
    )
    best = int(np.argmax(values))
    i, j, given, also_given, records = (int(part[best]) for part in plans[:5])
    there = x.copy()
    there[[i, j]] -= [given, also_given]
    if x.size > 2:
        others = np.delete(np.arange(x.size), [i, j])
        there[others[np.argmax(x[others])]] += given + also_given
    return Sensitivity(float(values[best]), _pair(there, i, j), records)


def profile(
    n: int,
    prior: ArrayLike,
    smooth: bool = False,
    gamma: float = 1.0,
    form: str = "reciprocal",
    distance: str = "hamming",
    metric: Metric | str = "hellinger",
) -> Floats:
    """Return LS, or S when `smooth`, of (x, n - x) for x = 0 … n at once, in O(n); k =
    2.

    Source: D, Figure 1; book: `fig-sensitivity`. Arguments as in `smooth_sensitivity`;
    n >= 1.

    >>> profile(2, [1, 1]).round(6)
    array([0.408607, 0.408607, 0.408607])
    """
    size = _validate.integer("n", n, minimum=1)
    alpha = _validate.prior("prior", prior, 2)
    smoothed = _smoothing(gamma, form, distance)
    # step[x]: ln BC between (x, n - x) and (x + 1, n - x - 1).
    x = np.arange(size, dtype=np.float64)
    step = one_step_affinity(alpha[0] + x) + one_step_affinity(
        alpha[1] + (size - 1 - x)
    )
    padded = np.concatenate(([0.0], step, [0.0]))
    exponent = affinity_exponent(metric, float(alpha.sum() + size))
    local = distance_from_log_affinity(np.minimum(padded[:-1], padded[1:]), exponent)
    if not smooth:
        return local
    at = np.arange(size + 1)
    ends = [np.full_like(at, end) for end in (0, 1, size - 1, size)]
    places = np.clip([at, at + 1, at - 1, *ends], 0, size)
    return np.asarray(np.max(smoothed(local[places], np.abs(at - places)), axis=0))


class Drains(NamedTuple):
    """Candidate maximisers: i and j give `from_source` and `from_target` records to a
    third cell.

    For k = 2 they give them to each other. After that one record moves from i to j.
    """

    source: Whole
    target: Whole
    from_source: Whole
    from_target: Whole
    records: Whole
    affinity: Floats


def drains(x: Whole, alpha: Floats) -> Drains:
    """Return the candidates among which the smooth sensitivity is attained; any k."""
    source, target, s, t, records = _drains_two(x) if x.size == 2 else _drains(x)
    affinity = one_step_affinity(alpha[source] + (x[source] - s - 1))
    affinity += one_step_affinity(alpha[target] + (x[target] - t))
    return Drains(source, target, s, t, records, affinity)


def _drains(x: Whole) -> tuple[Whole, ...]:
    """Return `Drains` without the affinity, for three or more categories.

    LS along a draining segment is extremal at its ends, so each cell gives up nothing
    or all it can; the source keeps the one record that moves afterwards. An empty
    source gives -1: it first receives that record, from the target if the target gives
    anything, else from a third cell. Book: `thm-smooth-corners`.
    """
    i, j = np.nonzero(~np.eye(x.size, dtype=bool))  # all ordered pairs of cells
    empty, nothing = x[i] == 0, np.zeros_like(i)
    least, most = np.where(empty, -1, nothing), np.where(empty, -1, x[i] - 1)
    # What the source and what the target give up; one record of the target may be all
    # that an empty source needs.
    plans = [
        (least, nothing), (least, np.minimum(x[j], 1)), (least, x[j]),
        (most, nothing), (most, x[j]),
    ]  # fmt: skip
    s, t = (np.concatenate(part) for part in zip(*plans, strict=True))
    i, j = np.tile(i, len(plans)), np.tile(j, len(plans))

    third = x.sum() - x[i] - x[j]
    possible = (s >= 0) | (t >= 1) | (third >= 1)  # an empty source receives its record
    i, j, s, t = i[possible], j[possible], s[possible], t[possible]
    # Replaced records: all that is given up, or the one that an empty source receives,
    # which is among them where the target gives it.
    records = np.maximum(np.maximum(s, 0) + t, np.where(s < 0, 1, 0))
    return i, j, s, t, records


def _drains_two(x: Whole) -> tuple[Whole, ...]:
    # Seven places at most: plain numbers are sorted faster than arrays.
    n, here = int(x.sum()), int(x[0])
    first = sorted(
        {one for one in (here, here - 1, here + 1, 0, 1, n - 1, n) if 0 <= one <= n}
    )
    moved = [(0, one) for one in first if one > 0] + [
        (1, n - one) for one in first if one < n
    ]
    source, at_source = np.array(moved, dtype=np.int64).reshape(-1, 2).T
    gives = x[source] - at_source
    return source, 1 - source, gives, -gives, np.abs(gives)
