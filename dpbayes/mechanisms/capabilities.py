"""What a mechanism may offer beside its law: one protocol for each, read by `own`.

What was proved or written for one class is not handed down to another: `own` asks the
exact type of an object, so a subclass offers only what it states itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.steps import StepLaw
from dpbayes.samplers.bits import BitSource

Counts = NDArray[np.int64]
Drawn = tuple[Counts, Counts]
"""The noisy value that privacy is proved for, and the released counts made from it."""

Offered = TypeVar("Offered")


class Draws(Protocol):
    """It can be released: exact draws from fair bits.

    The law of the draw is the mechanism's own, without rounding: probabilities are
    compared as fractions or in ball arithmetic, never as floats. Book:
    `thm-exact-samplers`.
    """

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return one exact draw: the noisy value, and the released counts (k,).

        `counts` (k,) are whole numbers of at least 0, `prior` (k,) is positive; both
        are checked before. `bits` gives fair coin flips. The noisy value is what the
        guarantee is proved for, the released counts are made from it by `finished`
        where a mechanism has that, and are the same where the draw is a histogram
        already.
        """


class Finishes(Protocol):
    """What is released is made from a noisy value whose law knows no prior.

    So one draw serves several releases: with another prior, another projection or a
    remap it is read anew and costs nothing.
    """

    def finished(self, noisy: Counts, n: int, prior: NDArray[np.float64]) -> Counts:
        """Return the released counts (k,) that belong to a noisy value.

        `noisy` is the first that `draw` returned, `n` >= 0 the public number of
        records. It is a function of these and the prior alone: post-processing, which
        no guarantee pays for.
        """


class LogLikelihoods(Protocol):
    """What was drawn has a likelihood that is one factor for each category.

    A reading of the release that knows the noise (book: `def-noise-aware`) multiplies
    these with the prior.
    """

    def log_likelihoods(
        self, noisy: Counts, n: int, k: int
    ) -> Sequence[NDArray[np.float64]]:
        """Return k arrays (n + 1,): ln P(noisy | count = 0 … n) of each category.

        A constant may be left out of each array, for what is read from them is
        normalised. Their sum at a histogram x is ln P(noisy | x), but for that.
        """


class LogLikelihoodAt(Protocol):
    """Every count has noise of its own, so that the number of records may be secret.

    Without n there is no last count; the likelihood is asked for where it is needed.
    """

    def log_likelihood_at(self, noisy: int, values: Counts) -> NDArray[np.float64]:
        """Return ln P(noisy | count) of one noisy count for each of `values`, shape
        (m,).

        `values` are whole numbers of at least 0; a constant may be left out.
        """


class Steps(Protocol):
    """The step from the true to the released count has a law as the data grow.

    Where the noise stays what it is while n grows, the step of one count no longer
    depends on the data. Book: `thm-large-n`.
    """

    def step_law(self, k: int = 2) -> StepLaw:
        """Return the limiting law of the step for k categories, as a `StepLaw`.

        Raises ValueError where none is known. Book: `thm-large-n`, `thm-step-limit`.
        """


class Rated(Protocol):
    """ln P is proportional to -rate times a score that does not depend on epsilon.

    So an audit computes the scores of all pairs of histograms once, and a calibration
    moves the rates alone.
    """

    @property
    def metric(self) -> str:
        """The name of the score: "hellinger", or "published" for that of the printed
        curves.
        """

    def rates(self, n: int, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rate of every data set of n records, shape (N,), all positive.

        N = C(n + k - 1, k - 1), in the lexicographic order of
        `posteriors.compositions`.
        """

    def scaled(self, share: float) -> Any:
        """Return the mechanism with every rate `share` > 0 times as large."""


class Timed(Protocol):
    """It knows how long an audit of all data sets takes before it starts.

    `audit` refuses what would take longer than `auditing.sizes.LONGEST`, before any
    work.
    """

    def audit_seconds(self, n: int, k: int) -> float:
        """Return about how many processor seconds that is, for n records over k
        categories; inf where the outputs cannot be listed.
        """


class Symmetric(Protocol):
    """Renaming the categories of prior and counts may rename the outputs.

    If it does, data sets that differ in the order of their categories share a law.
    """

    @property
    def symmetric(self) -> bool:
        """Whether P[r | x, prior] stays the same when all three are permuted alike."""


def own(thing: object, offered: type[Offered]) -> Offered | None:
    """Return `thing` if its exact type states all methods of a protocol, else None.

    A subclass may change the noise and keep the promise: what it inherits is not its
    own. Nor does an object offer anything whose methods were replaced one by one.

    >>> from dpbayes.mechanisms import mechanism
    >>> own(mechanism("lattice", 1.0), Draws)
    SumZeroLattice(epsilon=1.0, projection='l2', remap=False)
    >>> own(mechanism("lattice", 1.0), Steps) is None
    True
    """
    stated = vars(type(thing))
    known = {entry.name for entry in fields(thing)} if is_dataclass(thing) else set()
    asked = {name for name in vars(offered) if not name.startswith("_")} - known
    extra = getattr(thing, "__dict__", {}).keys() - known
    altered = any(not isinstance(stated.get(name), cached_property) for name in extra)
    return None if altered or asked - stated.keys() else cast("Offered", thing)
