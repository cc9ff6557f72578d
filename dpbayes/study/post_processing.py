"""Another post-processing of noisy counts: the parameters are cut so that they sum up to n.

Document A says of its Laplace mechanism that "when the sum of the noised parameters is greater than
n we will truncate them so that they sum up to n"; D repeats it. With two categories that is the
clamping of `ilapMech`. With more it is not: there a last count below 0 is raised to 0 and the total
grows. Here each count takes at most what the counts before it have left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes.auditing.rows import aligned
from dpbayes.laws.finite import FiniteLaw
from dpbayes.mechanisms.laplace import LaplaceMechanism
from dpbayes.posteriors import compositions


@dataclass(frozen=True)
class SummingToN:
    """A Laplace mechanism whose counts are cut, one after the other, to what is left of n.

    r_i = min(clamped noisy count i, n - r_1 - … - r_(i-1)) for i < k, and the last takes the rest.
    It is post-processing: the guarantee is that of `base`. The row A-post of the claims.

    >>> from dpbayes.mechanisms import mechanism
    >>> law = SummingToN(mechanism("ilapMech", 0.8)).law([5, 5, 5], [1, 1, 1])
    >>> int(law.outputs.sum(axis=1).max())
    15
    """

    base: LaplaceMechanism

    @property
    def name(self) -> str:
        """The name of the mechanism whose noise it is, and what is done to it."""
        return f"{self.base.name}, summing to n"

    @property
    def epsilon(self) -> float:
        """The nominal privacy parameter."""
        return self.base.epsilon

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law; every noisy count of the first k - 1 is gone through."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        n, k = int(x.sum()), x.size
        marginals = [self.base.marginal(int(count), n, k) for count in x[:-1]]
        grids = np.meshgrid(*[np.arange(n + 1)] * (k - 1), indexing="ij")
        noisy = np.stack([grid.ravel() for grid in grids], axis=1)
        logs = sum(m[noisy[:, i]] for i, m in enumerate(marginals))
        left = np.full(len(noisy), n)
        outputs = np.empty((len(noisy), k), dtype=np.int64)
        for i in range(k - 1):
            outputs[:, i] = np.minimum(noisy[:, i], left)
            left = left - outputs[:, i]
        outputs[:, -1] = left
        listed = FiniteLaw(alpha, x, outputs, np.asarray(logs))
        every = compositions(n, k)
        return FiniteLaw(alpha, x, every, aligned(listed, every))
