"""How well draws fit a law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def misfit(draws: NDArray[Any], probability: Callable[[NDArray[Any]], Any]) -> float:
    """Return chi-square less its mean over its standard deviation, rare outputs taken together."""
    rows, seen = np.unique(draws, axis=0, return_counts=True)
    expected = len(draws) * np.asarray(probability(rows), dtype=np.float64)
    kept = expected >= 5
    rest = len(draws) - expected[kept].sum()
    value = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    value += (seen[~kept].sum() - rest) ** 2 / max(rest, 5.0)
    return float((value - kept.sum()) / np.sqrt(2 * kept.sum()))
