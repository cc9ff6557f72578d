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
    """It can be released: exact draws from fair bits."""

    def draw(
        self, counts: Counts, prior: NDArray[np.float64], bits: BitSource
    ) -> Drawn:
        """Return one exact draw: the noisy value, and the released counts (k,)."""


class Finishes(Protocol):
    """What is released is made from a noisy value whose law knows no prior."""

    def finished(self, noisy: Counts, n: int, prior: NDArray[np.float64]) -> Counts:
        """Return the released counts (k,) that belong to a noisy value."""


class LogLikelihoods(Protocol):
    """What was drawn has a likelihood that is one factor for each category."""

    def log_likelihoods(
        self, noisy: Counts, n: int, k: int
    ) -> Sequence[NDArray[np.float64]]:
        """Return k arrays: ln P(noisy | count = 0 … n) of one category, but for a
        constant.
        """


class LogLikelihoodAt(Protocol):
    """Every count has noise of its own, so that the number of records may be secret."""

    def log_likelihood_at(self, noisy: int, values: Counts) -> NDArray[np.float64]:
        """Return ln P(noisy | count) of one noisy count for each of `values`, but for
        a constant.
        """


class Steps(Protocol):
    """The step from the true to the released count has a law as the data grow."""

    def step_law(self, k: int = 2) -> StepLaw:
        """Return that law for k categories; ValueError where none is known."""


class Rated(Protocol):
    """ln P is proportional to -rate times a score that does not depend on epsilon."""

    @property
    def metric(self) -> str:
        """The name of the score: "hellinger" or "published"."""

    def rates(self, n: int, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rate of every data set of n records, in lexicographic order."""

    def scaled(self, share: float) -> Any:
        """Return the mechanism with every rate `share` times as large."""


class Timed(Protocol):
    """It knows how long an audit of all data sets takes before it starts."""

    def audit_seconds(self, n: int, k: int) -> float:
        """Return about how many processor seconds that is, for n records over k
        categories; inf where the outputs cannot be listed.
        """


class Symmetric(Protocol):
    """Renaming the categories of prior and counts may rename the outputs."""

    @property
    def symmetric(self) -> bool:
        """Whether it does."""


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
