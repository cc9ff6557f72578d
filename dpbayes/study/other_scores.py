"""The exponential mechanism with any divergence as its score, sensitivities by enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.finite import FiniteLaw
from dpbayes.posteriors import compositions, neighbours
from dpbayes.study.other_divergences import DIVERGENCES, divergence_table

SENSITIVITIES = ("global", "smooth")


@dataclass(frozen=True)
class ScoredExponential:
    """Release r with probability proportional to exp(-epsilon D(BI(x), r) / (factor S)).

    D is a key of `dpbayes.study.other_divergences.DIVERGENCES`. The change of the score,
    LS(x) = max over neighbours x' and *every* r of |D(BI(x), r) - D(BI(x'), r)|, is enumerated: the
    shortcut to r = BI(x) needs the triangle inequality, which KL, Renyi, chi^2, Jensen-Shannon and
    squared Hellinger lack. S is the largest LS and factor 2 ("global"), or
    1/S = min over x'' of 1/LS(x'') + gamma d(x, x'') and factor 2 (1 + gamma V) ("smooth"), where
    V is the largest score, or 1 if that is larger.
    Book: `def-scored`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float
    divergence: str = "hellinger"
    sensitivity: str = "global"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        _validate.positive("epsilon", self.epsilon)
        _validate.choice("divergence", self.divergence, DIVERGENCES)
        _validate.choice("sensitivity", self.sensitivity, SENSITIVITIES)
        _validate.positive("gamma", self.gamma)

    @property
    def name(self) -> str:
        """The divergence and the sensitivity."""
        return f"{self.divergence}, {self.sensitivity}"

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law; raises ValueError where the score's sensitivity is infinite.

        >>> mechanism = ScoredExponential(1.0, "total-variation")
        >>> round(mechanism.law([5, 5], [1, 1]).mean_distance(), 3)
        0.411
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        n, key = int(x.sum()), tuple(alpha.tolist())
        outputs = compositions(n, x.size)
        row = int(np.flatnonzero(np.all(outputs == x, axis=1))[0])
        scores = divergence_table(self.divergence, n, alpha)[row]
        local = local_changes(self.divergence, n, key)
        if not np.all(np.isfinite(local)):
            raise ValueError(
                f"divergence {self.divergence!r} is infinite between some posteriors of n = {n} "
                f"records under prior {list(key)}: its sensitivity is infinite, and no weight "
                "makes it private"
            )
        largest = max(1.0, float(divergence_table(self.divergence, n, alpha).max()))
        logs = -self.epsilon * scores / self._scale(row, outputs, local, largest)
        return FiniteLaw(alpha, x, outputs, logs - np.log(np.exp(logs).sum()))

    def _scale(
        self,
        row: int,
        outputs: NDArray[np.int64],
        local: NDArray[np.float64],
        largest: float,
    ) -> float:
        if self.sensitivity == "global":
            return 2.0 * float(local.max())
        away = np.abs(outputs - outputs[row]).sum(axis=1) / 2.0
        return 2.0 * (1.0 + self.gamma * largest) / float(np.min(1.0 / local + self.gamma * away))


@lru_cache(maxsize=32)
def local_changes(name: str, n: int, prior: tuple[float, ...]) -> NDArray[np.float64]:
    """Return max over neighbours x' and all r of |D(BI(x), r) - D(BI(x'), r)| for each x, (N,).

    inf where D is infinite for one of two neighbours. For a metric this is `local_sensitivity`.
    """
    table = divergence_table(name, n, prior)
    outputs = compositions(n, len(prior))
    index = {tuple(x): i for i, x in enumerate(outputs.tolist())}
    result = np.zeros(len(outputs))
    for i, x in enumerate(outputs):
        for other in neighbours(x).tolist():
            with np.errstate(invalid="ignore"):
                change = np.abs(table[i] - table[index[tuple(other)]])
            # inf - inf: no weight for either, no change between them.
            result[i] = max(result[i], float(np.max(np.where(np.isnan(change), 0.0, change))))
    return np.asarray(_validate.frozen(result))
