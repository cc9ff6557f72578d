"""The best any private mechanism can do that releases one of few candidates, by linear
programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.laws.estimate import (
    log_affinity_of_outputs,
)
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import listed
from dpbayes.mechanisms.capabilities import Counts, Drawn
from dpbayes.mechanisms.geometric import closest_best
from dpbayes.mechanisms.look import SOLID, Look
from dpbayes.mechanisms.protocol import (
    Guarantee,
    Mechanism,
    exact_epsilon,
    guarantee,
)
from dpbayes.mechanisms.spec import Nominal, Option, Spec, words_of
from dpbayes.posteriors import check_candidates, compositions, row_of
from dpbayes.samplers.bits import BitSource
from dpbayes.samplers.whole_numbers import weighted

Solver = Literal["highs", "highs-ipm"]

# candidate posteriors of a linear program, their square the unknowns
LARGEST_PROGRAM = 66

# The program is solved for epsilon less this share, which pays for repairing its
# rounding. An epsilon much smaller than it has nothing left; above 2 ln 1e15 the solver
# takes e^(epsilon/2) for an error.
_RESERVE = 1e-7
_LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 69.0
_MARGIN = 0.01
_IMPOSSIBLE = 1e-300
_SMALL_LOSS, _LEAST_UNIT = 1e-2, 1e-7


@dataclass(frozen=True)
class OptimalMechanism(Nominal):
    """The epsilon-DP matrix P[r | x] with the least expected Hellinger distance (M11).

    `objective` "mean" averages over all histograms of n records with equal weight,
    "worst" takes the largest expected distance of any histogram. It needs n and the
    prior before the data, at most `LARGEST_PROGRAM` candidates and an epsilon from 1e-6
    to 69. Book: `def-optimal`. Guarantee: epsilon.
    """

    objective: str = "mean"

    name: ClassVar[str] = "optimal"
    options: ClassVar[Mapping[str, Option]] = {
        "objective": words_of(
            ("mean", "worst"),
            "the expected distance that is least: its mean over all histograms, or"
            " its largest value",
        )
    }

    def table(self, n: int, prior: ArrayLike) -> NDArray[np.float64]:
        """Return P[r | x] for all histograms x (rows) and r (columns), lexicographic,
        read-only.

        Shape (N, N), N = C(n + k - 1, k - 1); rows sum to 1. For all neighbours x, x'
        and every r, P[r | x] <= e^epsilon P[r | x']. Raises ValueError for an epsilon
        outside 1e-6 to 69 or too many candidates, ArithmeticError where the solver
        gives up.
        """
        size = _validate.integer("n", n, minimum=1)
        alpha = _validate.prior("prior", prior)
        check_candidates(size, alpha.size, LARGEST_PROGRAM, "the linear program")
        if not _LEAST_EPSILON <= self.epsilon <= _LARGEST_EPSILON:
            raise ValueError(
                f"epsilon must lie in [{_LEAST_EPSILON:g}, {_LARGEST_EPSILON:g}] for"
                f" the linear program, got {float(self.epsilon)!r}"
            )
        return _solved(self.epsilon, self.objective, size, tuple(alpha.tolist()))

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the released histogram.

        >>> round(OptimalMechanism(1.0).law([5, 5], [1, 1]).mean_distance(), 4)
        0.1731
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        table = self.table(int(x.sum()), alpha)
        return FiniteLaw(
            alpha, x, compositions(int(x.sum()), x.size), np.log(table[row_of(x)])
        )

    def guarantee(self, k: int) -> Guarantee:
        """Return epsilon: the inequalities of privacy are the program's constraints.

        For all x, x' of n records with one replaced, and every set S of histograms,
        P[M(x) in S] <= e^epsilon P[M(x') in S], for every n and prior the program
        takes.
        """
        _validate.integer("k", k, minimum=2)
        return Guarantee(
            exact_epsilon(self.epsilon),
            "the matrix of probabilities solves a linear program with these"
            " inequalities as constraints; a computed matrix is refused unless every"
            " two of its rows keep them with a margin of at least"
            f" {_MARGIN * _RESERVE:g} that no rounding reaches",
            "def-optimal",
        )

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return an output twice, drawn in proportion to the floats of the matrix as
        they are.

        The floats are taken as exact fractions: no rounding comes after the check of
        `table`, whose margin covers that the sums of two rows differ from 1 in their
        last digit.
        """
        n = int(counts.sum())
        row = [
            Fraction(weight) for weight in self.table(n, prior)[row_of(counts)].tolist()
        ]
        chosen = compositions(n, counts.size)[weighted(bits, row)]
        return chosen, chosen


@dataclass(frozen=True)
class Remapped:
    """Another mechanism whose output r is replaced by the best guess given r; still as
    private.

    `rule` "bayes" replaces r by the candidate with the least expected distance when
    every histogram is equally likely; "minimax" by a random candidate, so that the
    largest expected distance of any histogram is least. Post-processing
    (`thm-post-processing`): the guarantee of `base` carries over. Book: `def-remap`.
    """

    base: Mechanism
    rule: str = "bayes"

    def __post_init__(self) -> None:
        _validate.choice("rule", self.rule, ("bayes", "minimax"))

    @property
    def name(self) -> str:
        """The name of the base and that of the rule, such as "lapMech, bayes remap"."""
        return f"{self.base.name}, {self.rule} remap"

    @property
    def epsilon(self) -> float:
        """The nominal epsilon of the base, which a remap leaves as it is."""
        return self.base.epsilon

    def guarantee(self, k: int) -> Guarantee:
        """Return that of the base: a remap is post-processing,
        `thm-post-processing`."""
        base = guarantee(self.base, k)
        return replace(base, basis=f"{base.basis}, and the remap is post-processing")

    def law(self, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
        """Return the exact law of the remapped release: P'[s | x] = sum_r P[r | x] T[r,
        s].

        T (N, N) is the remap, of zeros and ones for "bayes". Raises ValueError for more
        than `LARGEST_PROGRAM` candidates, TypeError for a base that does not list every
        histogram.
        """
        x, alpha = _validate.counts_and_prior(counts, prior)
        n = int(x.sum())
        check_candidates(n, x.size, LARGEST_PROGRAM, "a remap")
        asked: Any = self.base, n, tuple(alpha.tolist())
        table, answers = best_guesses(*asked)
        remap = (
            np.eye(len(table))[answers] if self.rule == "bayes" else _minimax(*asked)
        )
        with np.errstate(divide="ignore"):
            logs = np.log(table[row_of(x)] @ remap)
        return FiniteLaw(alpha, x, compositions(n, x.size), logs)


def distance_table(n: int, prior: ArrayLike) -> NDArray[np.float64]:
    """Return H(BI(x), r) for all histograms x, r of n records, shape (N, N),
    lexicographic.
    """
    alpha = _validate.prior("prior", prior)
    outputs = compositions(_validate.integer("n", n, minimum=1), alpha.size)
    rows = [log_affinity_of_outputs(alpha, x, outputs) for x in outputs]
    return distance_from_log_affinity(np.array(rows))


def record_distances(n: int, k: int) -> NDArray[np.int64]:
    """Return d(x, x') = half the l1 distance for all pairs of histograms, shape (N, N).

    So many records must be replaced to get from one to the other; neighbours have d =
    1.
    """
    outputs = compositions(n, k)
    return np.asarray(
        np.abs(outputs[:, None, :] - outputs[None, :, :]).sum(axis=2) // 2
    )


@lru_cache(maxsize=16)
def best_guesses(
    base: Any, n: int, prior: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return P[r | x] of all histograms, and for each output r the best guess s, as row
    numbers.

    s has the least sum over x of P[r | x] H(x, s); of equally good ones the closest to
    r is taken, then the first. Raises TypeError for a base that does not list every
    histogram.
    """
    outputs = compositions(n, len(prior))
    laws = [listed(base.law(x, prior), "a remap") for x in outputs]
    if not all(np.array_equal(law.outputs, outputs) for law in laws):
        raise TypeError(
            f"base must list every histogram of n records once, got {base!r}"
        )
    table, losses = (
        np.array([law.probabilities for law in laws]),
        distance_table(n, prior),
    )
    return _validate.frozen(table), _validate.frozen(
        closest_best(table.T @ losses, losses)[0]
    )


@lru_cache(maxsize=16)
def _solved(
    epsilon: float, objective: str, n: int, prior: tuple[float, ...]
) -> NDArray[np.float64]:
    apart = record_distances(n, len(prior))
    losses = distance_table(n, prior)
    for reserve in (min(_RESERVE * 10**more, 0.5 * epsilon) for more in range(4)):
        raw = _program(losses, apart, epsilon - reserve, objective)
        # Rounding of the solver: what is too small is raised to the ratio that is
        # allowed.
        floor = np.exp(-(epsilon - reserve) * apart)
        table = np.array([np.max(raw * row[:, None], axis=0) for row in floor])
        table /= table.sum(axis=1, keepdims=True)
        logs = np.log(table)
        ratios = np.array([np.max(np.abs(logs - row), axis=1) for row in logs])
        # A part of what was kept back must be left, so that no rounding of a logarithm
        # matters.
        if np.all(ratios <= (epsilon - _MARGIN * reserve) * apart):
            return np.asarray(_validate.frozen(table))
    raise ArithmeticError(
        "the linear program's rounding exceeds the reserve kept for it at epsilon ="
        f" {epsilon!r}"
    )


def _program(
    losses: NDArray[np.float64],
    apart: NDArray[np.int64],
    epsilon: float,
    objective: str,
) -> NDArray[np.float64]:
    from scipy import sparse

    size = len(losses)
    first, second = np.nonzero(apart == 1)
    pairs, shape = np.arange(first.size), (first.size, size)
    # Each row is divided by e^(epsilon/2): with 1 and e^epsilon the solver stops far
    # from the least mean at large epsilon, and calls that solved.
    half = np.full(first.size, np.exp(0.5 * epsilon))
    ratio = sparse.coo_array((1.0 / half, (pairs, first)), shape) - sparse.coo_array(
        (half, (pairs, second)), shape
    )
    expected = sparse.block_diag([sparse.coo_array(row) for row in losses[:, None, :]])
    privacy = sparse.kron(ratio, sparse.eye_array(size))
    return np.maximum(_least(expected, privacy, objective), _IMPOSSIBLE)


def _least(expected: Any, below: Any, objective: str) -> NDArray[np.float64]:
    # The table T whose rows sum to 1, below T <= 0, with the least mean or worst row of
    # expected T.
    from scipy import sparse

    size = expected.shape[0]
    sums = sparse.kron(sparse.eye_array(size), np.ones((1, size)))
    if objective == "mean":
        found = solve_program(expected.sum(axis=0) / size, below, sums).x
    else:

        def wider(matrix: Any, value: float = 0.0) -> Any:
            return sparse.hstack(
                [matrix, sparse.coo_array(np.full((matrix.shape[0], 1), value))]
            )

        # One more unknown, the bound on all rows, is minimised.
        cost = np.append(np.zeros(size * size), 1.0)
        rows = sparse.vstack([wider(expected, -1.0), wider(below)]).tocsr()
        found = solve_program(cost, rows, wider(sums)).x[:-1]
    return np.asarray(found, dtype=np.float64).reshape(size, size)


def solve_program(
    cost: NDArray[np.float64], below: Any, equal: Any, method: Solver = "highs"
) -> Any:
    """Return scipy's solution of min cost x with below x <= 0, equal x = 1 and x >= 0.

    Raises ArithmeticError where the solver gives up.
    """
    from scipy.optimize import linprog

    zeros, ones = np.zeros(below.shape[0]), np.ones(equal.shape[0])
    result = linprog(cost, below, zeros, equal, ones, bounds=(0, None), method=method)
    if not result.success:
        raise ArithmeticError(f"the linear program was not solved: {result.message}")
    return result


@lru_cache(maxsize=16)
def _minimax(base: Any, n: int, prior: tuple[float, ...]) -> NDArray[np.float64]:
    from scipy import sparse

    table, losses = best_guesses(base, n, prior)[0], distance_table(n, prior)
    size = len(losses)
    # Unknown T[r, s]; row x of `expected` is sum over r, s of P[r | x] T[r, s] H(x, s).
    # Where that is small it is counted in units of the worst case without a remap: the
    # solver's tolerances are absolute. What they leave may still be worse than no remap
    # at all; then nothing is replaced.
    without = float((table * losses).sum(axis=1).max())
    scaled = losses / max(without, _LEAST_UNIT) if without < _SMALL_LOSS else losses
    expected = sparse.coo_array(
        np.einsum("xr,xs->xrs", table, scaled).reshape(size, -1)
    )
    free = sparse.coo_array((1, size * size))
    raw = np.maximum(_least(expected, free, "worst"), 0.0)
    remap = raw / raw.sum(axis=1, keepdims=True)
    attained = float((table @ remap * losses).sum(axis=1).max())
    return np.asarray(_validate.frozen(remap if attained < without else np.eye(size)))


SPECS = (
    Spec(
        OptimalMechanism.name,
        OptimalMechanism,
        OptimalMechanism.options,
        Look("#000000", SOLID, "8", "", "the optimum, by a linear program"),
        theorem="def-optimal",
        sources=("ghosh-universally",),
    ),
)
