"""One share of a release, read on its own: what the noise leaves open about it.

A prior for all shares together is a strong opinion about each of them: under a flat
Dirichlet prior no one of fifty shares is expected above .1. So a share is read from the
table in which there are only its category and the others, any share being equally
likely beforehand. Two intervals follow. That of the *table* is for the share among the
records that were counted. That of the *population* is for the share among all those of
whom the records are a random sample, so it is never much narrower than a sample of this
size allows. For a census, which holds everybody, only the first has a meaning.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import betainc, logsumexp

from dpbayes import _validate as check
from dpbayes._roots import root
from dpbayes._validate import Floats, Whole
from dpbayes._values import Shown
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.tables.count_noise import CountNoise, Weighted, count_noise_of
from dpbayes.tables.reading import listed_likelihoods, log_prior_factor

UNIFORM = (1.0, 1.0)
NOISE, PRIOR = "noise", "prior"  # why an interval is not to be relied on
MOVED, MOST = 0.25, 0.5
_TOTALS = 48  # totals, and counts at each, that stand for those of a secret number
_COUNTS = 256


@dataclass(frozen=True, repr=False)
class ShareReading(Shown):
    """A share between 0 and 1, given one release: x of t records, with probabilities.

    `count`, `total` and `weights` (N,) list the pairs (x, t) that may have been
    counted; `estimate` is the drawn share, cut to [0, 1]; `prior` are the parameters of
    the Beta distribution of the share before the release, `design_effect` says how many
    records are worth one independent one. `none` and `all` are likelihoods, of a count
    of 0 and of everybody, as shares of the largest likelihood of any count. Where one
    is above 1 - level it is not ruled out: then the intervals begin at 0, or end at 1,
    and have their whole tail on the other side.
    """

    estimate: float
    count: Whole = field(repr=False)
    total: Whole = field(repr=False)
    weights: Floats = field(repr=False)
    none: float
    all: float
    prior: tuple[float, float] = UNIFORM
    design_effect: float = 1.0

    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        (a, b), deff = self.prior, self.design_effect
        return a + self.count / deff, b + (self.total - self.count) / deff

    @property
    def mean(self) -> float:
        """The mean of the share in the population."""
        a, b = self._parameters
        return float(self.weights @ (a / (a + b)))

    def reached(self, share: float) -> float:
        """Return the probability that the population's share is at most `share`."""
        return float(self.weights @ betainc(*self._parameters, share))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the share in the population of which this is a sample.

        Its probability given the release is `level`: central, with its whole tail on
        one side where a count of 0, or of everybody, is not ruled out, and [0, 1] where
        neither is. It holds for records that are a random sample, or sampled in groups
        with this `design_effect`.
        """
        low, high = self._tails(level)
        return (
            0.0 if low == 0.0 else self._quantile(low),
            1.0 if high == 1.0 else self._quantile(high),
        )

    def _quantile(self, chance: float) -> float:
        """Return the share that is not exceeded with this probability, to 1e-12."""
        # Cantelli: it is within so many standard deviations of the mean
        a, b = self._parameters
        mean = self.mean
        means = a / (a + b)  # no square of a + b, which may be tiny
        variances = means * (b / (a + b)) / (a + b + 1.0) + (means - mean) ** 2
        deviation = float(self.weights @ variances) ** 0.5
        odds = chance / (1.0 - chance)
        low = max(mean - deviation * odds**-0.5 - 1e-9, 0.0)
        high = min(mean + deviation * odds**0.5 + 1e-9, 1.0)
        return root(lambda t: self.reached(t) - chance, low, high)

    def thinned(self, most: int) -> ShareReading:
        """Return a reading of at most `most` of the pairs, the medians of equal parts
        of their probability: nearly the same intervals in less time.
        """
        if self.weights.size <= most:
            return self
        order = np.argsort(self.count / np.maximum(self.total, 1), kind="stable")
        reached, aims = np.cumsum(self.weights[order]), (np.arange(most) + 0.5) / most
        places, times = np.unique(np.searchsorted(reached, aims), return_counts=True)
        kept = order[np.minimum(places, order.size - 1)]
        count, total, weights = self.count[kept], self.total[kept], times / most
        return replace(self, count=count, total=total, weights=weights)

    def table_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the share in the table itself, whoever is in it.

        Its probability given the release is at least `level`, from the exact law of the
        counts where their total is public.
        """
        low, high = self._tails(level)
        shares = self.count / np.maximum(self.total, 1)
        order = np.argsort(shares, kind="stable")
        reached = np.cumsum(self.weights[order])
        last = shares.size - 1
        ends = np.searchsorted(reached, [low + 1e-12, high - 1e-12])
        first, end = shares[order[np.minimum(ends, last)]].tolist()
        return 0.0 if low == 0.0 else first, 1.0 if high == 1.0 else end

    def doubt(self, other: ShareReading, level: float = 0.95) -> str:
        """Return why this interval is not to be relied on, "" where it is.

        `NOISE`: it holds more than half of all shares. `PRIOR`: an end is further from
        that of `other`, the reading under which any share was equally likely
        beforehand, than a quarter of the width of that.
        """
        mine = self.interval(level)
        theirs = mine if other is self else other.interval(level)
        moved = max(abs(a - b) for a, b in zip(mine, theirs, strict=True))
        if moved > MOVED * (theirs[1] - theirs[0]):
            return PRIOR
        return NOISE if mine[1] - mine[0] > MOST else ""

    def _tails(self, level: float) -> tuple[float, float]:
        out = 1.0 - check.open_unit("level", level)
        none, everybody = self.none > out, self.all > out
        if none and everybody:
            return 0.0, 1.0
        if none or everybody:
            return (0.0, 1.0 - out) if none else (out, 1.0)
        return out / 2.0, 1.0 - out / 2.0


@dataclass(frozen=True, repr=False)
class Shares(Shown):
    """The shares of one release, each read on its own.

    `noisy` is what `mechanism` drew for `k` categories, `n` the public number of
    records, None where it is secret. Beforehand any share is equally likely, and where
    it is not n any total; `prior` (k,), if not None, are parameters of a Dirichlet
    distribution of all shares, whose Beta distributions are taken instead.
    `design_effect` is that of records which are not independent; `repaired` says that
    `noisy` is the released histogram. Book: `def-share-reading`. Raises ValueError
    where the noise is not that of single counts and there are too many histograms to be
    listed.

    >>> from dpbayes.mechanisms import mechanism
    >>> drawn = np.array([500, 300, 200])
    >>> shares = Shares(mechanism("lattice", 1.0), drawn, 1000, 3)
    >>> reading: ShareReading = shares.read([0])
    >>> np.round(reading.interval(), 3), np.round(reading.table_interval(), 3)
    (array([0.469, 0.531]), array([0.496, 0.504]))
    """

    mechanism: Mechanism
    noisy: Whole
    n: int | None
    k: int
    prior: Floats | None = None
    design_effect: float = 1.0
    repaired: bool = False

    def __post_init__(self) -> None:
        check.offering("mechanism", self.mechanism, "law")
        check.integer("k", self.k, minimum=2)
        check.flag("repaired", self.repaired)
        drawn = check.whole_numbers("noisy", self.noisy)
        object.__setattr__(self, "noisy", check.frozen(drawn))
        if self.n is not None:
            check.integer("n", self.n, minimum=1)
        deff = check.positive("design_effect", self.design_effect)
        if deff < 1.0:
            raise ValueError(f"design_effect must be at least 1, got {deff:g}")
        if self.prior is not None:
            prior = check.prior("prior", self.prior, self.k)
            object.__setattr__(self, "prior", check.frozen(prior))
        wanted = self.k if self._noise is None else self._noise.noisy
        if drawn.size != wanted:
            raise ValueError(
                f"noisy must have {wanted} entries for {self.mechanism.name} on"
                f" {self.k} categories, got {drawn.size}"
            )
        if self.n is None and (self._noise is None or self._noise.public):
            raise ValueError(f"n must be given to read {self.mechanism.name}, got None")

    @cached_property
    def _noise(self) -> CountNoise | None:
        return None if self.repaired else count_noise_of(self.mechanism, self.k)

    @cached_property
    def _listed(self) -> tuple[Whole, Floats]:
        """Histograms and the probability of what was drawn, where they are listed."""
        assert self.n is not None, "refused when made"
        flat = np.ones(self.k)
        return listed_likelihoods(self.mechanism, self.noisy, self.n, flat)

    def read(
        self, part: Collection[int], whole: Collection[int] | None = None
    ) -> ShareReading:
        """Return what is known of the records in `part` as a share of those in `whole`.

        Both are category numbers, `whole` all of them if None: [2] for the share of
        category 2, [2] of [0, 1, 2] for its share within a group. `part` is in `whole`
        and smaller.
        """
        everybody = range(self.k)
        places = [
            frozenset(check.integer(name, i, 0, self.k - 1) for i in given)
            for name, given in (("part", part), ("whole", whole or everybody))
        ]
        inside, group = places
        if not inside < group or not inside:
            raise ValueError(
                "part must be some of the categories of whole and not all of them, got"
                f" {sorted(inside)} of {sorted(group)}"
            )
        return self._read(inside, group)

    @property
    def each(self) -> Iterator[ShareReading]:
        """The reading of each single category, in order."""
        kept: dict[object, ShareReading] = {}
        for i in range(self.k):
            # equal draws of equally noisy counts under one prior are read alike
            alike = self._alike(i)
            if alike not in kept:
                kept[alike] = self.read([i])
            yield kept[alike]

    def intervals(self, level: float = 0.95) -> Floats:
        """Return the interval of each share in the population, shape (k, 2)."""
        return np.array([one.interval(level) for one in self.each])

    def table_intervals(self, level: float = 0.95) -> Floats:
        """Return the interval of each share in the table itself, shape (k, 2)."""
        return np.array([one.table_interval(level) for one in self.each])

    def _alike(self, i: int) -> object:
        noise = self._noise
        if noise is None:
            return i
        own = int(self.noisy[i]) if i < noise.noisy else None
        return own, None if self.prior is None else float(self.prior[i])

    def _read(self, inside: frozenset[int], group: frozenset[int]) -> ShareReading:
        rest, prior = group - inside, UNIFORM
        if self.prior is not None:
            sums = (float(self.prior[list(cells)].sum()) for cells in (inside, rest))
            prior = next(sums), next(sums)
        if self._noise is None:
            count, total, weights, none, all_ = self._from_list(inside, group)
        else:
            count, total, weights = self._from_factors(inside, rest, prior)
            none, all_ = (self._of_nobody(cells) for cells in (inside, rest))
        kept = weights > 1e-14
        pairs = count[kept], total[kept], weights[kept] / weights[kept].sum()
        found = ShareReading(0.0, *pairs, none, all_, prior, self.design_effect)
        part, whole = (self._drawn(cells) for cells in (inside, group))
        estimate = min(max(part / whole, 0.0), 1.0) if whole > 0 else found.mean
        return replace(found, estimate=estimate)

    def _drawn(self, cells: frozenset[int]) -> int:
        """Return the sum of what was drawn for these categories."""
        others = [i for i in range(self.k) if i not in cells]
        if self.n is not None and (not others or max(cells) >= self.noisy.size):
            return self.n - int(self.noisy[others].sum())
        return int(self.noisy[list(cells)].sum())

    def _likely(self, cells: frozenset[int]) -> Weighted:
        """Return P(draw | true sum of these categories) for every sum, scaled."""
        assert self._noise is not None
        found = self._noise.factor(cells)
        most = np.inf if self.n is None else self.n
        if found is None:
            return Weighted(0, np.ones(int(most) + 1))
        return _within(found, self._drawn(cells), most)

    def _of_nobody(self, cells: frozenset[int]) -> float:
        """Return the likelihood that none is in these categories, the largest being
        1.
        """
        assert self._noise is not None
        most = np.inf if self.n is None else self.n
        likely = _within(self._noise.law(cells), self._drawn(cells), most)
        return float(likely.at(np.array([0]))[0] / likely.weights.max())

    def _from_factors(
        self, inside: frozenset[int], rest: frozenset[int], prior: tuple[float, float]
    ) -> tuple[Whole, Whole, Floats]:
        """Return pairs of count and total, and their probabilities."""
        outside = frozenset(range(self.k)) - inside - rest
        lean = self._lean(inside | rest, sum(prior)) if prior != UNIFORM else 0.0
        part, other = (
            _times(self._likely(cells), alpha, lean)
            for cells, alpha in zip((inside, rest), prior, strict=True)
        )
        if self.n is not None and not outside:
            weights = part.weights * other.at(self.n - part.values)
            if not weights.any():
                raise ValueError(
                    f"noisy must be something drawn for n = {self.n} records, got"
                    f" {check.shown(self.noisy)}"
                )
            return part.values, np.full(weights.size, self.n), weights / weights.sum()
        whole = part + other
        beforehand = lean * whole.values - log_prior_factor(sum(prior), whole.values)
        weights = whole.weights * np.exp(beforehand - beforehand.max())
        if self.n is not None:
            weights = weights * self._likely(outside).at(self.n - whole.values)
        counts, totals, masses = [], [], []
        whole = Weighted.of_weights(whole.start, weights)
        for total, mass in zip(*whole.nodes(_TOTALS), strict=True):
            given = part.weights * other.at(total - part.values)
            values, shares = Weighted.of_weights(part.start, given).nodes(_COUNTS)
            counts.append(values)
            totals.append(np.full(values.size, total))
            masses.append(mass * shares)
        return np.concatenate(counts), np.concatenate(totals), np.concatenate(masses)

    def _lean(self, group: frozenset[int], alpha: float) -> float:
        """Return ln((alpha + t) / (t + 1)), by how much a prior with this sum prefers
        one record more where a group has about t.

        Given their total a preference of both parts alike says nothing. A strong prior
        has so much of it that without this it would decide which weights are small.
        """
        whole = len(group) == self.k and self.n is not None
        total = float(self.n or 0) if whole else self._likely(group).mean
        return math.log(alpha + total) - math.log1p(total)

    def _from_list(
        self, inside: frozenset[int], group: frozenset[int]
    ) -> tuple[Whole, Whole, Floats, float, float]:
        histograms, logs = self._listed
        count, total = (
            histograms[:, list(cells)].sum(axis=1) for cells in (inside, group)
        )
        likely = np.exp(logs - logs.max())
        means = (_mean_where(likely, x) for x in (count, total - count))
        none, all_ = (float(one[0] / one.max()) for one in means)
        if self.prior is not None:
            logs = logs + sum(
                log_prior_factor(a, x)
                for a, x in zip(self.prior, histograms.T, strict=True)
            )
        else:  # equal chances of every total, of every count given it, and of the rest
            pairs = np.stack([count, total], axis=1)
            _, place, times = np.unique(
                pairs, axis=0, return_inverse=True, return_counts=True
            )
            logs = logs - np.log((total + 1.0) * times[place.ravel()])
        return count, total, np.exp(logs - logsumexp(logs)), none, all_


def _within(noise: Weighted, drawn: int, most: float) -> Weighted:
    """Return P(drawn | count) at the counts from 0 to `most`, scaled."""
    likely = -noise
    first = likely.start + drawn
    low, high = max(0, first), min(most, first + likely.weights.size - 1)
    if low > high:
        raise ValueError(
            f"noisy must be within reach of its noise, got a sum of {drawn} for"
            f" {0 if first < 0 else most:g} records"
        )
    return Weighted(low, likely.weights[low - first : int(high) - first + 1])


def _times(likely: Weighted, alpha: float, lean: float) -> Weighted:
    """Return a law times the prior's factor of one count, divided by e^lean a count."""
    if alpha == 1.0 and lean == 0.0:
        return likely
    with np.errstate(divide="ignore"):
        logs = np.log(likely.weights) + log_prior_factor(alpha, likely.values)
    logs -= lean * likely.values
    return Weighted.of_logs(likely.start, logs)


def _mean_where(likely: Floats, values: Whole) -> Floats:
    """Return the mean of `likely` for each value from 0 on."""
    return np.bincount(values, likely) / np.maximum(np.bincount(values), 1)
