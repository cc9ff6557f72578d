"""The closed forms of document D, section 6: distances by step, table rows, and their ranges.

A Beta posterior (alpha, beta) whose first count is released t too high becomes
(alpha + t, beta - t). The paper unfolds the squared Hellinger distance between the two as products,
one for even t and one for odd t, and tabulates t = 0, 1, 2. Some of them are misprinted; each
formula here exists as printed and corrected, to be held against :func:`squared_distance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.accuracy import laplace_step_probability
from dpbayes.divergences import affinity_by_step
from dpbayes.mechanisms import mechanism
from dpbayes.sensitivity import smooth_sensitivity

RIVALS: Mapping[str, float] = {"lapMech": 2.0, "ilapMech": 1.0}
"""The Laplace mechanisms of the tables and the sensitivities that scale their noise at k = 2."""

PRINTED: Mapping[int, Mapping[str, tuple[float, float, float]]] = {
    1: {
        "lapMech": (0.19673467014, 0.11932560927, 0.07237464051),
        "ilapMech": (0.31606027941, 0.11627207896, 0.04277410743),
    },
    2: {
        "lapMech": (0.19673467014, 0.31606027941, 0.19170024978),
        "ilapMech": (0.31606027941, 0.43233235838, 0.15904618640),
    },
}
"""The Laplace rows of D, Tables 1 and 2, steps 0, 1 and 2 at epsilon 1, as they are printed."""


def misprints(table: int, epsilon: float, probabilities: Mapping[str, ArrayLike]) -> int | None:
    """Return how many printed entries of D, Table 1 or 2, are not our digits, cut off.

    `probabilities` maps each rival to its values at t = 0, 1, 2 and perhaps beyond. None at any
    other epsilon than the tables' own, 1.

    >>> steps = {m: laplace_step_probability([0, 1, 2], 1.0, d) for m, d in RIVALS.items()}
    >>> misprints(1, 1.0, steps), misprints(2, 1.0, steps)
    (0, 4)
    >>> misprints(1, 2.0, {}) is None
    True
    """
    if table not in PRINTED:
        raise ValueError(f"table must be 1 or 2, got {table!r}")
    if epsilon != 1.0:
        return None
    printed = PRINTED[table]
    ours = np.array([np.asarray(probabilities[rival])[:3] for rival in printed])
    return int((np.abs(ours - np.array(list(printed.values()))) >= 1e-11).sum())


def _arguments(alpha: float, beta: float, step: int) -> tuple[float, float, int]:
    a, b = _validate.positive("alpha", alpha), _validate.positive("beta", beta)
    t = _validate.integer("step", step, minimum=0)
    if t >= b:
        raise ValueError(f"step must be below beta = {b:g}, got {t}")
    return a, b, t


def printed_step_probability(
    step: ArrayLike, epsilon: float, sensitivity: float
) -> NDArray[np.float64]:
    """Return the first display of D, section 6.1.1, for P(floor(Y) = t), sign slip included.

    For t < 0 it prints (e^(t/b) - e^((t+1)/b))/2 with b = sensitivity/epsilon, the negative of the
    probability; D's second display and `dpbayes.laplace_step_probability` have it right.

    >>> printed_step_probability([-1, 0], 1.0, 2.0).round(6)
    array([-0.196735,  0.196735])
    """
    right = laplace_step_probability(step, epsilon, sensitivity)
    return np.asarray(np.where(np.asarray(step) < 0, -right, right))


def squared_distance(alpha: float, beta: float, step: int) -> float:
    """Return H^2 between Beta(alpha, beta) and Beta(alpha + t, beta - t), for 0 <= t < beta.

    H^2 = 1 - Gamma(alpha + t/2) Gamma(beta - t/2) / sqrt(Gamma(alpha) Gamma(beta)
    Gamma(alpha + t) Gamma(beta - t)); the form that holds for every t. Book: `thm-step-distance`.

    >>> round(squared_distance(51, 51, 2), 10)
    0.0196154601
    """
    a, b, t = _arguments(alpha, beta, step)
    return float(-np.expm1(affinity_by_step(a, t) + affinity_by_step(b, -t)))


def squared_distance_even(alpha: float, beta: float, step: int) -> float:
    """Return H^2 for even t as the product of D, section 6.1.1, which is right as printed.

    H^2 = 1 - prod_{k=0}^{t/2-1} sqrt(1 - (t/2)/(alpha + k + t/2))
    prod_{k=1}^{t/2} sqrt(1 - (t/2)/(beta - k)). Book: `thm-step-distance`. Raises ValueError for
    odd t.

    >>> round(squared_distance_even(51, 51, 2), 10)
    0.0196154601
    """
    a, b, t = _arguments(alpha, beta, step)
    if t % 2:
        raise ValueError(f"step must be even, got {t}")
    half = t // 2
    up = 1.0 - half / (a + np.arange(half) + half)
    down = 1.0 - half / (b - np.arange(1, half + 1))
    return float(1.0 - np.sqrt(np.prod(up) * np.prod(down)))


def squared_distance_odd(alpha: float, beta: float, step: int, printed: bool = False) -> float:
    """Return H^2 for odd t = 2m + 1 as a product; `printed` gives the one of D, section 6.1.1.

    BC = Gamma(alpha+1/2)/Gamma(alpha) Gamma(beta-1/2)/Gamma(beta) F
    prod_{k=0}^{m-1} (alpha+k+1/2)/sqrt((alpha+k)(alpha+m+k))
    prod_{k=1}^m sqrt((beta-k)(beta-m-k))/(beta-k-1/2), F = sqrt((beta-2m-1)/(alpha+2m)).
    The printed product is this one without F. Book: `thm-step-distance`. Raises ValueError for
    even t.

    >>> round(squared_distance_odd(51, 51, 1), 10) == round(squared_distance(51, 51, 1), 10)
    True
    """
    a, b, t = _arguments(alpha, beta, step)
    if t % 2 == 0:
        raise ValueError(f"step must be odd, got {t}")
    m = t // 2
    above, below = a + np.arange(m), b - np.arange(1, m + 1)
    up = np.prod((1 + 0.5 / above) * (1 + (0.5 - m) / (above + m)))
    down = np.prod((1 + 0.5 / (below - 0.5)) * (1 + (0.5 - m) / (below - 0.5)))
    affinity = _half_step_ratio(a, b) * np.sqrt(up * down)
    missing = 1.0 if printed else np.sqrt((b - 2 * m - 1) / (a + 2 * m))
    return float(1.0 - affinity * missing)


def _half_step_ratio(alpha: float, beta: float) -> float:
    # Gamma(alpha+1/2)/Gamma(alpha) * Gamma(beta-1/2)/Gamma(beta); psi supplies the gammas:
    # Gamma(a+1/2)^2 = Gamma(a) Gamma(a+1) exp(2 psi(a, a+1)).
    logs = affinity_by_step(alpha, 1.0) + affinity_by_step(beta, -1.0)
    return float(np.exp(logs) * np.sqrt(alpha / (beta - 1.0)))


def squared_distance_tabulated(alpha: float, beta: float, step: int) -> float:
    """Return the column heads c of D, Tables 1 and 2, as printed, for t = 0, 1, 2.

    They are values of H^2, not of H. That for t = 1 lacks the factor sqrt((beta-1)/alpha), that for
    t = 2 has beta where beta - 1 belongs. Book: `thm-step-distance`.

    >>> round(squared_distance_tabulated(51, 51, 2), 10)
    0.0194193243
    """
    a, b, t = _arguments(alpha, beta, step)
    if t == 0:
        return 0.0
    if t == 1:
        return squared_distance_odd(a, b, 1, printed=True)
    if t == 2:
        return float(-np.expm1(0.5 * (np.log1p(-1.0 / b) - np.log1p(1.0 / a))))
    raise ValueError(f"step must be 0, 1 or 2, the columns of the tables, got {t}")


def smooth_step_probability(
    counts: ArrayLike,
    prior: ArrayLike,
    epsilon: float,
    squared: ArrayLike,
) -> NDArray[np.float64]:
    """Return the expMech-smooth entries exp(-epsilon c / 4S) / Z of D, Tables 1 and 2.

    c is the root of `squared`, values of H^2 of any shape; Z sums the weights of all candidates, S
    is the smooth sensitivity with gamma = 1. Two categories. Source: D, equation 3; book:
    `thm-step-distance`.

    >>> smooth_step_probability([300, 300], [1, 1], 1.0, [0.0]).round(6)
    array([0.120252])
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    _validate.prior("prior", alpha, 2)
    exact = mechanism("expMech-smooth", _validate.positive("epsilon", epsilon)).law(x, alpha)
    smooth = smooth_sensitivity(x, alpha).value
    weight = np.exp(-epsilon * np.sqrt(np.asarray(squared, dtype=np.float64)) / (4.0 * smooth))
    return np.asarray(weight * exact.probability(x))


@dataclass(frozen=True)
class TableEntry:
    """One expMech entry of D, Tables 1 and 2: the posterior, the step, and its probability.

    `printed` follows the tables' column head and is NaN where that is not a squared distance.
    """

    alpha: float
    beta: float
    step: int
    printed: float
    corrected: float


def expmech_row(counts: ArrayLike, prior: ArrayLike, epsilon: float, step: int) -> TableEntry:
    """Return the expMech entry of D, Table 1, for step 0, 1 or 2, as printed and corrected.

    >>> entry = expmech_row([30, 70], [1, 1], 1.0, 2)
    >>> round(entry.printed, 6), round(entry.corrected, 6)
    (0.053776, 0.053718)
    """
    x, prior_parameters = _validate.counts_and_prior(counts, prior)
    alpha, beta = (float(a) for a in _validate.prior("prior", prior_parameters, 2) + x)
    head = squared_distance_tabulated(alpha, beta, step)
    squared = [head if head >= 0.0 else np.nan, squared_distance(alpha, beta, step)]
    printed, corrected = smooth_step_probability(x, prior_parameters, epsilon, squared)
    return TableEntry(alpha, beta, step, float(printed), float(corrected))


def limit_step_probability(step: ArrayLike, epsilon: float) -> NDArray[np.float64]:
    """Return what the expMech-smooth probability of step t tends to as balanced data grow.

    The distance of t records tends to t times that of one, so the weights become e^(-epsilon t/4)
    and the probability tanh(epsilon/8) e^(-epsilon |t|/4). Book: `thm-step-limit`.

    >>> limit_step_probability([0, 1], 1.0).round(6)
    array([0.124353, 0.096846])
    """
    rate = _validate.positive("epsilon", epsilon) / 4.0
    return np.asarray(np.tanh(rate / 2.0) * np.exp(-rate * np.abs(np.asarray(step))))


def balanced_step_probabilities(
    sizes: ArrayLike, prior: ArrayLike, epsilon: float, steps: ArrayLike
) -> NDArray[np.float64]:
    """Return the expMech-smooth probability of each step up on balanced data, shape (sizes, steps).

    `sizes` are even and above twice the largest of `steps`, which are at least 0. The step-0 column
    is the probability of the exact posterior. Source: the left sides of the equations of D,
    section 6.3.
    """
    ahead = np.atleast_1d(np.asarray(steps))
    rows = []
    for n in np.atleast_1d(np.asarray(sizes)):
        size = _validate.integer("sizes", n, minimum=2)
        if size % 2 or size <= 2 * int(ahead.max()):
            raise ValueError(f"sizes must be even and above {2 * int(ahead.max())}, got {size}")
        half = np.array([size // 2, size // 2])
        a, b = _validate.prior("prior", prior, 2) + half
        squared = [squared_distance(float(a), float(b), int(t)) for t in ahead]
        rows.append(smooth_step_probability(half, prior, epsilon, squared))
    return np.array(rows)


@dataclass(frozen=True)
class StepRange:
    """The solution of one equation of D, section 6.3: where expMech-smooth beats a Laplace rival.

    `laplace` is the right side, `limit` what the left side tends to with the data, `better` the
    stretches (first, last) of the sizes that were looked at on which the left side is larger.
    """

    step: int
    rival: str
    laplace: float
    limit: float
    better: tuple[tuple[int, int], ...]

    @property
    def text(self) -> str:
        """The stretches in words."""
        ranges = [f"{a}" if a == b else f"{a} to {b}" for a, b in self.better]
        return ", ".join(ranges) or "none"


def step_ranges(
    sizes: ArrayLike, probabilities: ArrayLike, epsilon: float, steps: Sequence[int], sides: int = 1
) -> list[StepRange]:
    """Return, for each step and each Laplace rival, the sizes where expMech-smooth is ahead.

    `probabilities` (sizes, steps) come from :func:`balanced_step_probabilities`. `sides` 1 compares
    the single candidate t steps up, `sides` 2 both candidates t steps away.
    """
    if sides not in (1, 2):
        raise ValueError(f"sides must be 1 or 2, got {sides!r}")
    table = np.asarray(probabilities, dtype=np.float64)
    if table.shape != (np.size(sizes), len(steps)):
        raise ValueError(
            f"probabilities must have shape {(np.size(sizes), len(steps))}, got {table.shape}"
        )
    solutions = []
    for column, t in enumerate(steps):
        both = [t, -t] if sides == 2 and t > 0 else [t]
        limit = float(limit_step_probability(both, epsilon).sum())
        for rival, sensitivity in RIVALS.items():
            laplace = float(laplace_step_probability(both, epsilon, sensitivity).sum())
            better = ranges(sizes, len(both) * table[:, column] > laplace)
            solutions.append(StepRange(t, rival, laplace, limit, tuple(better)))
    return solutions


def exact_release_epsilon(
    n: int, prior: ArrayLike, rival: str, low: float = 1.0, high: float = 50.0
) -> float:
    """Return the epsilon from which expMech-smooth is exact more often than a Laplace rival.

    The first equation of D, section 6.3, solved for epsilon at n balanced records by bisection:
    the rival is ahead at `low` and behind at `high`, or ValueError says that there is no change.
    """
    sensitivity = RIVALS[_validate.choice("rival", rival, RIVALS)]

    def ahead(epsilon: float) -> bool:
        smooth = balanced_step_probabilities([n], prior, epsilon, [0])[0, 0]
        return bool(smooth > laplace_step_probability([0], epsilon, sensitivity)[0])

    if ahead(low) or not ahead(high):
        raise ValueError(f"the order at step 0 does not change between {low} and {high}")
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if ahead(middle) else (middle, high)
    return high


def ranges(values: ArrayLike, holds: ArrayLike) -> list[tuple[int, int]]:
    """Return the stretches (first, last) of increasing `values` on which `holds` is true.

    >>> ranges([2, 4, 6, 8, 10], [True, True, False, True, True])
    [(2, 4), (8, 10)]
    """
    points, truth = np.asarray(values), np.asarray(holds, dtype=bool)
    if points.shape != truth.shape or points.ndim != 1:
        raise ValueError(f"values and holds must have one shape (m,), got {points.shape}")
    edges = np.diff(np.concatenate(([False], truth, [False])).astype(np.int64))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return [(int(points[i]), int(points[j])) for i, j in zip(starts, stops, strict=True)]
