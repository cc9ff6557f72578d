"""Sums of a power of the affinity over all candidates: Z(s) = sum over r in R of BC(r)^s.

BC^s is a product over categories, so Z(s) is one entry of a convolution: with X_i independent,
P(X_i = d) proportional to exp(s psi_i(d) + theta d), Z(s) is the product of the normalisations
times P(sum of X_i = 0), for every theta. That probability is the mean of the product of the
discrete Fourier transforms over all frequencies. Book: `thm-product-form`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.series.category_windows import Windows, build_windows

_KEPT = 4096  # exponents of one data set
_TAIL = 46.0
_ROUNDING = 2.0**-53


@dataclass(frozen=True)
class Factors:
    """The normalised, tilted factors of one exponent, and how much the categories left out.

    `masses` (g, w) sum to 1 row by row over the steps -down … up, `log_scale` is the logarithm of
    the product of what they were divided by, `outside` bounds the relative mass beyond the slab.
    """

    masses: NDArray[np.float64]
    down: int
    up: int
    log_scale: float
    deviation: float
    outside: float
    roundings: float


@dataclass(frozen=True)
class AffinitySums:
    """Z(s) for one data set; `smallest` is the smallest positive exponent that is asked for."""

    prior: NDArray[np.float64]
    counts: NDArray[np.int64]
    smallest: float
    _wider: dict[int, Windows] = field(default_factory=dict, repr=False, compare=False)

    @property
    def depth(self) -> float:
        """How deep, in ln, a window reaches before tilting."""
        return _TAIL + float(np.log1p(self.counts.sum()))

    def windows(self, factor: int = 1) -> Windows:
        """Return the windows `factor` times as deep as `depth`."""
        if factor not in self._wider:
            depth = factor * self.depth
            self._wider[factor] = build_windows(self.prior, self.counts, self.smallest, depth)
        return self._wider[factor]

    def factors(self, exponent: float) -> Factors:
        """Return the factors whose product is BC^exponent, tilted to sum to n on average."""
        factor = 1
        while True:
            windows = self.windows(factor)
            result = _tilted(windows, exponent, factor * self.depth, int(self.counts.sum()))
            if result.outside < np.exp(-_TAIL + 8.0) or factor >= 64:
                return result
            factor *= 2

    def log_sums(self, exponents: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return ln Z(s) at each exponent s >= 0, and a bound on the relative error of every Z.

        Laws of one data set at several rates ask for the same exponents: these are kept.
        """
        known = _known(self.prior.tobytes(), self.counts.tobytes(), self.smallest)
        if len(known) > _KEPT:
            known.clear()
        found = np.empty((2, exponents.size))
        for i, exponent in enumerate(exponents.tolist()):
            if exponent not in known:
                known[exponent] = self._log_sum(exponent)
            found[:, i] = known[exponent]
        return found[0], float(found[1].max(initial=_ROUNDING * 4.0))

    def _log_sum(self, exponent: float) -> tuple[float, float]:
        if exponent > 0.0:
            return _log_sum(self.factors(exponent), self.windows().copies)
        log_candidates = log_number_of_candidates(int(self.counts.sum()), self.counts.size)
        return log_candidates, _ROUNDING * 4.0 * max(log_candidates, 1.0)

    def transformed(self, exponents: NDArray[np.float64]) -> int:
        """Return how many numbers the transforms behind `log_sums` take in, all terms together."""
        copies = self.windows().copies
        lengths = (_length(self.factors(float(s)), copies) for s in exponents if s > 0.0)
        return copies.size * sum(lengths)


@functools.lru_cache(maxsize=64)
def _known(prior: bytes, counts: bytes, smallest: float) -> dict[float, tuple[float, float]]:
    """Return what is known of one data set: ln Z(s) and its error, by the exponent s."""
    return {}


def forget() -> None:
    """Drop the sums that are kept of data sets seen before, so that a law is timed as the first.

    >>> forget()
    >>> kept()
    0
    """
    _known.cache_clear()


def kept() -> int:
    """Return of how many data sets sums are kept.

    >>> kept() <= 64
    True
    """
    return _known.cache_info().currsize


def _tilted(windows: Windows, exponent: float, depth: float, n: int) -> Factors:
    down, up = windows.slab(exponent, depth)
    middle = windows.down
    table = exponent * windows.table[:, middle - down : middle + up + 1]
    steps = np.arange(-down, up + 1, dtype=np.float64)
    theta, bounds = 0.0, [-np.inf, np.inf]
    for _ in range(200):
        masses, logs, means, variances = _moments(table, steps, theta)
        mean, variance = float(windows.copies @ means), float(windows.copies @ variances)
        if mean * mean <= 0.25 * max(variance, 1e-6):
            break
        bounds[0 if mean < 0 else 1] = theta
        theta = _newton(theta, mean, variance, bounds)
    deviation = float(np.sqrt(variance))
    outside = _outside(windows, table, logs, down, up, theta, exponent, n)
    roundings = float(windows.copies @ -np.einsum("ij,ij->i", masses, table))
    scale = float(windows.copies @ logs)
    return Factors(masses, down, up, scale, deviation, outside, roundings)


def _moments(
    table: NDArray[np.float64], steps: NDArray[np.float64], theta: float
) -> tuple[NDArray[np.float64], ...]:
    logs = table if theta == 0.0 else table + theta * steps
    peaks = np.zeros(len(table)) if theta == 0.0 else logs.max(axis=1)
    masses = np.exp(logs) if theta == 0.0 else np.exp(logs - peaks[:, None])
    sums = masses.sum(axis=1)
    masses /= sums[:, None]
    means = masses @ steps
    variances = np.maximum(masses @ (steps * steps) - means**2, 0.0)
    return masses, peaks + np.log(sums), means, variances


def _newton(theta: float, mean: float, variance: float, bounds: list[float]) -> float:
    # The mean increases with theta; stay inside the bracket, and do not leap before there is one.
    proposal = theta - mean / variance if variance > 0 else -np.sign(mean) * np.inf
    low, high = bounds
    if np.isfinite(low) and np.isfinite(high):
        return proposal if low < proposal < high else 0.5 * (low + high)
    reach = max(2.0 * abs(theta), 1e-3)
    return float(np.clip(proposal, theta - reach, theta + reach))


def _outside(
    windows: Windows,
    table: NDArray[np.float64],
    logs: NDArray[np.float64],
    down: int,
    up: int,
    theta: float,
    exponent: float,
    n: int,
) -> float:
    # Beyond an end that is not the end of what is possible the factors keep falling: psi is
    # concave there but for the last stretch of a category with a < 1/2, where its slope tends to
    # -ln(2)/2. At most n + 1 counts lie outside, each no heavier than the last one kept.
    worst = -np.inf
    rows = np.arange(len(table))
    low, high = np.minimum(windows.lows, down), np.minimum(windows.highs, up)
    for cut, reach, sign in (
        (windows.cut_low | (low < windows.lows), low, -1),
        (windows.cut_high | (high < windows.highs), high, 1),
    ):
        if not np.any(cut):
            continue
        edge = table[rows, down + sign * reach] + theta * sign * reach - logs
        worst = max(worst, float(edge[cut].max()))
        if sign == 1 and theta >= 0.34 * exponent:
            return np.inf
    return float(min(np.exp(min(worst + np.log(n + 1.0), 1.0)), 1.0)) * float(windows.copies.sum())


def _log_sum(factors: Factors, copies: NDArray[np.int64]) -> tuple[float, float]:
    length = _length(factors, copies)
    wrapped = np.zeros((copies.size, length))
    wrapped[:, : factors.up + 1] = factors.masses[:, factors.down :]
    if factors.down > 0:
        wrapped[:, length - factors.down :] = factors.masses[:, : factors.down]
    spectrum = np.fft.rfft(wrapped, axis=1)
    product = (
        np.prod(spectrum ** copies[:, None], axis=0)
        if copies.size > 1
        else (spectrum[0] ** int(copies[0]))
    )
    total = 2.0 * float(product.real.sum()) - float(product[0].real)
    if length % 2 == 0:
        total -= float(product[-1].real)
    probability = total / length
    if not probability > 0.0:
        return factors.log_scale, np.inf
    logarithm = factors.log_scale + float(np.log(probability))
    carried = _carried(factors, copies, spectrum)
    error = _relative_error(factors, copies, length, probability, carried)
    return logarithm, error + 8.0 * _ROUNDING * (1.0 + abs(logarithm))


def _relative_error(
    factors: Factors,
    copies: NDArray[np.int64],
    length: int,
    probability: float,
    carried: float,
) -> float:
    transforms = 7.0 * np.log2(length + 1.0) * carried / probability
    products = 8.0 * float(copies.sum()) + 4.0 * factors.roundings
    wrapped = np.exp(-_TAIL)
    rounding = _ROUNDING * (transforms + products)
    return float(rounding + factors.outside / probability + wrapped)


def _carried(
    factors: Factors, copies: NDArray[np.int64], spectrum: NDArray[np.complex128]
) -> float:
    # A transform errs by 7 u log2(L) of its own norm; Parseval and Cauchy-Schwarz carry that to
    # the one entry that is read, at most norm_i times the norm of the product of all others. That
    # is known when all categories are equal; otherwise norm_l of any other category l bounds it.
    norms = np.sqrt(np.einsum("ij,ij->i", factors.masses, factors.masses))
    order = np.argsort(norms)
    partner = np.where(copies > 1, norms, np.inf)
    best_other = np.full(norms.size, norms[order[0]])
    best_other[order[0]] = norms[order[1]] if norms.size > 1 else np.inf
    partner = np.minimum(partner, best_other)
    if copies.size == 1 and copies[0] > 2:
        sizes = np.abs(spectrum[0])
        length = 2 * sizes.size - 2 if sizes.size > 1 else 1
        others = float(np.sqrt(2.0 * np.sum(sizes ** (2.0 * (copies[0] - 1.0))) / length))
        partner = np.minimum(partner, 1.001 * others)
    return float(copies @ (norms * partner))


def _length(factors: Factors, copies: NDArray[np.int64]) -> int:
    # P(|sum| >= L) <= E exp(eta sum) exp(-eta L): long enough that what wraps around is e^-46 of
    # what is read, but never longer than the sum can reach.
    width = factors.down + factors.up + 1
    steps = np.arange(-factors.down, factors.up + 1, dtype=np.float64)
    deviation = max(factors.deviation, 0.05)
    depth = _TAIL + np.log(10.0 * deviation + 10.0)
    lengths = []
    for reach, sign in ((factors.up, 1.0), (factors.down, -1.0)):
        tries = []
        for multiple in (4.0, 7.0, 11.0):
            eta = min(multiple / deviation, 300.0 / max(reach, 1))
            growth = np.log(factors.masses @ np.exp(np.minimum(sign * eta * steps, 600.0)))
            tries.append((float(copies @ growth) + depth) / eta)
        lengths.append(min([*tries, float(copies.sum()) * reach + 1.0]))
    return _fast_length(max(int(np.ceil(max(lengths))) + 1, width))


def _fast_length(size: int) -> int:
    # Products of small primes, at most an eighth longer than asked.
    power = max(size.bit_length() - 4, 0)
    multiples = (m << shift for shift in (power, power + 1) for m in (8, 9, 10, 12, 15))
    return min(length for length in multiples if length >= size)


def log_number_of_candidates(n: int, k: int) -> float:
    """Return ln |R| = ln C(n+k-1, k-1), as a sum of k - 1 logarithms that cancel nothing."""
    return float(np.log1p(n / np.arange(1, k, dtype=np.float64)).sum())


def nearest_gap(prior: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """Return c > 0 with BC(r) <= exp(-c) for every candidate r other than the true posterior.

    Such an r has a category with more records and one with fewer, and psi falls on either side.
    """
    more = float(affinity_of_counts(prior, counts, counts + 1).max())
    held = counts > 0
    fewer = float(affinity_of_counts(prior[held], counts[held], counts[held] - 1).max())
    return -(more + fewer)
