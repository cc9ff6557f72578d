"""One draw of a mechanism from fair bits: what was drawn, what it promises, how to read
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbayes import _validate
from dpbayes._validate import Floats, Whole
from dpbayes._values import ByValue
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.capabilities import (
    Counts,
    Drawn,
    Draws,
    LogLikelihoodAt,
    own,
)
from dpbayes.mechanisms.protocol import Guarantee, Mechanism, guarantee
from dpbayes.posteriors import Posterior
from dpbayes.samplers.bits import BitSource, SystemBits
from dpbayes.tables.reading import NoiseAwarePosterior, noise_aware
from dpbayes.tables.shares import Shares


@dataclass(frozen=True, eq=False, repr=False)
class Release(ByValue):
    """One private release. Everything in it may be published; the true counts are not
    in it.

    `noisy` is the value privacy is proved for, `counts` the histogram made from it, `n`
    the public number of records (that of `counts` where the true one is secret).
    `design_effect` says how many records are worth one independent one, `prior_stated`
    that `prior` is an opinion about the shares, and not a default; `labels` (k,) name
    the categories where they have names.

    >>> import numpy as np
    >>> from dpbayes.mechanisms import mechanism
    >>> chosen = mechanism("geometric", epsilon="0.5")
    >>> private = Release(chosen, np.ones(2), 10, np.array([12]), np.array([10, 0]))
    >>> private.posterior.concentration, private.interval()[0].round(3)
    (array([11.,  1.]), array([0.407, 1.   ]))
    """

    mechanism: Mechanism
    prior: Floats
    n: int
    noisy: Whole
    counts: Whole
    design_effect: float = 1.0
    prior_stated: bool = False
    labels: tuple[Any, ...] = ()

    def _shown(self) -> dict[str, object]:
        shown: dict[str, object] = {
            "mechanism": self.mechanism,
            "epsilon": self.guarantee.epsilon,
            "n": self.n,
        }
        if self.guarantee.failure:
            shown["delta"] = self.guarantee.delta
        if self.labels:
            shown["labels"] = self.labels
        if not np.array_equal(self.noisy, self.counts):
            shown["noisy"] = self.noisy
        return {**shown, "counts": self.counts, "prior": self.prior}

    def __post_init__(self) -> None:
        for name in ("prior", "noisy", "counts"):
            object.__setattr__(self, name, _validate.frozen(getattr(self, name)))

    @property
    def posterior(self) -> Posterior:
        """The released posterior, prior + released counts, read as if there were no
        noise.
        """
        return Posterior(self.prior + self.counts, self.labels)

    @property
    def guarantee(self) -> Guarantee:
        """What the mechanism promises."""
        return guarantee(self.mechanism, int(self.prior.size))

    def shares(
        self, prior: ArrayLike | None = None, design_effect: float | None = None
    ) -> Shares:
        """Return the reading of each share on its own, with the noise in mind.

        Beforehand any share is equally likely, unless `prior` (k,) or a stated prior of
        the release says otherwise. `design_effect` is the release's unless given.
        """
        if prior is None and self.prior_stated:
            prior = self.prior
        effect = self.design_effect if design_effect is None else design_effect
        secret = own(self.mechanism, LogLikelihoodAt) is not None
        n, k = None if secret else self.n, int(self.prior.size)
        alpha = None if prior is None else _validate.prior("prior", prior, k)
        return Shares(self.mechanism, self.noisy, n, k, alpha, effect)

    def interval(self, confidence: float = 0.95) -> Floats:
        """Return the noise-aware interval of each category's share, shape (k, 2).

        It is for the population of which the records are a random sample;
        `shares().table_intervals()` are for the records themselves.
        """
        return self.shares().intervals(confidence)

    def noise_aware(self) -> NoiseAwarePosterior:
        """Return the posterior of all shares together under the prior of the release.

        A flat prior over many categories is a strong opinion: it expects no large
        share, and where the noise is large it decides the intervals. Those of
        `interval` depend on it only where a plan stated it.
        """
        found = noise_aware(self.mechanism, self.noisy, self.n, self.prior)
        return replace(found, labels=self.labels)

    def __str__(self) -> str:
        parameters = ", ".join(f"{value:g}" for value in self.posterior.concentration)
        alone = "No account adds this up with other releases."
        return (
            f"posterior ({parameters}) by {self.mechanism}. {self.guarantee.sentence}"
            f" {alone}"
        )


def draw(mechanism: Mechanism, counts: Counts, prior: Floats, bits: BitSource) -> Drawn:
    """Return one exact draw; ValueError for a mechanism whose own type has no exact
    sampler.
    """
    sampler = own(mechanism, Draws)
    if sampler is None:
        raise ValueError(f"mechanism {no_sampler(mechanism)}")
    return sampler.draw(counts, prior, bits)


def no_sampler(mechanism: Mechanism) -> str:
    """Return why a mechanism without an exact sampler is refused, after its name."""
    known = [name for name, make in REGISTRY.items() if own(make(1.0), Draws)]
    return (
        f"must have an exact sampler, got {mechanism.name}; these have one:"
        f" {', '.join(known)}"
    )


def release(
    mechanism: Mechanism,
    counts: ArrayLike,
    prior: ArrayLike,
    *,
    without_guarantee: bool = False,
) -> Release:
    """Return a private release of these counts, with randomness from the operating
    system.

    The draw uses whole numbers and fair bits only (exponential mechanisms: ball
    arithmetic, the extra `tables`): the output has exactly the mechanism's law. There
    is no seed. A mechanism without a proved guarantee is refused unless
    `without_guarantee`, counts with labels always: the order of the categories is
    declared and never read off the data. A prior that is a pandas Series declares it:
    its labels are those of the release. Book: `release`.

    For all count vectors x, x' of n records that differ by replacing one record, and
    every set S of outputs, P[M(x) in S] <= e^epsilon P[M(x') in S] + delta, with the
    epsilon and the delta of `.guarantee`, where its `bound` is not None.

    >>> from dpbayes.mechanisms import mechanism
    >>> lattice = mechanism("lattice", epsilon=1.0)
    >>> private = release(lattice, [11019, 7309, 1560, 302], [1, 1, 1, 1])
    >>> private.guarantee.epsilon, int(private.counts.sum())
    (1.0, 20190)
    """
    if hasattr(mechanism, "mechanism"):
        raise TypeError(
            "mechanism must be a mechanism, got what `calibrate` found, whose epsilon"
            " holds by an audit and is not proved: pass its .mechanism, whose own"
            " guarantee the release promises"
        )
    if not hasattr(mechanism, "epsilon") or isinstance(mechanism, type):
        raise TypeError(
            f"mechanism must be a mechanism, got {_validate.shown(mechanism)}"
        )
    if hasattr(counts, "items"):  # as `value_counts` has, which ranks the true counts
        raise ValueError(
            "counts must be a vector in a declared order, such as [counts.get(c, 0)"
            f" for c in categories], got a {type(counts).__name__}: its own order may"
            " follow the data; labels belong to the prior, as in pandas.Series(prior,"
            " categories)"
        )
    x, alpha = _validate.counts_and_prior(counts, prior)
    # noisy counts are cut at 2^62, which no noise reaches from here
    if x.sum() > 2**61:
        raise ValueError(
            f"counts must hold at most 2^61 records for a release, got {x.tolist()}"
        )
    _validate.flag("without_guarantee", without_guarantee)
    if mechanism.epsilon < 1e-6:
        raise ValueError(f"epsilon must be at least 1e-06, got {mechanism.epsilon!r}")
    promised = guarantee(mechanism, x.size)
    # Where the number of records is secret, a refusal would tell that it is 0.
    if x.sum() < 1 and promised.neighbours != "add-or-remove":
        raise ValueError(f"counts must hold at least one record, got {x.tolist()}")
    if promised.epsilon is None and not without_guarantee:
        raise ValueError(
            f"mechanism must have a proved guarantee, got {mechanism.name}:"
            f" {promised.basis} (pass without_guarantee=True to draw from it all the"
            " same)"
        )
    noisy, released = draw(mechanism, x, alpha, SystemBits())
    shown = x if promised.neighbours == "replace-one" else released
    labels = _validate.labels_of(prior)
    return Release(mechanism, alpha, int(shown.sum()), noisy, released, labels=labels)
