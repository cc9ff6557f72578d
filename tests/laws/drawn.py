"""How well draws fit a law, and the answers of one law those of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALPHA_LIMIT = 6.0  # standard deviations a chi-square statistic may lie above its mean


def misfit(draws: NDArray[Any], probability: Callable[[NDArray[Any]], Any]) -> float:
    """Return chi-square less its mean over its standard deviation, rare outputs taken
    together.
    """
    rows, seen = np.unique(draws, axis=0, return_counts=True)
    expected = len(draws) * np.asarray(probability(rows), dtype=np.float64)
    kept = expected >= 5
    rest, cells = len(draws) - expected[kept].sum(), max(int(kept.sum()), 1)
    value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
    return float((value - kept.sum()) / np.sqrt(2 * cells))


def worst_error(law: Any, exact: Any, how: str, metric: str = "hellinger") -> float:
    """Return the largest error that a law states of its moments; they are those of
    another law.
    """
    errors = []
    for answer in ("mean_distance", "mean_square"):
        found, true = getattr(law, answer)(metric), getattr(exact, answer)(metric)
        assert found.how == how
        assert true.error < 1e-11
        assert abs(found - true) <= found.error + true.error
        errors.append(found.error)
    return max(errors)
