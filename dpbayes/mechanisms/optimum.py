"""The best any private mechanism can do that releases one of few candidates, by linear programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.laws.estimate import log_affinity_of_outputs
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Listed, listed
from dpbayes.mechanisms.guarantees import Guarantee, exact_epsilon, given_epsilon, guarantee
from dpbayes.mechanisms.protocol import Counts, Drawn, Mechanism
from dpbayes.mechanisms.remap import best_candidates
from dpbayes.posteriors import check_candidates, compositions, row_of
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import weighted

OBJECTIVES = ("mean", "worst")
Solver = Literal["highs", "highs-ipm"]

LARGEST_PROGRAM = 66
"""Most candidate posteriors of a linear program; the program has their square as unknowns."""

# The program is solved for epsilon less this share, which pays for repairing its rounding. An
# epsilon much smaller than it has nothing left; above 2 ln 1e15 the solver takes e^(epsilon/2) for
# an error.
_RESERVE = 1e-7
_LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 69.0
_MARGIN = 0.01
_IMPOSSIBLE = 1e-300
_SMALL_LOSS, _LEAST_UNIT = 1e-2, 1e-7


@dataclass(frozen=True)
class OptimalMechanism:
    """The epsilon-DP matrix P[r | x] with the least expected Hellinger distance (M11).

    `objective` "mean" averages over all histograms of n records with equal weight, "worst" takes
    the largest expected distance of any histogram. It needs n and the prior before the data, at
    most `LARGEST_PROGRAM` candidates and an epsilon from 1e-6 to 69. Book: `def-optimum`.

    Guarantee: for all count vectors x, x' of n records that differ by replacing one record, and
    every set S of posteriors, P[M(x) in S] <= e^epsilon P[M(x') in S].
    """

    epsilon: float
    objective: str = "mean"

    name: ClassVar[str] = "optimal"
    definition: ClassVar[str] = "def-optimum"
    citations: ClassVar[tuple[str, ...]] = ("ghosh-universally",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        _validate.choice("objective", self.objective, OBJECTIVES)

    def table(self, n: int, prior: ArrayLike) -> NDArray[np.float64]:
        """Return P[r | x] for all histograms x (rows) and r (columns), lexicographic, read-only."""
        size = _validate.integer("n", n, minimum=1)
        alpha = _validate.prior("prior", prior)
        check_candidates(size, alpha.size, LARGEST_PROGRAM, "the linear program")
        if not _LEAST_EPSILON <= self.epsilon <= _LARGEST_EPSILON:
            raise ValueError(
                f"epsilon must lie in [{_LEAST_EPSILON:g}, {_LARGEST_EPSILON:g}] for the linear "
                f"program, got {float(self.epsilon)!r}"
            )
        return _solved(self.epsilon, self.objective, size, tuple(alpha.tolist()))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram.

        >>> law = OptimalMechanism(1.0).law([5, 5], [1, 1])
        >>> round(float(law.probabilities.sum()), 12)
        1.0
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        table = self.table(int(x.sum()), alpha)
        return FiniteLaw(alpha, x, compositions(int(x.sum()), x.size), np.log(table[row_of(x)]))

    def guarantee(self, k: int) -> Guarantee:
        """Return what holds of every matrix that was computed: it was compared row by row."""
        _validate.integer("k", k, minimum=2)
        return Guarantee(
            exact_epsilon(self.epsilon),
            "the matrix of probabilities solves a linear program with these inequalities as "
            "constraints; a computed matrix is refused unless every two of its rows keep them with "
            f"a margin of at least {_MARGIN * _RESERVE:g} that no rounding reaches",
            "def-optimum",
        )

    def draw(self, counts: Counts, prior: NDArray[np.float64], bits: BitSource) -> Drawn:
        """Return an output twice, drawn in proportion to the floats of the matrix as they are."""
        n = int(counts.sum())
        row = [Fraction(weight) for weight in self.table(n, prior)[row_of(counts)].tolist()]
        chosen = compositions(n, counts.size)[weighted(bits, row)]
        return chosen, chosen


@dataclass(frozen=True)
class Remapped:
    """Another mechanism whose output r is replaced by the best guess given r; still as private.

    `rule` "bayes" replaces r by the candidate with the least expected distance when every histogram
    is equally likely; "minimax" by a random candidate, so that the largest expected distance of any
    histogram is least. Post-processing (`thm-post-processing`): the guarantee of `base` carries
    over. Book: `def-remap`.
    """

    base: Mechanism
    rule: str = "bayes"

    def __post_init__(self) -> None:
        _validate.choice("rule", self.rule, ("bayes", "minimax"))

    @property
    def name(self) -> str:
        """Name of the base with the rule."""
        return f"{self.base.name}, {self.rule} remap"

    @property
    def epsilon(self) -> float:
        """The nominal epsilon of the base."""
        return self.base.epsilon

    def guarantee(self, k: int) -> Guarantee:
        """Return the guarantee of the base: a remap is post-processing."""
        base = guarantee(self.base, k)
        return replace(base, basis=f"{base.basis}, and the remap is post-processing")

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the remapped release."""
        x, alpha = _validate.counts_and_prior(counts, prior)
        n = int(x.sum())
        check_candidates(n, x.size, LARGEST_PROGRAM, "a remap")
        outputs = compositions(n, x.size)
        base: Any = self.base
        remap = _remap(base, self.rule, n, tuple(alpha.tolist()))
        row = _complete(self.base, x, alpha)
        with np.errstate(divide="ignore"):
            logs = np.log(row.probabilities @ remap)
        return FiniteLaw(alpha, x, outputs, logs)


def _complete(base: Mechanism, counts: NDArray[np.int64], prior: ArrayLike) -> Listed:
    law = listed(base.law(counts, prior), "a remap")
    outputs = compositions(int(counts.sum()), counts.size)
    if not np.array_equal(law.outputs, outputs):
        raise TypeError(f"base must list every histogram of n records once, got {base!r}")
    return law


def distance_table(n: int, prior: ArrayLike) -> NDArray[np.float64]:
    """Return H(BI(x), r) for all histograms x, r of n records, shape (N, N), lexicographic."""
    alpha = _validate.prior("prior", prior)
    outputs = compositions(_validate.integer("n", n, minimum=1), alpha.size)
    rows = [log_affinity_of_outputs(alpha, x, outputs) for x in outputs]
    return distance_from_log_affinity(np.array(rows))


def record_distances(n: int, k: int) -> NDArray[np.int64]:
    """Return d(x, x') = half the l1 distance for all pairs of histograms, shape (N, N)."""
    outputs = compositions(n, k)
    return np.asarray(np.abs(outputs[:, None, :] - outputs[None, :, :]).sum(axis=2) // 2)


@lru_cache(maxsize=16)
def _solved(
    epsilon: float, objective: str, n: int, prior: tuple[float, ...]
) -> NDArray[np.float64]:
    apart = record_distances(n, len(prior))
    losses = distance_table(n, prior)
    for reserve in (min(_RESERVE * 10**more, 0.5 * epsilon) for more in range(4)):
        table = _repaired(
            _program(losses, apart, epsilon - reserve, objective), epsilon - reserve, apart
        )
        logs = np.log(table)
        ratios = np.array([np.max(np.abs(logs - row), axis=1) for row in logs])
        # A part of what was kept back must be left, so that no rounding of a logarithm matters.
        if np.all(ratios <= (epsilon - _MARGIN * reserve) * apart):
            return np.asarray(_validate.frozen(table))
    raise ArithmeticError(
        f"the linear program's rounding exceeds the reserve kept for it at epsilon = {epsilon!r}"
    )


def _repaired(
    raw: NDArray[np.float64], epsilon: float, apart: NDArray[np.int64]
) -> NDArray[np.float64]:
    # Rounding of the solver: raise what is too small to the ratio that is allowed, then rescale.
    floor = np.exp(-epsilon * apart)
    table = np.array([np.max(raw * floor[i][:, None], axis=0) for i in range(len(raw))])
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _program(
    losses: NDArray[np.float64], apart: NDArray[np.int64], epsilon: float, objective: str
) -> NDArray[np.float64]:
    size = len(losses)
    from scipy import sparse

    first, second = np.nonzero(apart == 1)
    pairs = np.arange(first.size)
    shape = (first.size, size)
    # Each row is divided by e^(epsilon/2): with 1 and e^epsilon the solver stops far from the least
    # mean at large epsilon, and calls that solved.
    half = np.full(first.size, np.exp(0.5 * epsilon))
    ratio = sparse.coo_array((1.0 / half, (pairs, first)), shape) - sparse.coo_array(
        (half, (pairs, second)), shape
    )
    privacy = sparse.kron(ratio, sparse.eye_array(size))
    sums = sparse.kron(sparse.eye_array(size), np.ones((1, size)))
    if objective == "mean":
        solution = np.asarray(solve_program(losses.ravel() / size, privacy, sums).x, np.float64)
    else:
        expected = sparse.block_diag([sparse.coo_array(row) for row in losses[:, None, :]])
        solution = _least_worst(privacy, expected, sums)
    return np.asarray(np.maximum(solution.reshape(size, size), _IMPOSSIBLE))


def solve_program(
    cost: NDArray[np.float64], below: Any, equal: Any, method: Solver = "highs"
) -> Any:
    """Return scipy's solution of min cost x with below x <= 0, equal x = 1 and x >= 0.

    Raises ArithmeticError where the solver gives up.
    """
    from scipy.optimize import linprog

    result = linprog(
        cost,
        A_ub=below,
        b_ub=np.zeros(below.shape[0]),
        A_eq=equal,
        b_eq=np.ones(equal.shape[0]),
        bounds=(0, None),
        method=method,
    )
    if not result.success:
        raise ArithmeticError(f"the linear program was not solved: {result.message}")
    return result


def _least_worst(below: Any, expected: Any, sums: Any) -> NDArray[np.float64]:
    # One more unknown, the bound on all rows of `expected`, is minimised.
    from scipy import sparse

    def wider(matrix: Any, value: float = 0.0) -> Any:
        return sparse.hstack([matrix, sparse.coo_array(np.full((matrix.shape[0], 1), value))])

    rows = [wider(expected, -1.0)] + ([] if below is None else [wider(below)])
    cost = np.append(np.zeros(expected.shape[1]), 1.0)
    found = solve_program(cost, sparse.vstack(rows).tocsr(), wider(sums)).x
    return np.asarray(found[:-1], dtype=np.float64)


@lru_cache(maxsize=16)
def _remap(base: Any, rule: str, n: int, prior: tuple[float, ...]) -> NDArray[np.float64]:
    losses = distance_table(n, prior)
    size = len(losses)
    laws = [_complete(base, x, prior) for x in compositions(n, len(prior))]
    table = np.array([law.probabilities for law in laws])
    if rule == "bayes":
        return np.asarray(_validate.frozen(np.eye(size)[best_candidates(table, losses)]))
    from scipy import sparse

    # Unknown T[r, s]; row x of `expected` is sum over r, s of P[r | x] T[r, s] H(x, s). Where that
    # is small it is counted in units of the worst case without a remap: the solver's tolerances are
    # absolute. What they leave may still be worse than no remap at all; then nothing is replaced.
    without = float((table * losses).sum(axis=1).max())
    scaled = losses / max(without, _LEAST_UNIT) if without < _SMALL_LOSS else losses
    expected = sparse.coo_array(np.einsum("xr,xs->xrs", table, scaled).reshape(size, -1))
    sums = sparse.kron(sparse.eye_array(size), np.ones((1, size)))
    raw = np.maximum(_least_worst(None, expected, sums).reshape(size, size), 0.0)
    remap = raw / raw.sum(axis=1, keepdims=True)
    attained = float((table @ remap * losses).sum(axis=1).max())
    return np.asarray(_validate.frozen(remap if attained < without else np.eye(size)))
