"""The law of every data set of n records, as rows of log-probabilities over one list of outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.auditing.score_tables import two_categories
from dpbayes.divergences import affinity_exponent, distance_from_log_affinity
from dpbayes.laws.finite import FiniteLaw, log_affinity_of_outputs
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.posteriors import compositions, number_of_candidates

LARGEST_TABLE = 30_000_000
"""Most log-probabilities kept in memory at once (240 MB)."""

LARGEST_STREAM = 1_000_000_000
"""Most log-probabilities computed in one pass over the data sets (a few minutes)."""

# A law may leave out this share of its least likely output: no loss changes by more.
_NEGLIGIBLE = 1e-12

KEPT_TABLE = 4_000_000
"""Tables up to this many entries are kept between passes."""


@dataclass(frozen=True)
class Rows:
    """Log-probabilities ln P(output | counts), one row for each of the data sets in `counts`.

    `counts` (N, k) are all histograms of n records in lexicographic order, `outputs` (M, k) every
    output any of them can give; `row(i)` has shape (M,) and holds -inf for an impossible output.
    """

    counts: NDArray[np.int64]
    outputs: NDArray[np.int64]
    row: Callable[[int], NDArray[np.float64]]

    @property
    def entries(self) -> int:
        """Number of log-probabilities in all rows."""
        return len(self.counts) * len(self.outputs)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self.row(i) for i in range(len(self.counts)))

    def kept(self, limit: int = KEPT_TABLE) -> Rows:
        """Return the same rows, computed once and kept if they have at most `limit` entries."""
        if self.entries > limit:
            return self
        table = np.array(list(self))
        return replace(self, row=table.__getitem__)


def law_of(mechanism: Mechanism, counts: ArrayLike, prior: ArrayLike) -> FiniteLaw:
    """Return the law of a mechanism at these counts, refusing one that is not a complete list."""
    law = mechanism.law(counts, prior)
    if not isinstance(law, FiniteLaw):
        raise TypeError(
            f"an exact audit needs every output listed; the law of {mechanism.name} at these "
            f"counts is a {type(law).__name__}"
        )
    if law.mass_outside > _NEGLIGIBLE * np.exp(np.min(law.log_probabilities)):
        raise ValueError(
            f"an exact audit needs every output listed; the law of {mechanism.name} leaves out "
            f"outputs of probability up to {law.mass_outside:.3g}: use fewer records"
        )
    return law


def check_size(n: int, k: int) -> None:
    """Raise ValueError when all laws of n records over k categories are too many to audit."""
    limit = LARGEST_STREAM if k == 2 else LARGEST_TABLE
    rows = number_of_candidates(n, k)
    if rows**2 <= limit:
        return
    fits = n
    while number_of_candidates(fits, k) ** 2 > limit:
        fits = fits * 9 // 10 if number_of_candidates(fits * 9 // 10, k) ** 2 > limit else fits - 1
    raise ValueError(
        f"n = {n} records over k = {k} categories give {rows} data sets with {rows} outputs each, "
        f"{rows**2 * 8 / 1e9:.3g} GB of probabilities; at k = {k} an audit takes n up to {fits}"
    )


def mechanism_rows(mechanism: Mechanism, n: int, prior: NDArray[np.float64]) -> Rows:
    """Return the laws of a mechanism for all data sets of n records; nothing large is held yet."""
    if isinstance(mechanism, ExponentialMechanism):
        rates = mechanism.rates(n, prior)
        return exponential_rows(score_rows(mechanism.metric, n, prior), rates)
    counts = compositions(n, prior.size)
    first = law_of(mechanism, counts[0], prior)
    _check_entries(mechanism, len(first.outputs), counts)
    if not np.array_equal(law_of(mechanism, counts[-1], prior).outputs, first.outputs):
        return _united_rows(mechanism, counts, prior)

    def row(i: int) -> NDArray[np.float64]:
        law = law_of(mechanism, counts[i], prior)
        if not np.array_equal(law.outputs, first.outputs):
            raise ValueError(
                f"{mechanism.name} lists other outputs at counts {counts[i].tolist()} than at "
                f"{counts[0].tolist()}; audit_pair compares two data sets whose outputs differ"
            )
        return law.log_probabilities

    return Rows(counts, first.outputs, row)


def _check_entries(mechanism: Mechanism, outputs: int, counts: NDArray[np.int64]) -> None:
    limit = LARGEST_STREAM if counts.shape[1] == 2 else LARGEST_TABLE
    if outputs * len(counts) > limit:
        raise ValueError(
            f"{mechanism.name} has {outputs} outputs for each of {len(counts)} data sets, "
            f"{outputs * len(counts) * 8 / 1e9:.3g} GB of probabilities; an audit takes "
            f"{limit * 8 / 1e9:.3g} GB: use fewer records"
        )


def _united_rows(
    mechanism: Mechanism, counts: NDArray[np.int64], prior: NDArray[np.float64]
) -> Rows:
    laws = [law_of(mechanism, x, prior) for x in counts]
    outputs = np.unique(np.concatenate([law.outputs for law in laws]), axis=0)
    _check_entries(mechanism, len(outputs), counts)
    table = np.array([aligned(law, outputs) for law in laws])
    return Rows(counts, outputs, table.__getitem__)


def aligned(law: FiniteLaw, outputs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log-probabilities of a law at these outputs, -inf where it has none.

    `outputs` must be sorted, distinct and contain every output of the law; outputs listed twice in
    the law are added up.
    """
    stacked = np.concatenate((outputs, law.outputs))
    _, place = np.unique(stacked, axis=0, return_inverse=True)
    result = np.full(len(outputs), -np.inf)
    np.logaddexp.at(result, place.ravel()[len(outputs) :], law.log_probabilities)
    return result


def score_rows(metric: str, n: int, prior: NDArray[np.float64]) -> Rows:
    """Return the scores H(BI(x), r) of the exponential mechanisms as rows, for any k."""
    counts = compositions(n, prior.size)
    exponent = affinity_exponent(metric, float(prior.sum() + n))
    two = two_categories(n, prior) if prior.size == 2 else None

    def row(i: int) -> NDArray[np.float64]:
        log_bc = two.row(i) if two else log_affinity_of_outputs(prior, counts[i], counts)
        return distance_from_log_affinity(log_bc, exponent)

    return Rows(counts, counts, row)


def exponential_rows(scores: Rows, rates: NDArray[np.float64]) -> Rows:
    """Return rows ln P proportional to -rate times score, one rate for each data set."""

    def row(i: int) -> NDArray[np.float64]:
        # The score of the truth is 0, so the largest weight is 1 and the sum cannot underflow.
        weights = -rates[i] * scores.row(i)
        return np.asarray(weights - np.log(np.exp(weights).sum()))

    return replace(scores, row=row)


def moves(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row numbers of all neighbouring pairs in a lexicographic list of histograms.

    Each unordered pair appears once: one record moves from category i to a category j > i, which
    leads to an earlier row. Book: `thm-audit-complete`.
    """
    n, k = int(counts[0].sum()), counts.shape[1]
    weights = (n + 1) ** np.arange(k - 1, -1, -1, dtype=np.int64)
    keys = counts @ weights
    later, earlier = [], []
    for i in range(k):
        for j in range(i + 1, k):
            source = np.flatnonzero(counts[:, i] > 0)
            later.append(source)
            earlier.append(np.searchsorted(keys, keys[source] - weights[i] + weights[j]))
    return np.concatenate(earlier), np.concatenate(later)


def checked(mechanism: Mechanism, n: int, prior: ArrayLike) -> tuple[int, NDArray[np.float64]]:
    """Return n and prior of an audit, checked."""
    _validate.mechanism("mechanism", mechanism)
    return _validate.integer("n", n, minimum=1), _validate.prior("prior", prior)
