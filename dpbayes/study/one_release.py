"""One release of a yes-or-no count seen from all sides: accuracy, privacy loss, what it teaches.

It is what the explorer of the book shows, computed with the package's own laws and audits.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing import Audit, audit, calibrate
from dpbayes.auditing.exact import loss
from dpbayes.divergences import METRICS
from dpbayes.laws.law import Law
from dpbayes.laws.metrics import metric_function
from dpbayes.mechanisms import REGISTRY, mechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import Posterior, compositions, posterior
from dpbayes.tables.reading import NoiseAwarePosterior, noise_aware

EXPLORED = (
    "lapMech", "ilapMech", "draft-laplace", "geometric", "lattice", "discrete-gaussian", "expMech",
    "expMech-local", "expMech-smooth", "expMech-delta", "expMech-repaired", "permute-and-flip",
)  # fmt: skip
"""The mechanisms of the explorer, in its order."""

NOISY = ("lapMech", "ilapMech", "draft-laplace", "geometric", "lattice", "discrete-gaussian")
"""Those that add whole noise to the count; the others choose a histogram."""

SUM_KEPT = ("lattice", "discrete-gaussian")
"""Those that add noise to both counts, so that their sum stays n."""

RAISED = ("draft-laplace",)
"""Those whose noise is never negative."""

NOMINAL = ("draft-laplace", "discrete-gaussian")
"""Those for which an audited promise is not offered.

No one-sided noise has a finite loss; the variance for (epsilon, delta) jumps with epsilon, so that
not every loss is attained.
"""

PROMISES = ("nominal", "audited")


def explored(
    name: str,
    epsilon: float,
    gamma: float = 1.0,
    delta: float = 1e-6,
    distance: str = "hellinger",
) -> Mechanism:
    """Return the mechanism of that name with those of the parameters that it has.

    >>> explored("geometric", 1.0, gamma=0.3).epsilon
    1.0
    """
    factory = REGISTRY[_validate.choice("name", name, EXPLORED)]
    metric = _validate.choice("distance", distance, METRICS)
    offered = {"gamma": gamma, "delta": delta, "metric": metric}
    allowed = inspect.signature(factory).parameters
    return mechanism(name, epsilon, **{k: v for k, v in offered.items() if k in allowed})


def at_scale(described: Any, scale: float) -> Any:
    """Return the mechanism with all its rates `scale` times as large."""
    if hasattr(described, "scaled"):
        return described.scaled(scale)
    return replace(described, epsilon=float(described.epsilon * scale))


@dataclass(frozen=True)
class OneRelease:
    """A mechanism, data (ones, n - ones), a prior and the noisy count that was drawn.

    `noisy` is the count before it was clamped to [0, n]; `metric` measures the distance between
    posteriors. Make one with `one_release`.
    """

    mechanism: Any
    n: int
    ones: int
    prior: NDArray[np.float64]
    metric: str
    noisy: int

    @property
    def released(self) -> int:
        """The released count of ones."""
        return int(np.clip(self.noisy, 0, self.n))

    @cached_property
    def laws(self) -> list[Law]:
        """The law of the release for every data set (x, n - x), x = 0 … n."""
        return [self.mechanism.law((x, self.n - x), self.prior) for x in range(self.n + 1)]

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean distance to the true posterior at every data set, shape (n + 1,)."""
        return np.array([law.mean_distance(self.metric) for law in self.laws])

    @cached_property
    def audit(self) -> Audit:
        """The actual privacy loss over all neighbouring data sets of n records."""
        return audit(self.mechanism, self.n, self.prior)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """P(released count = r) for r = 0 … n."""
        chosen: Any = self.laws[self.ones]
        return np.asarray(chosen.each_probability(compositions(self.n, 2)))

    @cached_property
    def losses(self) -> NDArray[np.float64]:
        """Largest |ln P(r | x) - ln P(r | x + 1)| over r for each x = 0 … n - 1, shape (n,)."""
        laws: Any = self.laws
        logs = np.array([law.log_probabilities for law in laws])
        return np.asarray(np.abs(loss(logs[1:], logs[:-1])).max(axis=1))

    @property
    def distance(self) -> float:
        """Distance of this release to the true posterior."""
        pair = (self.prior + np.array([r, self.n - r]) for r in (self.ones, self.released))
        return float(metric_function(self.metric)(*pair))

    @property
    def truth(self) -> Posterior:
        """The posterior of the data."""
        return posterior((self.ones, self.n - self.ones), self.prior)

    @property
    def face(self) -> Posterior:
        """The posterior of the released count, taken at face value."""
        return posterior((self.released, self.n - self.released), self.prior)

    @cached_property
    def aware(self) -> NoiseAwarePosterior:
        """The posterior of somebody who knows the mechanism and what it drew."""
        one_count = self.mechanism.name in NOISY and self.mechanism.name not in SUM_KEPT
        drawn = np.array([self.noisy] if one_count else [self.noisy, self.n - self.noisy])
        return noise_aware(self.mechanism, drawn, self.n, self.prior)

    @property
    def guessing(self) -> float:
        """Highest chance of a right guess of one record by someone who starts at even odds."""
        return float(1.0 / (1.0 + np.exp(-self.audit.epsilon)))


def one_release(
    name: str,
    n: int,
    ones: int,
    prior: ArrayLike | Sequence[float],
    epsilon: float,
    gamma: float = 1.0,
    delta: float = 1e-6,
    promise: str = "nominal",
    distance: str = "hellinger",
    noisy: int | None = None,
) -> OneRelease:
    """Return one release of `ones` ones among n >= 1 records from all sides; k = 2.

    `promise` "audited" raises or lowers the noise until the audited loss is epsilon. `noisy` is the
    count drawn, brought into 0 … n for a mechanism that does not add noise to the count, and up to
    `ones` where noise is never negative; without it the release is the upper quartile of the law.
    For those in `NOMINAL`, "audited" raises ValueError. Book: `def-actual-loss`,
    `def-calibrated`, `def-noise-aware`.

    >>> seen = one_release("geometric", 10, 3, [1, 1], 1.0, noisy=4)
    >>> round(seen.audit.epsilon, 9), round(float(seen.aware.mean[0]), 4)
    (1.0, 0.4185)
    """
    size = _validate.integer("n", n, minimum=1)
    count = _validate.integer("ones", ones, minimum=0)
    if count > size:
        raise ValueError(f"ones must be at most n = {size}, got {ones!r}")
    alpha = _validate.prior("prior", prior, 2)
    described = explored(name, epsilon, gamma, delta, distance)
    if _validate.choice("promise", promise, PROMISES) == "audited":
        if name in NOMINAL:
            raise ValueError(f"promise must be nominal for {name}, got 'audited'")
        described = calibrate(described, size, alpha, epsilon)
    drawn = _upper_quartile(described, size, count, alpha) if noisy is None else noisy
    if name not in NOISY:
        drawn = int(np.clip(drawn, 0, size))
    if name in RAISED:
        drawn = max(int(drawn), count)
    return OneRelease(described, size, count, alpha, distance, int(drawn))


def _upper_quartile(described: Any, n: int, ones: int, prior: NDArray[np.float64]) -> int:
    law = described.law((ones, n - ones), prior)
    return int(np.searchsorted(np.cumsum(law.probabilities), 0.75 - 1e-9))
