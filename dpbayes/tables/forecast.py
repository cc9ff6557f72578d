"""The error of a release in a reader's units: records, and the width of an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate as check
from dpbayes._validate import Floats, Whole
from dpbayes._values import Shown
from dpbayes.divergences import hellinger
from dpbayes.laws.law import listed
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.tables.count_noise import CountNoise, Weighted, count_noise_of
from dpbayes.tables.shares import ShareReading, Shares

_NODES = 24  # values of the noise at which the width is computed
_PAIRS = 512  # counts that stand for all that a release leaves open
HARDLY, DOUBLED = 0.1, 1.0


@dataclass(frozen=True, repr=False)
class CountError(Shown):
    """How far one released count is off, and what that does to the interval of a share.

    The released count is within `within` of `count` with probability `level` or more.
    The noise-aware interval of level `confidence` for the share in the population has
    the mean width `width`, (1 + `wider`) times that of the interval from the true
    counts of `n` records. `distance` is the mean Hellinger distance between the two
    posteriors of this one share, the noisy count cut to 0 … n.
    """

    count: int
    n: int
    within: int
    wider: float
    width: float
    distance: float
    level: float = 0.9
    confidence: float = 0.95

    @property
    def sentence(self) -> str:
        """Both numbers in words."""
        often = "nine of ten" if self.level == 0.9 else f"{self.level:.0%} of all"
        return (
            f"A count of {self.count:,} comes out within ± {self.within:,} in"
            f" {often} releases. The noise-aware {self.confidence:.0%} interval of its"
            f" share is {self.widening} without noise."
        )

    @property
    def widening(self) -> str:
        """By how much the interval is wider, in words that go on with "without noise".

        >>> CountError(500, 1000, 12, 0.084, 0.066, 0.1).widening
        '8% wider than'
        """
        if self.wider >= DOUBLED:
            return f"{1.0 + self.wider:.1f} times as wide as"
        return f"{self.wider:.{0 if self.wider >= 0.01 else 1}%} wider than"

    @property
    def advice(self) -> str:
        """What to do about an error of this size."""
        if self.wider < HARDLY:
            return "The noise hardly matters beside the number of records."
        if self.wider < DOUBLED:
            return "The number of records matters more than the noise."
        return (
            "The noise matters more than the number of records: merge categories, raise"
            " epsilon or ask more people."
        )


def count_error(
    mechanism: Mechanism,
    counts: ArrayLike,
    category: int = 0,
    *,
    prior: ArrayLike | None = None,
    design_effect: float = 1.0,
    level: float = 0.9,
    confidence: float = 0.95,
) -> CountError:
    """Return the error of one released count in records, and how much wider it makes
    the noise-aware interval.

    `counts` (k,) are made up, as `dp.split` has them, `category` is one of them. The
    probability of `level` is that of the exact law of the noise on this count, before
    counts below 0 are repaired, or of the released count, for mechanisms that choose
    among histograms under a `prior` (k,), flat if None. Width and distance are means
    over that law; both intervals have the `design_effect` of the records. Raises
    ValueError where the release could not be read. Book: `def-share-reading`.

    >>> from dpbayes.mechanisms import mechanism
    >>> lattice = mechanism("lattice", 1.0)
    >>> found: CountError = count_error(lattice, [500, 300, 200])
    >>> found.within, round(found.wider, 3), found.count
    (3, 0.006, 500)
    >>> print(found.sentence.partition(".")[0])
    A count of 500 comes out within ± 3 in nine of ten releases
    """
    check.offering("mechanism", mechanism, "law")
    x, alpha = check.counts_and_prior(
        counts, np.ones(np.size(counts)) if prior is None else prior
    )
    i = check.integer("category", category, 0, x.size - 1)
    inside = check.open_unit("level", level)
    check.open_unit("confidence", confidence)
    count, n = int(x[i]), int(x.sum())
    if n < 1:
        raise ValueError(f"counts must hold at least one record, got {x.tolist()}")
    noise = count_noise_of(mechanism, x.size)
    if noise is None:
        error, readings = _listed(mechanism, x, alpha, i, design_effect)
    else:
        error = noise.law(frozenset({i}))
        readings = _readings(mechanism, noise, x, i, design_effect)
    sizes = np.abs(error.values)
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(error.weights[order]) >= inside - 1e-12
    within = int(sizes[order][np.argmax(reached)])
    steps, weights = error.nodes(_NODES)
    widths = np.array([_width(readings(int(d)), confidence) for d in steps])
    plain = ShareReading(
        count / n, x[[i]], np.array([n]), np.ones(1),
        float(count == 0), float(count == n),
        design_effect=design_effect,
    )  # fmt: skip
    width = float(weights @ widths)
    wider = max(width / _width(plain, confidence) - 1.0, 0.0)
    seen = np.clip(count + error.values, 0, n)
    true, noisy = (np.stack([1.0 + c, 1.0 + n - c], axis=-1) for c in (x[[i]], seen))
    distance = float(error.weights @ hellinger(true, noisy))
    return CountError(count, n, within, wider, width, distance, inside, confidence)


def records_for(mechanism: Mechanism, share: float, k: int, wider: float = 0.1) -> int:
    """Return from how many records on the noise makes an interval hardly wider.

    The noise-aware interval of a `share` in (0, 1) of k categories is then about
    (1 + `wider`) times as wide as without noise. Sampling gives the count the variance
    n share (1 - share), the noise adds its own, v, and n solves
    (1 + wider)^2 = 1 + v / (n share (1 - share)). Raises ValueError for a mechanism
    whose noise is not that of single counts.

    >>> from dpbayes.mechanisms import mechanism
    >>> records_for(mechanism("lattice", 1.0), 0.25, 4)
    103
    """
    p = check.open_unit("share", share)
    target = check.positive("wider", wider)
    noise = count_noise_of(mechanism, k)
    if noise is None:
        raise ValueError(
            f"mechanism must add noise to the counts, got {mechanism.name}"
        )
    variance = noise.law(frozenset({0})).variance
    return math.ceil(variance / (p * (1.0 - p) * ((1.0 + target) ** 2 - 1.0)))


Readings = Callable[[int], ShareReading]


def _width(reading: ShareReading, confidence: float) -> float:
    low, high = reading.thinned(_PAIRS).interval(confidence)
    return high - low


def _readings(
    mechanism: Mechanism, noise: CountNoise, x: Whole, i: int, effect: float
) -> Readings:
    """Return the reading of category i for a given step of its noisy count."""

    def at(step: int) -> ShareReading:
        drawn, other = x[: noise.noisy].copy(), int(i == 0)
        if i < noise.noisy:
            drawn[i] += step
        # where the noise sums to zero, or i takes what is left, another count moves
        if noise.public and (noise.noisy == x.size or i >= noise.noisy):
            drawn[other] -= step
        n = int(x.sum()) if noise.public else None
        shares = Shares(mechanism, drawn, n, x.size, design_effect=effect)
        return shares.read([i])

    return at


def _listed(
    mechanism: Mechanism, x: Whole, alpha: Floats, i: int, effect: float
) -> tuple[Weighted, Readings]:
    """Return the law of the error of count i, and its reading for a given error."""
    law = listed(mechanism.law(x, alpha), "the error of one count")
    outputs, probabilities = np.asarray(law.outputs), np.asarray(law.probabilities)
    errors = outputs[:, i] - x[i]
    start = int(errors.min())
    weights = np.bincount(errors - start, probabilities).astype(np.float64)
    n, k = int(x.sum()), x.size

    def at(step: int) -> ShareReading:
        likely = np.where(errors == step, probabilities, -1.0)
        drawn = outputs[int(np.argmax(likely))]
        shares = Shares(mechanism, drawn, n, k, None, effect, repaired=True)
        return shares.read([i])

    return Weighted.of_weights(start, weights), at
