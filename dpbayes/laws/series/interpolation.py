"""ln Z(s) between its computed values: Chebyshev interpolation in ln s, octave by octave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.series.candidate_sums import AffinitySums

_NODES = 18
_DEPTH = 60.0


def interpolate_log_sums(
    sums: AffinitySums, smallest: float, nearest: float, allowed: float
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return s -> ln Z(s) for all s >= `smallest`, from 18 values an octave.

    Beyond s = 60 / `nearest` only the true posterior contributes and ln Z is 0. The interpolant is
    compared with fresh values between its nodes; an error above `allowed` raises ArithmeticError.
    """
    octaves = max(int(np.ceil(np.log2(_DEPTH / nearest / smallest))) + 1, 1)
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    nodes = 0.5 - 0.5 * np.cos(angles)
    exponents = smallest * np.exp2(np.arange(octaves)[:, None] + nodes[None, :])
    logs, error = sums.log_sums(exponents.ravel())
    if not error <= allowed:
        raise ArithmeticError(f"ln Z is certified to {error:.1e} only; {allowed:.0e} is needed")
    values = np.maximum(logs, 0.0).reshape(octaves, _NODES)
    weights = np.sin(angles) * (-1.0) ** np.arange(_NODES)

    def log_sum(s: NDArray[np.float64]) -> NDArray[np.float64]:
        position = np.maximum(np.log2(np.asarray(s, dtype=np.float64) / smallest), 0.0)
        beyond = position >= octaves
        octave = np.minimum(position.astype(np.int64), octaves - 1)
        gaps = (position - octave)[:, None] - nodes[None, :]
        gaps = np.where(np.abs(gaps) < 1e-15, 1e-15, gaps)
        factors = weights / gaps
        inside = (factors * values[octave]).sum(axis=1) / factors.sum(axis=1)
        return np.where(beyond, 0.0, np.maximum(inside, 0.0))

    _compare(sums, log_sum, smallest * np.exp2(np.arange(octaves) + 0.03), allowed)
    return log_sum


def _compare(
    sums: AffinitySums,
    log_sum: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    fresh: NDArray[np.float64],
    allowed: float,
) -> None:
    exact, _ = sums.log_sums(fresh)
    error = float(np.max(np.abs(log_sum(fresh) - np.maximum(exact, 0.0))))
    if error > allowed:
        raise ArithmeticError(f"ln Z is interpolated to {error:.1e} only; {allowed:.0e} is needed")
