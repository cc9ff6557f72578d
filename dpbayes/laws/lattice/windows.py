"""How far each released count can lie from its true count when all others have to make up for it.

The released counts have the same sum as the true ones. So what one category loses the others win,
and BC to the power asked for is below e^-45 unless each of them moves a little only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.lattice.chains import once
from dpbayes.laws.lattice.prefixes import GONE, Category

_RATES = np.geomspace(1e-2, 1e5, 36)  # records for each unit of -ln BC
_GRID = 60


def windows_of_all(categories: Sequence[Category], copies: Sequence[int]) -> list[Category]:
    """Return these categories, each so often, followed no farther than all others can make up for.

    For each rate r > 0 moves m_j whose costs -ln BC are at most 45 together add up to at most
    45 r + sum over j of max_m (m - r cost_j(m)), whatever the costs are like.

    >>> empty, full = Category(1.0, 0, 6000, 1.0), Category(1.0, 10**6, 6000, 1.0)
    >>> full.first, full.last
    (987998, 1006001)
    >>> full, *_ = windows_of_all([full, empty], [1, 4])
    >>> full.first, full.last
    (999815, 1000000)
    """
    order = [id(category) for category in categories]
    gains = np.array(once(order, lambda place: _beyond(categories[place], 1)))
    losses = np.array(once(order, lambda place: _beyond(categories[place], -1)))
    repeated = np.array(copies)

    def limited(place: int) -> Category:
        others = repeated - (np.arange(repeated.size) == place)
        lost, won = ((GONE * _RATES + others @ each).min() for each in (gains, losses))
        return replace(categories[place], lost=int(lost), won=int(won))

    return once(order, limited)


def _beyond(category: Category, sign: int) -> NDArray[np.float64]:
    """Return a bound on the largest m - r cost(m), m records won or lost, for each rate r."""
    most = category.last - category.count if sign > 0 else category.count - category.first
    ends = np.rint(np.geomspace(1, max(most, 1), _GRID)).astype(np.int64)
    moves = np.append(0, np.unique(ends)) if most else np.zeros(1, dtype=np.int64)
    logs = affinity_of_counts(category.prior, category.count, category.count + sign * moves)
    costs = np.append(0.0, -category.least * logs[:-1])  # up to a move at least that of the last
    return np.asarray((moves - np.outer(_RATES, costs)).max(axis=1))
