"""A mechanism as it is declared: all that the package knows of it, in one record.

The record stands in the file of the mechanism's family. What `dpbayes.mechanism`
accepts and refuses, what every check of the test suite goes through, how a figure draws
it, the tables of options on pages and at the command line, and its sources all follow
from it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dpbayes import _validate
from dpbayes.mechanisms.look import Look
from dpbayes.mechanisms.protocol import Epsilon, Mechanism, given_epsilon


@dataclass(frozen=True)
class Option:
    """One option: what it means, which values it takes, and which are tried.

    `check(name, value)` returns the value as it is kept or raises ValueError or
    TypeError. `examples` are values of every kind the option takes, the default first:
    each one is audited exactly, in every combination with those of the other options.

    A release is made in two steps: noise is added to the counts, then the noisy counts
    are turned into a histogram. `afterwards` says that only the second step reads the
    option, as it reads `projection` and `remap` of the lattice mechanism. Another value
    then reads the same draw: a noisy value that was paid for is finished anew, at no
    cost in privacy (`thm-post-processing`). An option that the noise reads, such as a
    sensitivity, is not one of these, and another value needs another draw.
    """

    check: Callable[[str, Any], object]
    examples: tuple[Any, ...]
    words: str
    afterwards: bool = False


@dataclass(frozen=True)
class Nominal:
    """What the mechanisms of the package share: a positive epsilon, exact if given so.

    The options that a class declares are checked when an object is made.
    """

    epsilon: float

    options: ClassVar[Mapping[str, Option]] = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", given_epsilon(self.epsilon))
        keep_checked(self)


def keep_checked(made: Any) -> None:
    """Check every option that the class of a frozen dataclass declares, and keep it.

    What `Option.check` returns takes the place of what was given (a numpy integer
    becomes an int). Raises its ValueError or TypeError.
    """
    for name, option in made.options.items():
        object.__setattr__(made, name, option.check(name, getattr(made, name)))


def read_afterwards(made: Any) -> tuple[str, ...]:
    """Return the names of the options that only the step after the noise reads.

    Two mechanisms that differ in these alone have the same noise, so a draw of one is
    read as a draw of the other and no privacy is spent.

    >>> from dpbayes.mechanisms import mechanism
    >>> read_afterwards(mechanism("lattice", 1.0))
    ('projection', 'remap')
    """
    return tuple(name for name, option in made.options.items() if option.afterwards)


def words_of(
    allowed: tuple[str, ...], words: str, *, afterwards: bool = False
) -> Option:
    """Return an option that takes one of some words, the first of them by default.

    >>> words_of(("l2", "l1"), "the norm").examples
    ('l2', 'l1')
    """

    def check(name: str, value: Any) -> str:
        return _validate.choice(name, value, allowed)

    return Option(check, allowed, words, afterwards)


def yes_or_no(words: str, *, afterwards: bool = False) -> Option:
    """Return an option that takes False, the default, or True.

    >>> yes_or_no("whether the answer is remapped").examples
    (False, True)
    """
    return Option(_validate.flag, (False, True), words, afterwards)


def or_none(check: Callable[[str, Any], object]) -> Callable[[str, Any], object]:
    """Return a check that lets None pass.

    >>> or_none(_validate.positive)("divisor", None) is None
    True
    """
    return lambda name, value: None if value is None else check(name, value)


@dataclass(frozen=True)
class Spec:
    """All that is known about a mechanism before it has an epsilon.

    `make(epsilon, **options)` makes it, `options` says what it takes. `theorem` is the
    label of the proof of its guarantee, None where there is none, `sources` the keys of
    what it is taken from. `variants` are looks of its own for what a comparison shows
    beside it, by the word that is added to the name.

    >>> from dpbayes.mechanisms import REGISTRY
    >>> REGISTRY["lattice"]
    lattice(epsilon, projection='l2', remap=False)
    >>> REGISTRY["lattice"](0.5).law([5, 5], [1, 1]).mean_distance() > 0.1
    True
    """

    name: str
    make: Callable[..., Mechanism]
    options: Mapping[str, Option]
    look: Look
    theorem: str | None
    sources: tuple[str, ...]
    variants: Mapping[str, Look] = field(default_factory=dict)

    @property
    def defaults(self) -> dict[str, Any]:
        """What each option is where it is not given: the first of its examples."""
        return {name: option.examples[0] for name, option in self.options.items()}

    @property
    def definition(self) -> str:
        """The label of its definition in the book, such as `def-lapmech`."""
        return f"def-{self.name.lower()}"

    def __call__(self, epsilon: Epsilon, **options: Any) -> Mechanism:
        """Return the mechanism at `epsilon` > 0 with these options."""
        for name, value in options.items():
            if name not in self.options:
                listed = ", ".join(self.options) or "none"
                raise TypeError(
                    f"{self.name} has no option {name!r}; its options are: {listed}"
                )
            self.options[name].check(name, value)
        return self.make(epsilon=given_epsilon(epsilon), **options)

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Return every combination of the examples of all options.

        >>> from dpbayes.mechanisms import REGISTRY
        >>> list(REGISTRY["geometric"].combinations())
        [{'remap': False}, {'remap': True}]
        """
        examples = [option.examples for option in self.options.values()]
        for values in itertools.product(*examples):
            yield dict(zip(self.options, values, strict=True))

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.defaults.items())
        return f"{self.name}(epsilon{given})"
