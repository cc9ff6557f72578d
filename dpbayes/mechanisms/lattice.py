"""Sum-zero lattice noise: the truncated geometric mechanism for any number of categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.lattice import LARGEST_OUTPUTS, SumZeroLaw, listed_law
from dpbayes.laws.law import Way, choose
from dpbayes.laws.sum_zero import PROJECTIONS, LatticeNoise, project
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, rounded_up
from dpbayes.mechanisms.optimum import distance_table
from dpbayes.mechanisms.protocol import Counts, Drawn
from dpbayes.mechanisms.remap import best_answers, best_candidates
from dpbayes.posteriors import check_candidates, compositions, row_of
from dpbayes.samplers import balls, whole_numbers
from dpbayes.samplers.balls import Balls
from dpbayes.samplers.bits import BitSource

LARGEST_REMAP = 1_000
"""Most candidates that a remap for k >= 3 compares; their square is the work."""


@dataclass(frozen=True)
class SumZeroLattice:
    """Release project(x + Z) with P(Z = z) proportional to e^(-epsilon |z|_1 / 2), sum z = 0.

    Z runs over the whole vectors that sum to 0, so the number of records stays right; noisy
    counts below 0 are repaired by `project` (`projection` "l2" or "l1"). At k = 2 this is the
    truncated geometric mechanism. With `remap` the projected counts are replaced by the candidate
    with the least expected Hellinger distance when all data sets are equally likely; for k >= 3
    this takes at most `LARGEST_REMAP` candidates. Book: `def-lattice`, `def-remap`,
    `thm-lattice-private`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float
    projection: str = "l2"
    remap: bool = False

    name: ClassVar[str] = "lattice"
    definition: ClassVar[str] = "def-lattice"
    citations: ClassVar[tuple[str, ...]] = ("ghosh-universally", "canonne-discrete")

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        _validate.choice("projection", self.projection, PROJECTIONS)
        _validate.flag("remap", self.remap)

    def noise(self, rng: np.random.Generator, k: int, size: int) -> NDArray[np.int64]:
        """Return `size` independent draws of Z for k categories, shape (size, k)."""
        generator = _validate.generator("rng", rng)
        noise = LatticeNoise(_validate.integer("k", k, minimum=2), float(self.epsilon))
        return noise.draw(generator, _validate.integer("size", size, minimum=0))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw | SumZeroLaw:
        """Return the exact law of the released histogram; `counts` and `prior` have shape (k,).

        Outputs are listed while they fit; beyond, the law gives the exact mean by a series.

        >>> law = SumZeroLattice(1.0).law([100, 100, 100], [1, 1, 1])
        >>> round(law.mean_distance(), 4)
        0.0851
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        noise = LatticeNoise(x.size, float(self.epsilon))
        described = (alpha, x, noise, self.projection)
        chosen: FiniteLaw | SumZeroLaw = choose(
            Way(
                "geometric", x.size == 2, "that is this mechanism at k = 2",
                lambda: TruncatedGeometric(self.epsilon, self.remap).law(x, alpha),
            ),
            Way(
                "remap", self.remap, "remapped outputs are histograms, and all are listed",
                lambda: self._remapped(alpha, x),
            ),
            Way(
                "list", True, f"up to {LARGEST_OUTPUTS} outputs within reach of the noise are "
                "listed", lambda: listed_law(*described),
            ),
            Way(
                "series", True, "it takes any number of records and categories",
                lambda: SumZeroLaw(*described),
            ),
        )  # fmt: skip
        return chosen

    def _remapped(self, prior: NDArray[np.float64], x: NDArray[np.int64]) -> FiniteLaw:
        n, k = int(x.sum()), x.size
        table, answers = _remap(tuple(prior.tolist()), n, float(self.epsilon), self.projection)
        outputs = compositions(n, k)
        row = table[row_of(x)]
        with np.errstate(divide="ignore"):
            logs = np.log(np.bincount(answers, row, len(outputs)))
        return FiniteLaw(prior, x, outputs, logs)

    def enclosed_law(self, library: Any, counts: Counts, prior: NDArray[np.float64]) -> Balls:
        """Return ln P of every output in ball arithmetic, for audits; k = 2."""
        return balls.truncated_geometric(library, counts, exact_epsilon(self.epsilon))

    def guarantee(self, k: int) -> Guarantee:
        """Return what is proved: `thm-lattice-private`."""
        _validate.integer("k", k, minimum=2)
        bound = exact_epsilon(self.epsilon)
        return Guarantee(
            bound,
            "a replaced record changes the counts by 2 in l1, the noise falls by "
            f"e^-{rounded_up(bound / 2)} for each unit of l1, the projection is post-processing",
            "thm-lattice-private",
        )

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return the noisy counts, which sum to n, and their projection."""
        step = whole_numbers.lattice_by_coins(bits, counts.size, exact_epsilon(self.epsilon))
        noisy = whole_numbers.plain([int(x) + z for x, z in zip(counts, step, strict=True)])
        released = project(noisy[None, :], self.projection)[0]
        return noisy, self._answer(released, prior) if self.remap else released

    def _answer(self, released: Counts, prior: NDArray[np.float64]) -> Counts:
        n, k = int(released.sum()), released.size
        if k == 2:
            pair, count = (float(prior[0]), float(prior[1])), int(released[0])
            first = best_answers(pair, n, float(self.epsilon), count, count)[0]
            return np.append(first, n - first)
        answers = _remap(tuple(prior.tolist()), n, float(self.epsilon), self.projection)[1]
        return np.asarray(compositions(n, k)[answers[row_of(released)]])

    def log_likelihoods(self, noisy: Counts, n: int, k: int) -> list[NDArray[np.float64]]:
        """Return ln P(noisy | count) for counts 0 … n, up to a constant; one factor a category."""
        values = np.arange(n + 1)
        return [-0.5 * self.epsilon * np.abs(int(y) - values) for y in noisy]


@lru_cache(maxsize=8)
def _remap(
    prior: tuple[float, ...], n: int, epsilon: float, projection: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    # P[r | x] of all histograms and the answer to each; both lexicographic.
    k = len(prior)
    check_candidates(n, k, LARGEST_REMAP, "a remap of lattice noise")
    alpha, outputs = np.array(prior), compositions(n, k)
    noise = LatticeNoise(k, epsilon)
    laws = [listed_law(alpha, x, noise, projection) for x in outputs]
    rows = [np.exp(law.log_probabilities) for law in laws if law is not None]
    if len(rows) < len(outputs):
        raise ValueError(f"epsilon = {epsilon!r} spreads the noise too far for a remap at k = {k}")
    table = np.array(rows)
    return table, best_candidates(table, distance_table(n, alpha))
