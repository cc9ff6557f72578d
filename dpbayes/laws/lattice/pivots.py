"""One level of the projection: products over categories in which paying stops at one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.chains import Link, Row, once, rows
from dpbayes.laws.lattice.circles import ALIAS, Circle, Nodes, fewest_nodes, log_bound
from dpbayes.laws.lattice.heights import Heights
from dpbayes.laws.lattice.shortfalls import payments, readings, short, shortfall_circle

LARGEST_ARRAY = 1 << 18
"""So many numbers are summed together."""

PIECE = 1 << 14
"""Numbers of one array, so that a product stays near the processor."""


class Level:
    """All noisy vectors that the projection lowers to level t, with at least one payer."""

    def __init__(
        self,
        prior: NDArray[np.float64],
        counts: NDArray[np.int64],
        epsilon: float,
        level: int,
        heights: Heights,
    ) -> None:
        self.counts, self.level, self.heights = counts, level, heights
        self.prior = prior
        self.rho = float(np.exp(-0.5 * epsilon))
        self.scale = float(np.exp(-noise.log_normaliser(counts.size, epsilon)))
        self.runs = equal_runs(prior, counts)
        self.affinities = {
            i: affinity_of_counts(prior[i], counts[i], self._released(i)) for i, _ in self.runs
        }
        windows = {i: self._released(i) - counts[i] for i, _ in self.runs}
        self.steps = np.unique(np.concatenate((-counts, *windows.values())))
        self.windows = {
            i: slice(*np.searchsorted(self.steps, (window[0], window[-1] + 1)).tolist())
            for i, window in windows.items()
        }

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
        nodes, folds = records.half()
        zeta = shortfall.places()
        total = np.zeros((exponents.size, kept.size))
        some = max(1, PIECE // (exponents.size * kept.size))
        for first in range(0, folds.size, some):
            batch = slice(first, first + some)
            part = Nodes(nodes.log_radius, nodes.turns[batch], nodes.whole)
            total += self._read(exponents, part, zeta, kept).real @ folds[batch]
        return total / (records.nodes * shortfall.nodes)

    def bounds(
        self, exponents: NDArray[np.float64], records: Circle, shortfall: Circle
    ) -> NDArray[np.float64]:
        """Return, for each exponent and block, a bound on its part."""
        nodes = Nodes.positive(np.array([0.0, records.log_radius]))
        zeta = np.exp([shortfall.log_radius])
        return np.asarray(self._read(exponents, nodes, zeta, None).real.min(axis=2))

    def shortfall_circle(self, alias: float = ALIAS) -> Circle:
        """Return the circle for the shortfall that wrongly reads at most `alias`."""
        return shortfall_circle(self._shortfall_bounds, self.rho, self.level, self.degree, alias)

    def _shortfall_bounds(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        zeta = np.exp(places)
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self._rows(np.zeros(1), Nodes.positive(np.zeros(1)), zeta, None)
            level, owed = payments(self.rho, self.level, zeta)
            paid = sum(
                (row.constant(level, owed) * row.paid(level, owed, slice(None))).sum(axis=(1, 2, 3))
                for row in rows
            )
            return np.asarray(
                log_bound((paid * readings(self.rho, zeta)).real) + np.log(self.scale)
            )

    def record_circle(
        self, exponent: float, shortfall: Circle, kept: NDArray[np.int64] | None
    ) -> Circle:
        """Return the circle for the released records, by Chernoff bounds as well."""
        top = -np.log(self.rho)
        tilts = np.concatenate((-np.geomspace(0.98, 0.02, 12), [0.0], np.geomspace(0.02, 0.98, 12)))
        zeta = np.exp([shortfall.log_radius])
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self._read(np.array([exponent]), Nodes.positive(tilts * top), zeta, kept)
            logs = log_bound(sums[0].sum(axis=0).real) + np.log(self.scale)
        return fewest_nodes(logs, tilts * top, self.span)

    def _read(
        self,
        exponents: NDArray[np.float64],
        nodes: Nodes,
        zeta: NDArray[Any],
        kept: NDArray[np.int64] | None,
    ) -> NDArray[Any]:
        """Return what the shortfall reads (exponents, blocks, nodes of the records)."""
        level, owed = payments(self.rho, self.level, zeta)
        weights = readings(self.rho, zeta)[:, None, None, None]
        blocks = self.heights.edges.size - 1 if kept is None else kept.size
        total = np.zeros((exponents.size, blocks, nodes.size), dtype=np.complex128)
        for row in self._rows(exponents, nodes, zeta, kept):
            total[:, row.blocks] = row.sums(weights, level, owed, PIECE)
        return total

    def _rows(
        self,
        exponents: NDArray[np.float64],
        nodes: Nodes,
        zeta: NDArray[Any],
        kept: NDArray[np.int64] | None,
    ) -> list[Row]:
        edges, chosen = self.heights.merged(kept)
        powers = nodes.powers(self.steps)
        first = [i for i, _ in self.runs]
        links = once(
            [(self.prior[i], self.counts[i]) for i in first],
            lambda run: self._link(first[run], exponents, powers, zeta, edges, chosen),
        )
        groups = self.heights.groups(edges[:-1][chosen], edges[1:][chosen])
        met = ((blocks, met[first]) for blocks, met in groups)
        return rows(met, links, [copies for _, copies in self.runs])

    def _link(
        self,
        i: int,
        exponents: NDArray[np.float64],
        powers: NDArray[Any],
        zeta: NDArray[Any],
        edges: NDArray[np.int64],
        chosen: slice | NDArray[np.int64],
    ) -> Link:
        x = int(self.counts[i])
        window, released = powers[self.windows[i]], self._released(i)
        mass = self.rho ** (np.abs(released[1:] + self.level - x) - self.level)
        sizes = np.exp(exponents[:, None] * self.affinities[i])
        keeps, pays = (
            self.heights.sums(i, (mass * size)[..., None] * power, edges)
            for size, power in ((sizes[:, 1:], window[1:]), (sizes[:, :-1], window[:-1]))
        )
        below = (np.cumsum(keeps, axis=1) - keeps)[:, chosen]
        above = (np.cumsum(pays[:, ::-1], axis=1)[:, ::-1] - pays)[:, chosen]
        nearer = np.log(self.rho) * (max(x - self.level, 0) - min(x, self.level))
        bottom = np.exp(exponents * affinity_of_counts(self.prior[i], x, 0) + nearer)
        zero = bottom[:, None, None] * powers[np.searchsorted(self.steps, -x)]
        owed = short(self.rho, self.level, x, zeta)
        return Link(zero, owed, below, above, keeps[:, chosen], pays[:, chosen])

    def _released(self, i: int) -> NDArray[np.int64]:
        """Return what category i releases: one less than its least, and up to its most."""
        return np.arange(self.heights.low[i] - 1, self.heights.high[i] + 1) - self.level


def equal_runs(prior: NDArray[np.float64], counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return equal categories that follow one another, as (first, how many)."""
    runs: list[tuple[int, int]] = []
    for i in range(counts.size):
        if runs and counts[i] == counts[i - 1] and prior[i] == prior[i - 1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((i, 1))
    return runs
