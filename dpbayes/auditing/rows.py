"""The law of every data set of n records, as rows of log-probabilities over one list of
outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.scores import Scores
from dpbayes.auditing.sizes import check_entries, check_time
from dpbayes.laws.law import Listed, listed
from dpbayes.mechanisms.capabilities import Rated, own
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions

KEPT_TABLE = 4_000_000
"""Tables up to this many entries are kept between passes."""

_NORMALISED = 1e-9
# of its least likely output a law may leave out: no loss changes by more
_NEGLIGIBLE = 1e-12
# All data sets up to the first number, and about the second beyond it, are compared
# with the law, to this share of the largest logarithm: sums and tables round, another
# law differs by far more.
_ALL_COMPARED = 100
_COMPARED = 20
_SAME_LAW = 1e-8


@dataclass(frozen=True)
class Rows:
    """Log-probabilities ln P(output | counts), one row for each of the data sets in
    `counts`.

    `counts` (N, k) are all histograms of n records in lexicographic order, `outputs`
    (M, k) every output any of them can give; `row(i)` has shape (M,) and holds -inf for
    an impossible output.
    """

    counts: NDArray[np.int64]
    outputs: NDArray[np.int64]
    row: Callable[[int], NDArray[np.float64]]

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self.row(i) for i in range(len(self.counts)))

    def kept(self, limit: int = KEPT_TABLE) -> Rows:
        """Return the same rows, computed once and kept if they have at most `limit`
        entries.

        Beyond that they are returned as they are, and each pass computes them anew.
        """
        if len(self.counts) * len(self.outputs) > limit:
            return self
        return replace(self, row=Table(np.array(list(self))))


@dataclass(frozen=True)
class Table:
    """Rows in memory, shape (N, M): what `Rows.row` is once they are kept."""

    rows: NDArray[np.float64]

    def __call__(self, i: int) -> NDArray[np.float64]:
        """Return row i, shape (M,)."""
        return np.asarray(self.rows[i])


@dataclass(frozen=True)
class _Weighted:
    """ln P proportional to -rate times score; `rates` (N,)."""

    scores: Callable[[int], NDArray[np.float64]]
    rates: NDArray[np.float64]

    def __call__(self, i: int) -> NDArray[np.float64]:
        # The score of the truth is 0, so the largest weight is 1 and the sum cannot
        # underflow.
        weights = -self.rates[i] * self.scores(i)
        return np.asarray(weights - np.log(np.exp(weights).sum()))


@dataclass(frozen=True)
class _Laws:
    """What `.law` returns for each data set, over the outputs of the first."""

    mechanism: Mechanism
    counts: NDArray[np.int64]
    prior: NDArray[np.float64]
    outputs: NDArray[np.int64]

    def __call__(self, i: int) -> NDArray[np.float64]:
        law = law_of(self.mechanism, self.counts[i], self.prior)
        if not np.array_equal(law.outputs, self.outputs):
            raise ValueError(
                f"{self.mechanism.name} lists other outputs at counts"
                f" {self.counts[i].tolist()} than at {self.counts[0].tolist()};"
                " audit_pair compares two data sets whose outputs differ"
            )
        return law.log_probabilities


def law_of(mechanism: Mechanism, counts: ArrayLike, prior: ArrayLike) -> Listed:
    """Return the law of a mechanism at these counts, refusing one that is not a law.

    It must list its outputs completely, with log-probabilities that are finite or -inf
    and sum to one; anything else could be audited and would mean nothing.
    """
    law = listed(mechanism.law(counts, prior), f"an exact audit of {mechanism.name}")
    logs, outputs = np.asarray(law.log_probabilities), np.asarray(law.outputs)
    at = f"the law of {mechanism.name} at counts {np.asarray(counts).tolist()}"
    if logs.ndim != 1 or outputs.shape != (logs.size, np.size(counts)):
        raise ValueError(
            f"{at} must list outputs (N, {np.size(counts)}) and log-probabilities (N,),"
            f" got {outputs.shape} and {logs.shape}"
        )
    wrong = logs[np.isnan(logs) | (logs == np.inf)]
    if wrong.size:
        raise ValueError(
            f"{at} must have log-probabilities below +inf, got {float(wrong[0])}"
        )
    outside = float(getattr(law, "mass_outside", 0.0))
    if not outside <= _NEGLIGIBLE * np.exp(np.min(logs)):
        raise ValueError(
            f"an exact audit needs every output listed; {at} leaves out outputs of"
            f" probability up to {outside:.3g}: use fewer records"
        )
    total = float(np.exp(logs).sum())
    if not abs(total - 1.0) <= _NORMALISED:
        raise ValueError(f"{at} must have probabilities that sum to 1, got {total!r}")
    return law


def mechanism_rows(
    mechanism: Mechanism,
    n: int,
    prior: NDArray[np.float64],
    used: NDArray[np.int64] | None = None,
) -> Rows:
    """Return the laws of a mechanism for all data sets of n records; nothing large is
    held yet.

    A mechanism whose exact type states its `rates` is computed from tables that all
    data sets share; a sample of these rows, or those `used`, is compared with what
    `.law` returns.
    """
    scored = own(mechanism, Rated)
    if scored is not None:
        scores = score_rows(scored.metric, n, prior)
        rows = exponential_rows(scores, scored.rates(n, prior))
        chosen = sampled(len(rows.counts)) if used is None else used
        check_rows(mechanism, prior, rows, chosen)
        return rows
    check_time(mechanism, n, prior.size)
    counts = compositions(n, prior.size)
    first, last = (law_of(mechanism, counts[i], prior).outputs for i in (0, -1))
    check_entries(mechanism, len(first), counts)
    if np.array_equal(first, last):
        return Rows(counts, first, _Laws(mechanism, counts, prior, first))
    laws = [law_of(mechanism, x, prior) for x in counts]
    outputs = np.unique(np.concatenate([law.outputs for law in laws]), axis=0)
    check_entries(mechanism, len(outputs), counts)
    return Rows(
        counts, outputs, Table(np.array([aligned(law, outputs) for law in laws]))
    )


def sampled(number: int) -> NDArray[np.int64]:
    """Return the row numbers that are compared: all of a hundred, else some spread
    evenly.
    """
    if number <= _ALL_COMPARED:
        return np.arange(number)
    spread = np.linspace(2, number - 3, _COMPARED).astype(np.int64)
    return np.unique(np.concatenate(([0, 1, number - 2, number - 1], spread)))


def check_rows(
    mechanism: Mechanism,
    prior: NDArray[np.float64],
    rows: Rows,
    chosen: NDArray[np.int64],
) -> None:
    """Raise ArithmeticError where one of the chosen rows is not what `.law` returns.

    They differ where a finite ln p differs by more than 1e-8 (1 + the largest |ln p|):
    sums and tables round far less, a mechanism that states other rates than its law
    uses differs by far more.
    """
    for i in chosen.tolist():
        counts = rows.counts[i]
        ours = rows.row(i)
        theirs = aligned(law_of(mechanism, counts, prior), rows.outputs)
        with np.errstate(invalid="ignore"):
            gap = float(np.max(np.where(ours == theirs, 0.0, np.abs(ours - theirs))))
        reach = 1.0 + float(np.max(np.abs(theirs[np.isfinite(theirs)])))
        if not gap <= _SAME_LAW * reach:
            raise ArithmeticError(
                f"the audit of {mechanism.name} computed another law at counts"
                f" {counts.tolist()} than its .law returns: log-probabilities differ by"
                f" up to {gap:.3g}"
            )


def aligned(law: Listed, outputs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log-probabilities of a law at these outputs, -inf where it has none.

    `outputs` are sorted, distinct and hold the law's; what the law lists twice is added
    up.
    """
    if np.array_equal(outputs, law.outputs):
        return law.log_probabilities
    stacked = np.concatenate((outputs, law.outputs))
    distinct, place = np.unique(stacked, axis=0, return_inverse=True)
    if len(distinct) != len(outputs):
        raise ArithmeticError(
            "a law lists outputs that another one of the same mechanism does not"
        )
    result = np.full(len(outputs), -np.inf)
    np.logaddexp.at(result, place.ravel()[len(outputs) :], law.log_probabilities)
    return result


def score_rows(metric: str, n: int, prior: NDArray[np.float64]) -> Rows:
    """Return the scores H(BI(x), r) (N, N) of the exponential mechanisms as rows, for
    any k.

    `metric` is "hellinger" or "published"; counts and outputs are all histograms of n.
    """
    counts = compositions(n, prior.size)
    return Rows(counts, counts, Scores.of(metric, counts, prior))


def exponential_rows(scores: Rows, rates: NDArray[np.float64]) -> Rows:
    """Return rows ln P = -rate_x H(x, r) - ln Z_x, one of the `rates` (N,) for each
    data set.
    """
    return replace(scores, row=_Weighted(scores.row, rates))


def moves(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row numbers of all neighbouring pairs in a lexicographic list of
    histograms, once.

    One record moves from category i to j > i, to an earlier row. Book:
    `thm-audit-complete`.
    """
    n, k = int(counts[0].sum()), counts.shape[1]
    weights = (n + 1) ** np.arange(k - 1, -1, -1, dtype=np.int64)
    keys = counts @ weights
    later, earlier = [], []
    for i in range(k):
        for j in range(i + 1, k):
            source = np.flatnonzero(counts[:, i] > 0)
            later.append(source)
            earlier.append(
                np.searchsorted(keys, keys[source] - weights[i] + weights[j])
            )
    return np.concatenate(earlier), np.concatenate(later)


def checked(
    mechanism: Mechanism, n: int, prior: ArrayLike
) -> tuple[int, NDArray[np.float64]]:
    """Return n >= 1 and the prior (k,) of an audit, checked; the mechanism must have a
    law.
    """
    _validate.offering("mechanism", mechanism, "law")
    return _validate.integer("n", n, minimum=1), _validate.prior("prior", prior)
