"""One power of BC where no noisy count is negative, for noise that reaches over very many counts.

The generating functions of the categories are summed by panels, and their product is read at the
nodes of a circle that count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice import noise
from dpbayes.laws.lattice.circles import Circle, Nodes, fewest_nodes, log_bound
from dpbayes.laws.lattice.fewer_nodes import CAREFUL, doublings, kept_turns, rounded, weights_of
from dpbayes.laws.lattice.long_prefixes import prefixes
from dpbayes.laws.lattice.pivots import equal_runs
from dpbayes.laws.lattice.prefixes import Category

_TILTS = np.concatenate((-np.geomspace(0.98, 0.02, 12), [0.0], np.geomspace(0.02, 0.98, 12)))
_SURE = 1e-13
_COARSER = 96.0


def unclamped_moment(
    prior: NDArray[np.float64],
    counts: NDArray[np.int64],
    epsilon: float,
    reach: int,
    exponent: float,
) -> tuple[float, float]:
    """Return E[BC^exponent; no noisy count is negative], and what is in doubt.

    No count moves farther than `reach`, and the exponent is above 0.

    >>> from dpbayes.laws.lattice.unclamped import UnclampedPart
    >>> part = UnclampedPart(np.ones(3), np.array([500, 20, 300]), 0.01)
    >>> found, doubt = unclamped_moment(part.prior, part.counts, 0.01, part.reach, 2.0)
    >>> bool(abs(found - part.means(np.array([2.0]))[0]) < 1e-12), doubt < 1e-12
    (True, True)
    """
    runs = [
        (Category(float(prior[i]), int(counts[i]), reach, exponent), copies)
        for i, copies in equal_runs(prior, counts)
    ]
    rho, total = float(np.exp(-0.5 * epsilon)), int(counts.sum())
    # A share of what all are divided by for each, as their product may leave the range.
    share = float(np.exp(-noise.log_normaliser(counts.size, epsilon) / counts.size))

    def product(nodes: Nodes) -> NDArray[np.complex128]:
        found = np.ones(nodes.size, dtype=np.complex128)
        for category, copies in runs:
            sums = prefixes(category, exponent, rho, nodes, (0, 0), total)
            found *= (share * sums.unlowered()) ** copies
        return found

    tilts = Nodes.positive(-np.log(rho) * _TILTS)
    logs = log_bound(product(tilts).real)
    most = sum(copies * (category.last - category.count) for category, copies in runs)
    circle = fewest_nodes(logs, tilts.log_radius, max(total, most) + 1, _SURE)
    whole = rounded(circle.nodes)
    circle, times = Circle(circle.log_radius, whole), doublings(whole)
    while True:
        turns = kept_turns(whole // 2 + 1, CAREFUL, times)
        parts = product(Nodes(np.array([circle.log_radius]), turns, whole)).real
        parts *= circle.folds(turns) / whole
        value, other = (
            float(weights_of(whole, turns, np.inf, start, times) @ parts)
            for start in (CAREFUL, _COARSER)
        )
        doubt = abs(value - other)
        if doubt <= _SURE or not times:
            return value, doubt + _SURE
        times -= 1
