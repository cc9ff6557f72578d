"""Laws of exponential mechanisms: P[r] proportional to e^(-rate d(r)) over all
candidates r.

All are listed while they are few, at two categories those that matter. Beyond, the
weight is a short sum of powers of the affinity (`powers`), and the sum of a power over
all candidates is one convolution (`convolution`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.divergences import affinity_of_counts, distance_from_log_affinity
from dpbayes.laws.convolution import AffinityProduct
from dpbayes.laws.estimate import (
    Yardstick,
    drawn_mean,
    log_affinity_of_outputs,
    power_of_affinity,
)
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.laws.law import Unlisted
from dpbayes.laws.numbers import (
    Estimate,
)
from dpbayes.laws.powers import DEPTH, Powers, weight_powers
from dpbayes.posteriors import compositions

LARGEST_WINDOW = 4_000_000  # most outputs of a window at two categories: some 100 MB
# of a sum over candidates, a product of up to 50 factors and a transform
_ROUNDING = 2.0**-42
_ROUNDED = 1.0 + 1e-12  # so that a bound that is met is one in floats as well


def listed_law(
    prior: Floats, counts: Whole, rate: float, exponent: float = 1.0
) -> FiniteLaw:
    """Return P[r] proportional to exp(-rate sqrt(1 - BC^exponent)), every candidate
    listed.

    >>> law = listed_law(np.ones(2), np.array([3, 1]), 2.0)
    >>> round(float(law.mean_distance()), 6)
    0.272722
    """
    outputs = compositions(int(counts.sum()), counts.size)
    log_bc = log_affinity_of_outputs(prior, counts, outputs)
    logs = normalised(-rate * distance_from_log_affinity(log_bc, exponent))
    return FiniteLaw(
        prior, counts, outputs, logs, 0.0, distance_from_log_affinity(log_bc)
    )


def exponential_window(
    prior: Floats, counts: Whole, rate: float, exponent: float = 1.0
) -> FiniteLaw | None:
    """Return the same at k = 2 on the window that matters; None beyond `LARGEST_WINDOW`
    outputs.

    Kept are the outputs with rate * distance <= 42 + ln(n + 1): the distance grows on
    either side of x, so all others together weigh at most (n + 1) times the first one
    dropped, which bounds `mass_outside` by e^-42. Book: `thm-window`.
    """
    n, first = int(counts.sum()), int(counts[0])

    def scores(steps: Whole) -> Floats:
        log_bc = affinity_of_counts(prior[0], first, first + steps)
        log_bc = log_bc + affinity_of_counts(prior[1], n - first, n - first - steps)
        return rate * distance_from_log_affinity(np.minimum(log_bc, 0.0), exponent)

    depth = DEPTH + float(np.log1p(n))
    low = last_below(lambda d: float(scores(np.array([-d]))[0]), first, depth)
    high = last_below(lambda d: float(scores(np.array([d]))[0]), n - first, depth)
    if low + high + 1 > LARGEST_WINDOW:
        return None
    steps = np.arange(-low, high + 1)
    logs = -scores(steps)
    dropped = n - low - high
    edges = [
        scores(np.array([d]))[0] for d in (-low - 1, high + 1) if 0 <= first + d <= n
    ]
    kept = float(np.exp(logs).sum())
    outside = _ROUNDED * dropped * float(np.exp(-min(edges))) / kept if edges else 0.0
    outputs = np.column_stack((first + steps, n - first - steps))
    distances = -logs / rate if exponent == 1.0 else None
    return FiniteLaw(prior, counts, outputs, normalised(logs), outside, distances)


def last_below(value: Callable[[int], float], most: int, limit: float) -> int:
    """Return the last step in 0 … most whose value, increasing in the step, is at most
    `limit`.

    >>> last_below(lambda step: step**2.0, 100, 50.0)
    7
    """
    high = 1
    while high < most and value(high) <= limit:
        high *= 2
    return bisect_right(range(1, min(high, most) + 1), limit, key=value)


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialLaw(ByValue, Unlisted):
    """P[r] proportional to exp(-rate sqrt(1 - BC(x, r)^exponent)) over all r of n >= 1
    records.

    `exponent` is 1 where the score is the Hellinger distance and 1/ln(prior + n) for
    the published one. Nothing is enumerated. Book: `thm-series`, `thm-product-form`.

    >>> law = ExponentialLaw(np.ones(4), np.full(4, 2500), 20.0)
    >>> round(law.mean_distance(), 6)
    0.212871
    """

    prior: Floats
    counts: Whole
    rate: float
    exponent: float = 1.0

    @cached_property
    def _product(self) -> AffinityProduct:
        return AffinityProduct(self.prior, self.counts)

    @cached_property
    def _log_candidates(self) -> float:
        # ln C(n + k - 1, k - 1), the number of histograms of n records.
        return float(
            np.log1p(self.counts.sum() / np.arange(1.0, self.counts.size)).sum()
        )

    def _fit(self, reported: float) -> Powers:
        # In powers of z = BC^exponent, z = e^-c.
        gap = self.exponent * self._product.gap
        return weight_powers(
            self.rate, gap, self._log_candidates, reported / self.exponent
        )

    @cached_property
    def _known(self) -> dict[float, float]:
        return {0.0: self._log_candidates}

    def _log_others(self, powers: Floats) -> Floats:
        # ln of the sum of BC^power over all candidates but the truth, whose BC is 1.
        for power in powers.tolist():
            if power not in self._known:
                self._known[power] = self._product.tilted(power).log_at_zero()
        logs = np.array([self._known[power] for power in powers.tolist()])
        with np.errstate(divide="ignore"):
            return np.asarray(
                np.maximum(logs, 0.0) + np.log(-np.expm1(-np.maximum(logs, 0.0)))
            )

    def _sums(self, reported: float) -> tuple[float, Floats, float, float]:
        """Return ln of a unit, sums over the others in it, the error of the fit and of
        rounding.

        The error of the fit is relative to the distance; the sum over the others is
        what is left of the sum over all when the truth is taken out.
        """
        found = self._fit(reported)
        logs = self._log_others(self.exponent * found.powers)
        with np.errstate(divide="ignore"):
            weights = np.log(found.weights)
        terms = weights + logs
        unit = max(0.0, float(terms.max()))
        lost = float(np.exp(weights + np.logaddexp(logs, 0.0) - unit).sum(axis=1).max())
        return (
            unit,
            np.exp(terms - unit).sum(axis=1),
            float(found.errors.max()),
            _ROUNDING * lost,
        )

    def moment(self, order: int, metric: Yardstick) -> Estimate:
        # Row r of the fit holds 1 - d'^r; the truth has d' = 0.
        """Return E[distance^order], order 1 or 2.

        With weights w = e^(-rate d) the mean is sum w d' / sum w over all candidates, d
        the score and d' the distance reported. `powers.weight_powers` writes w, (1 -
        d') w and (1 - d'^2) w as short sums of powers of the affinity, and the sum of a
        power over all candidates is one convolution. Where the metric is no power of
        the affinity, the mean is drawn. Book: `thm-series`.
        """
        reported = power_of_affinity(
            metric, float(self.prior.sum() + self.counts.sum())
        )
        if reported is None:
            return drawn_mean(self, metric, order)
        unit, sums, error, lost = self._sums(reported)
        total = sums[0] + np.exp(-unit)
        value = max(float((sums[0] - sums[order]) / total), 0.0)
        # Errors of both fits are relative to the distance, and so is that of the total.
        own = self.mean_distance() if order == 2 else value
        rounding = 3.0 * lost / float(total) + _ROUNDING
        return Estimate(value, 3.0 * error * min(float(own), 1.0) + rounding, "series")

    @cached_property
    def log_partition(self) -> float:
        """Ln of the sum of all weights e^(-rate H), that of the truth being 1; at least
        0.
        """
        unit, sums, *_ = self._sums(self.exponent)
        return unit + float(np.log(sums[0] + np.exp(-unit)))

    def each_probability(self, rows: Whole) -> Floats:
        """Return e^(-rate H) / Z for each row of a checked table (m, k), shape (m,).

        Z is the sum over all candidates, e^`log_partition`; 0 for rows whose sum is not
        n.
        """
        log_bc = log_affinity_of_outputs(self.prior, self.counts, rows)
        scores = distance_from_log_affinity(log_bc, self.exponent)
        found = np.exp(-self.rate * scores - self.log_partition)
        return np.where(rows.sum(axis=1) == self.counts.sum(), found, 0.0)

    def one_probability(self, counts_out: Whole) -> Estimate:
        """Return e^(-rate H) / Z of one output (k,); its relative error is that of
        Z.
        """
        value = float(self.each_probability(counts_out[None])[0])
        unit, sums, error, lost = self._sums(self.exponent)
        rounding = lost / float(sums[0] + np.exp(-unit)) + _ROUNDING
        return Estimate(value, (error + rounding) * value, "series")

    def draws(self, rng: np.random.Generator, size: int) -> Whole:
        """Return draws that are right up to the error of the fit.

        A power is drawn by its share of all weights, then the counts given the power;
        the truth is thinned to its own weight.
        """
        found = self._fit(self.exponent)
        with np.errstate(divide="ignore"):
            terms = np.log(found.weights[0]) + self._log_others(
                self.exponent * found.powers
            )
        masses = np.append(
            np.exp(terms - max(terms.max(), 0.0)), np.exp(-max(terms.max(), 0.0))
        )
        repeats = rng.multinomial(size, masses / masses.sum())
        parts = [np.tile(self.counts, (int(repeats[-1]), 1))]
        for power, repeat in zip(found.powers, repeats[:-1].tolist(), strict=True):
            if repeat:
                parts.append(self._others(rng, float(self.exponent * power), repeat))
        return np.asarray(rng.permutation(np.concatenate(parts), axis=0))

    def _others(self, rng: np.random.Generator, power: float, size: int) -> Whole:
        # Candidates other than the truth, in proportion to BC^power.
        n, k, tilted = int(self.counts.sum()), self.counts.size, None
        if power > 0.0:
            tilted = self._product.tilted(power)
        found = np.zeros((0, k), dtype=np.int64)
        share = max(-np.expm1(-self._known[power]), 1e-3)
        while len(found) < size:
            more = int((size - len(found)) / share) + 8
            if tilted is None:
                drawn = rng.multinomial(n, rng.dirichlet(np.ones(k), more))
            else:
                drawn = self.counts + tilted.draw(rng, more)[:, self._product.order]
            found = np.concatenate((found, drawn[np.any(drawn != self.counts, axis=1)]))
        return found[:size]
