"""Prior and counts give a posterior; all histograms of n records give the candidate set
R.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv, binom

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue

# numbers (rows times categories) in a list of candidates
LARGEST_ENUMERATION = 50_000_000
# what the share reached at an end may differ by from the share asked for
_MISSED = 1e-9
_ATOMS = 1e-20  # x^a is 1 for all floats x in (0, 1) and smaller a, to the last digit


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(ByValue):
    """A Beta (k = 2) or Dirichlet posterior, given by its concentration parameters of
    shape (k,).

    There are at least two, positive and finite. `labels` (k,) name the categories where
    the counts or the prior had labels. Book: `def-posterior`.

    >>> Posterior([6.0, 4.0]).mean
    array([0.6, 0.4])
    """

    concentration: Floats
    labels: tuple[Any, ...] = ()

    def _shown(self) -> dict[str, object]:
        named = {"labels": self.labels} if self.labels else {}
        return {**named, "concentration": self.concentration}

    def __post_init__(self) -> None:
        parameters = _validate.prior("concentration", self.concentration)
        object.__setattr__(self, "concentration", parameters)
        labels = _validate.items("labels", self.labels)
        if labels and len(labels) != parameters.size:
            raise ValueError(
                f"labels must be {parameters.size}, one a category, or none, got"
                f" {_validate.shown(labels)}"
            )
        object.__setattr__(self, "labels", labels)

    @property
    def k(self) -> int:
        """Number of categories, at least 2."""
        return int(self.concentration.size)

    @property
    def total(self) -> float:
        """Sum of the concentration parameters: that of the prior and n records."""
        return float(self.concentration.sum())

    @property
    def mean(self) -> Floats:
        """Posterior mean of the category probabilities, a_i / sum a, shape (k,)."""
        return self.concentration / self.total

    def interval(self, confidence: float = 0.95) -> Floats:
        """Return the central interval of each category's probability, shape (k, 2).

        `confidence` in (0, 1). An end that no float meets, because a tiny parameter
        puts it next to 0 or 1, is the next float outside.

        >>> Posterior([6.0, 4.0]).interval(0.9).round(4).tolist()
        [[0.3449, 0.8312], [0.1688, 0.6551]]
        """
        tail = 0.5 * (1.0 - _validate.open_unit("confidence", confidence))
        others = [float(np.delete(self.concentration, i).sum()) for i in range(self.k)]
        pairs = zip(self.concentration.tolist(), others, strict=True)
        return np.array([_central(a, b, tail) for a, b in pairs])


def _central(a: float, b: float, tail: float) -> list[float]:
    """Return where a Beta variable has `tail` below, and where it has it above."""
    coin = max(a, b) < _ATOMS  # nothing but two atoms, at 0 and 1

    def below(share: float) -> float:
        return (
            b / (a + b) if coin and 0.0 < share < 1.0 else float(betainc(a, b, share))
        )

    def above(share: float) -> float:  # 1 less the share below has lost its digits
        return (
            a / (a + b) if coin and 0.0 < share < 1.0 else float(betaincc(a, b, share))
        )

    with np.errstate(all="ignore"):
        low, high = float(betaincinv(a, b, tail)), float(betainccinv(a, b, tail))
    if not abs(below(low) / tail - 1.0) <= _MISSED:
        low = floats_around(below, tail)[0]
    if not abs(above(high) / tail - 1.0) <= _MISSED:
        high = floats_around(lambda share: -above(share), -tail)[1]
    return [low, high]


def floats_around(
    reached: Callable[[float], float], share: float
) -> tuple[float, float]:
    """Return the last float in [0, 1] at which less than `share` is reached, and the
    one after it.

    `reached` never falls on [0, 1], as a distribution function.
    """

    def at(
        bits: int,
    ) -> float:  # floats that are not negative stand in the order of their bits
        return float(np.int64(bits).view(np.float64))

    one = int(np.float64(1.0).view(np.int64))
    high = bisect_left(range(one), share, lo=1, key=lambda bits: reached(at(bits)))
    return at(high - 1), at(high)


def posterior(counts: ArrayLike, prior: ArrayLike) -> Posterior:
    """Return the posterior of counts under a Dirichlet prior: concentration = prior +
    counts.

    Source: D, section 2 (`bysInfer`); book: `def-posterior`. `counts` (k,) are whole,
    at least 0, `prior` (k,) positive; k is at least 2. The labels of a pandas Series
    are kept.

    >>> posterior([50, 50], [1, 1])
    Posterior(concentration=[51., 51.])
    >>> import pandas
    >>> posterior(pandas.Series({"yes": 3, "no": 1}), [1, 1])
    Posterior(labels=('yes', 'no'), concentration=[4., 2.])
    """
    whole, parameters = _validate.counts_and_prior(counts, prior)
    labels = _validate.labels_of(counts) or _validate.labels_of(prior)
    return Posterior(parameters + whole, labels)


def number_of_candidates(n: int, k: int) -> int:
    """Return |R| = C(n+k-1, k-1), the number of histograms of n records over k
    categories.

    Source: D, section 4.2 (its C(n+1, m-1) is right for k = 2 only); book:
    `thm-candidates`. `n` is at least 0, `k` at least 2.

    >>> number_of_candidates(300, 3)
    45451
    """
    size = _validate.integer("n", n, minimum=0)
    categories = _validate.integer("k", k, minimum=2)
    return math.comb(size + categories - 1, categories - 1)


def row_of(counts: Whole) -> Any:
    """Return the place of each histogram, (..., k) to (...), in the list of
    `compositions`.

    >>> row_of(compositions(3, 2)).tolist()
    [0, 1, 2, 3]
    """
    left, place = counts.sum(axis=-1), np.zeros(counts.shape[:-1])
    for at in range(counts.shape[-1] - 1):
        later, rest = counts.shape[-1] - 1 - at, left - counts[..., at]
        # Histograms with a smaller count here: C(left + later, later) less those with
        # at least it.
        ways = binom(np.arange(left.max(initial=0) + 1) + later, later)
        place = place + (ways[left] - ways[rest])
        left = rest
    return np.rint(place).astype(np.int64)


def compositions(n: int, k: int) -> Whole:
    """Return every histogram of n records over k categories, in lexicographic order,
    read-only.

    Shape (C(n+k-1, k-1), k). Raises ValueError for more than 5e7 numbers.

    >>> compositions(2, 2)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    categories = _validate.integer("k", k, minimum=2)
    check_candidates(n, categories, LARGEST_ENUMERATION // categories, "a list")
    return _compositions(int(n), int(k))


def check_candidates(n: int, k: int, most: int, taker: str) -> None:
    """Raise ValueError, naming the n that fits, where `taker` does not take so many
    histograms.
    """
    rows = number_of_candidates(n, k)
    if rows > most:
        fits = (
            bisect_right(range(n), most, key=lambda m: math.comb(m + k - 1, k - 1)) - 1
        )
        raise ValueError(
            f"n = {n} records over k = {k} categories have {rows} histograms, more than"
            f" {most}; at k = {k} {taker} takes n up to {fits}"
        )


@lru_cache(maxsize=8)
def _compositions(n: int, k: int) -> Whole:
    columns: list[Whole] = []
    rest = np.array([n], dtype=np.int64)
    for _ in range(k - 1):
        branches = rest + 1
        starts = np.cumsum(branches) - branches
        value = np.arange(branches.sum(), dtype=np.int64) - np.repeat(starts, branches)
        columns = [np.repeat(column, branches) for column in columns]
        columns.append(value)
        rest = np.repeat(rest, branches) - value
    columns.append(rest)
    return np.asarray(_validate.frozen(np.column_stack(columns)))


def neighbours(counts: ArrayLike) -> Whole:
    """Return every histogram that one replaced record turns `counts` (k,) into, shape
    (m, k).

    m is the number of non-empty categories times k - 1. Book: `def-neighbours`.

    >>> neighbours([2, 0])
    array([[1, 1]])
    """
    whole = _validate.counts("counts", counts)
    unit = np.eye(whole.size, dtype=np.int64)
    source, target = np.nonzero((whole > 0)[:, None] & (unit == 0))
    return np.asarray(whole + unit[target] - unit[source])
