"""One level of the projection: products over categories in which paying stops at one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.chains import Chain, Link

LARGEST_ARRAY = 1 << 18
"""So many numbers are summed together."""

_PIECE = 1 << 13  # numbers of one array, so that a product stays near the processor

_ALIAS = 3e-14
_DIGITS_LOST = 3.0  # in units of e


@dataclass(frozen=True)
class Circle:
    """Nodes on a circle that read one coefficient of a power series."""

    log_radius: float
    nodes: int


class Heights:
    """Windows `low` … `high` (k,) of noisy counts above level t, and blocks of heights.

    Blocks are single heights where windows overlap. Where only one window reaches, only its
    category can be the last payer and all others are constant, so that heights are joined. With
    `total` records nothing is higher than total + 1 above the level, and only one category more
    than total // 2 + 1: what a joined block adds there belongs to larger totals.
    """

    def __init__(
        self,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        level: int,
        total: int | None = None,
    ) -> None:
        self.low = np.maximum(low, level + 1)
        self.high = np.maximum(high, level)
        if total is not None:
            self.high = np.minimum(self.high, level + 1 + total)
        bottom, top = int(self.low.min()), int(self.high.max())
        begins, ends = (np.zeros(top - bottom + 3, dtype=np.int64) for _ in range(2))
        filled = self.high >= self.low
        np.add.at(begins, self.low[filled] - bottom, 1)
        np.add.at(ends, self.high[filled] + 1 - bottom, 1)
        heights = np.arange(bottom, top + 1)
        covered = np.cumsum(begins - ends)[: heights.size]
        fresh = (covered > 1) | (begins + ends)[: heights.size].astype(bool)
        if total is not None:
            alone = level + 2 + total // 2
            fresh &= heights <= alone
            fresh[heights == alone] = True
        fresh[:1] = True
        self.edges = np.append(heights[fresh], top + 1)

    def panels(self, kept: NDArray[np.int64], kinks: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return the kept blocks as ranges of single heights, and joined blocks by themselves."""
        joined = (np.diff(self.edges) > 1)[kept]
        cut = (np.diff(kept) > 1) | joined[1:] | joined[:-1]
        cut |= np.isin(self.edges[kept[1:]], kinks)
        places = [0, *(np.flatnonzero(cut) + 1).tolist(), kept.size]
        return [(int(kept[a]), int(kept[b - 1]) + 1) for a, b in pairwise(places)]

    def blocked(self, i: int, terms: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over each block of `terms` (j, heights of category i, nodes)."""
        shape = (terms.shape[0], self.edges.size - 1, terms.shape[2])
        result = np.zeros(shape, dtype=terms.dtype)
        if terms.shape[1]:
            first = int(np.searchsorted(self.edges, self.low[i], side="right")) - 1
            last = int(np.searchsorted(self.edges, self.high[i], side="right")) - 1
            starts = np.maximum(self.edges[first : last + 1] - self.low[i], 0)
            result[:, first : last + 1] = np.add.reduceat(terms, starts, axis=1)
        return result


class Level:
    """All noisy vectors that the projection lowers to level t, with at least one payer.

    `output`, when given, keeps only those that end at these released counts.
    """

    def __init__(
        self,
        prior: NDArray[np.float64],
        counts: NDArray[np.int64],
        epsilon: float,
        level: int,
        heights: Heights,
        output: NDArray[np.int64] | None = None,
    ) -> None:
        self.counts, self.level, self.heights, self.output = counts, level, heights, output
        self.prior = prior
        self.rho = float(np.exp(-0.5 * epsilon))
        self.scale = float(np.exp(-noise.log_normaliser(counts.size, epsilon)))
        self.runs = _runs(prior, counts) if output is None else [(i, 1) for i in range(counts.size)]
        self.affinities = {i: self._affinities(i) for i, _ in self.runs}

    @property
    def degree(self) -> int:
        """So many nodes read the shortfall exactly."""
        return self.counts.size * (self.level + 1) + 1

    @property
    def span(self) -> int:
        """So many nodes read the released records exactly: each category has its least and most."""
        high = self.heights.high
        most = np.maximum(high - self.level, 0) - self.counts
        return int(max(self.counts.sum(), most.sum())) + 1

    def parts(
        self,
        exponents: NDArray[np.float64],
        records: Circle,
        shortfall: Circle,
        kept: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the sum of P BC^s over each kept block for each exponent s, not normalised."""
        angles = 2.0 * np.pi * np.arange(records.nodes // 2 + 1) / records.nodes
        log_w = records.log_radius + 1j * angles
        folds = np.full(angles.size, 2.0)
        folds[0] = 1.0
        if records.nodes % 2 == 0:
            folds[-1] = 1.0
        turns = 2j * np.pi * np.arange(shortfall.nodes) / shortfall.nodes
        zeta = np.exp(shortfall.log_radius + turns)
        total = np.zeros((exponents.size, kept.size))
        some = max(1, LARGEST_ARRAY // (exponents.size * kept.size * shortfall.nodes))
        for first in range(0, angles.size, some):
            batch = slice(first, first + some)
            read = self._read(exponents, log_w[batch], zeta, kept)
            total += read.real @ folds[batch]
        return total / (records.nodes * shortfall.nodes)

    def _read(
        self,
        exponents: NDArray[np.float64],
        log_w: NDArray[Any],
        zeta: NDArray[Any],
        kept: NDArray[np.int64],
    ) -> NDArray[Any]:
        """Return what the shortfall reads (exponents, blocks, nodes of the records)."""
        links = self._links(exponents, log_w, zeta, kept)
        some = max(1, _PIECE // (exponents.size * kept.size * zeta.size))
        pieces = [slice(first, first + some) for first in range(0, log_w.size, some)]
        paid = (self._joined(links, zeta, piece).paid for piece in pieces)
        readings = self._readings(zeta)
        return np.concatenate([np.einsum("evwz,z->evw", one, readings) for one in paid], axis=2)

    def bounds(
        self, exponents: NDArray[np.float64], records: Circle, shortfall: Circle
    ) -> NDArray[np.float64]:
        """Return, for each exponent and block, a bound on its part."""
        zeta = np.exp([shortfall.log_radius])
        log_w = np.array([0.0, records.log_radius])
        paid = self._chain(exponents, log_w, zeta, None).paid
        return np.asarray((paid @ self._readings(zeta)).real.min(axis=2))

    def shortfall_circle(self) -> Circle:
        """Return the circle for the shortfall, by Chernoff bounds.

        The generating function is positive on the half-line; a circle near its least value loses
        no digits. The nodes are never more than the degree needs.
        """
        places = np.linspace(np.log(0.02), np.log(50.0), 81)
        with np.errstate(over="ignore", invalid="ignore"):
            paid = self._chain(np.zeros(1), np.zeros(1), np.exp(places), None).paid
            logs = _log_bound((paid[0, :, 0].sum(axis=0) * self._readings(np.exp(places))).real)
        return _circle(logs + np.log(self.scale), places, self.degree)

    def record_circle(
        self, exponent: float, shortfall: Circle, kept: NDArray[np.int64] | None
    ) -> Circle:
        """Return the circle for the released records, by Chernoff bounds as well."""
        top = -np.log(self.rho)
        tilts = np.concatenate((-np.geomspace(0.98, 0.02, 12), [0.0], np.geomspace(0.02, 0.98, 12)))
        zeta = np.exp([shortfall.log_radius])
        with np.errstate(over="ignore", invalid="ignore"):
            paid = self._chain(np.array([exponent]), tilts * top, zeta, kept).paid
        sums = paid[0, :, :, 0].sum(axis=0).real
        logs = _log_bound(sums * self._readings(zeta).real) + np.log(self.scale)
        return _circle(logs, tilts * top, self.span)

    def _readings(self, zeta: NDArray[Any]) -> NDArray[Any]:
        # sigma = zeta / (1 + rho zeta) makes the integrand a Laurent polynomial in zeta.
        return np.asarray(1.0 / (1.0 + self.rho * np.asarray(zeta, dtype=np.complex128)))

    def _chain(
        self,
        exponents: NDArray[np.float64],
        log_w: NDArray[Any],
        zeta: NDArray[Any],
        kept: NDArray[np.int64] | None,
    ) -> Chain:
        links = self._links(exponents, log_w, zeta, kept)
        return self._joined(links, zeta, slice(None))

    def _joined(self, links: list[Link], zeta: NDArray[Any], some: slice) -> Chain:
        """Return the row of all categories at some of the nodes of the records."""
        owed = 1.0 / zeta + self.rho  # 1 / sigma, once for each record paid
        level = owed**self.level
        rows = [
            link.chain(level, owed * level, some).repeated(copies)
            for link, (_, copies) in zip(links, self.runs, strict=True)
        ]
        return reduce(Chain.then, rows)

    def _links(
        self,
        exponents: NDArray[np.float64],
        log_w: NDArray[Any],
        zeta: NDArray[Any],
        kept: NDArray[np.int64] | None,
    ) -> list[Link]:
        return [self._link(i, exponents, log_w, zeta, kept) for i, _ in self.runs]

    def _link(
        self,
        i: int,
        exponents: NDArray[np.float64],
        log_w: NDArray[Any],
        zeta: NDArray[Any],
        kept: NDArray[np.int64] | None,
    ) -> Link:
        x, chosen = int(self.counts[i]), slice(None) if kept is None else kept
        y = np.arange(self.heights.low[i], self.heights.high[i] + 1)
        steps = y - self.level - x
        mass = self.rho ** np.abs(y - x)
        keeps = self._released(i, steps, self.affinities[i][1:], mass, exponents, log_w)
        pays = self._released(i, steps - 1, self.affinities[i][:-1], mass, exponents, log_w)
        below = (np.cumsum(keeps, axis=1) - keeps)[:, chosen, :, None]
        above = (np.cumsum(pays[:, ::-1], axis=1)[:, ::-1] - pays)[:, chosen, :, None]
        keep, pay = keeps[:, chosen, :, None], pays[:, chosen, :, None]
        unlikely = np.log(self.rho) * max(x - self.level, 0)
        bottom = exponents[:, None] * affinity_of_counts(self.prior[i], x, 0) - x * log_w
        zero, short = np.exp(bottom + unlikely)[:, None, :, None], self._short(x, zeta)
        if self.output is not None and self.output[i] > 0:
            short = np.zeros_like(short)
        return Link(zero, short, below, above, keep, pay)

    def _released(
        self,
        i: int,
        steps: NDArray[np.int64],
        affinities: NDArray[np.float64],
        mass: NDArray[np.float64],
        exponents: NDArray[np.float64],
        log_w: NDArray[Any],
    ) -> NDArray[Any]:
        logs = exponents[:, None] * affinities
        if self.output is not None:
            mass = np.where(steps == self.output[i] - self.counts[i], mass, 0.0)
        terms = (mass * np.exp(logs))[..., None] * np.exp(np.outer(steps, log_w))
        return self.heights.blocked(i, np.asarray(terms))

    def _affinities(self, i: int) -> NDArray[np.float64]:
        """Return the affinities of what category i releases: one less than its least, and up."""
        low, high = int(self.heights.low[i]), int(self.heights.high[i])
        released = np.arange(low - 1, max(high, low - 1) + 1) - self.level
        return affinity_of_counts(self.prior[i], self.counts[i], released)

    def _short(self, x: int, zeta: NDArray[Any]) -> NDArray[Any]:
        # sum over d >= 0 of rho^|t - d - x| sigma^d, with 1 / (1 - rho sigma) = 1 + rho zeta.
        # Up to x = t the factor rho^(x - t) is left to the caller.
        lacking, tail = self.level - x, 1.0 + self.rho * zeta
        if lacking <= 0:
            return np.asarray(tail, dtype=np.complex128)
        sigma = zeta / tail
        total = sigma**lacking * tail
        for d in range(lacking):
            total = total + self.rho ** (lacking - d) * sigma**d
        return np.asarray(total)


def _log_bound(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # What overflowed bounds nothing.
    return np.log(np.clip(np.nan_to_num(values, nan=np.inf, posinf=np.inf), 1e-300, None))


def _circle(logs: NDArray[np.float64], places: NDArray[np.float64], most: int) -> Circle:
    """Return the circle with the fewest nodes for a power series read at power 0.

    Only circles on which the series is nearly least lose no digits, and only inside the range of
    places are powers on both sides bounded.
    """
    inside = logs[1:-1]
    near = np.flatnonzero(inside <= inside.min() + _DIGITS_LOST) + 1
    nodes = [_nodes(logs, places, place, most) for place in near.tolist()]
    best = int(np.argmin(nodes))
    return Circle(float(places[near[best]]), nodes[best])


def _nodes(logs: NDArray[np.float64], places: NDArray[np.float64], best: int, most: int) -> int:
    """Return how many nodes leave wrongly read powers at most 3e-14.

    The part of a positive power series g at a power N off, read on the circle e^(place of best), is
    at most g(e^p) e^(-N |p - best|) for every other place p.
    """
    distance = np.abs(places - places[best])
    needed = []
    for side in (places > places[best], places < places[best]):
        needed.append(float(((logs[side] - np.log(_ALIAS)) / distance[side]).min()))
    return int(np.clip(np.ceil(max(needed)) + 1, 2, most))


def _runs(prior: NDArray[np.float64], counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    # Equal categories that follow one another, as (first, how many).
    runs: list[tuple[int, int]] = []
    for i in range(counts.size):
        if runs and counts[i] == counts[i - 1] and prior[i] == prior[i - 1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((i, 1))
    return runs
