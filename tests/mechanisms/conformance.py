"""What every mechanism must do, as checks that any object can be put through.

Each check raises where the mechanism fails it. `complaints` runs them all on one
mechanism and one size of data and returns what was found; a mechanism that conforms
gives no complaint.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dpbayes as dp
from dpbayes.auditing.rows import law_of
from dpbayes.commands.cite import entries
from dpbayes.mechanisms import DECLARED
from dpbayes.mechanisms.capabilities import (
    Draws,
    LogLikelihoodAt,
    LogLikelihoods,
    Steps,
    own,
)
from dpbayes.mechanisms.protocol import exact_epsilon, guarantee
from dpbayes.mechanisms.spec import Spec
from tests.laws.drawn import ALPHA_LIMIT, misfit
from tests.samplers.sources import SeededBits

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Setting:
    """A mechanism on data of n records with one prior, the draws to take and what is
    advertised.

    `advertised` is the epsilon a mechanism without a guarantee of its own is held to,
    if any; `spec` its declaration, if it is not that of its name; `usual` whether its
    options are the usual ones, with which it promises no more than its epsilon.
    """

    mechanism: Any
    n: int
    prior: tuple[float, ...]
    draws: int = 0
    advertised: float | None = None
    spec: Spec | None = None
    usual: bool = True

    @property
    def data(self):
        return dp.compositions(self.n, len(self.prior))

    @property
    def middle(self):
        k = len(self.prior)
        return np.array([self.n - (k - 1) * (self.n // k), *[self.n // k] * (k - 1)])

    @property
    def size_is_secret(self):
        return guarantee(self.mechanism, len(self.prior)).neighbours == "add-or-remove"

    @property
    def promised(self):
        """Bound and failure probability the mechanism is held to, or None."""
        stated = guarantee(self.mechanism, len(self.prior))
        if stated.bound is not None:
            return float(stated.bound), float(stated.failure)
        return None if self.advertised is None else (self.advertised, 0.0)


@cache
def labels() -> frozenset[str]:
    text = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "book").rglob("*.md")
    )
    return frozenset(re.findall(r"^:label: (\S+)$", text, re.MULTILINE))


def check_laws(setting: Setting) -> None:
    """Every law sums to one over outputs that are histograms, and its answers fit its
    list.
    """
    for x in setting.data:
        if setting.size_is_secret:  # no list of outputs is complete
            law = setting.mechanism.law(x, setting.prior)
            assert abs(law.probabilities.sum() - 1.0) <= law.mass_outside + 1e-12, "sum"
        else:  # refused as the audit refuses it
            law = law_of(setting.mechanism, x, np.array(setting.prior))
        truth = np.array(setting.prior) + x
        distances = dp.hellinger(truth, np.array(setting.prior) + law.outputs)
        assert law.outputs.min() >= 0
        assert np.allclose(law.distances, distances, rtol=1e-6, atol=1e-9), "distances"
        mean = float((np.exp(law.log_probabilities) * distances).sum())
        assert math.isclose(law.mean_distance(), mean, rel_tol=1e-7, abs_tol=1e-9), (
            "mean"
        )
        some = slice(None, None, max(1, setting.n // 3, len(law.outputs) // 60))
        each = [float(law.probability(output)) for output in law.outputs[some]]
        listed = law.probabilities[some]
        assert np.allclose(each, listed, rtol=1e-9, atol=1e-300), "probability"
        half = law.quantile(0.5)
        reached = float(law.probabilities[law.distances <= half + 1e-9].sum())
        before = float(law.probabilities[law.distances < half - 1e-9].sum())
        assert before <= 0.5 + 1e-9 <= reached + 2e-9, "quantile"


def check_samples(setting: Setting) -> None:
    """Samples of the law have its probabilities."""
    law = setting.mechanism.law(setting.middle, setting.prior)
    value = misfit(law.rvs(20_000, np.random.default_rng(11)), law.probability)
    assert value <= ALPHA_LIMIT, (
        f"samples: chi-square {value:.1f} deviations above its mean"
    )


def largest_change(setting: Setting) -> float:
    """The largest |ln P[M(x) = r] - ln P[M(x') = r]|, x' having one record more, up to
    n records.

    An output that only one of two lists holds must lie in what the other leaves out.
    """
    prior, worst = np.array(setting.prior), 0.0
    units = np.eye(prior.size, dtype=int)
    known = {}
    for x in (
        x for size in range(setting.n + 1) for x in dp.compositions(size, prior.size)
    ):
        law = setting.mechanism.law(x, prior)
        here = dict(
            zip(map(tuple, law.outputs.tolist()), law.log_probabilities, strict=True)
        )
        known[tuple(x.tolist())] = here, law
        for less in x - units[x > 0]:
            there, other = known[tuple(less.tolist())]
            worst = max(
                worst, max(abs(here[r] - there[r]) for r in here.keys() & there.keys())
            )
            for one, two, rest in ((here, there, other), (there, here, law)):
                alone = [one[r] for r in one.keys() - two.keys()]
                assert np.exp(alone).sum() <= 2.0 * rest.mass_outside + 1e-12, (
                    "outputs are missing"
                )
    return worst


def corner_loss(setting: Setting) -> float:
    """The largest loss at outputs whose every count is 0 or n, for a law without a
    list.
    """
    n, k = setting.n, len(setting.prior)
    corners = np.array(list(itertools.product((0, n), repeat=k)))
    logs = [
        np.log(setting.mechanism.law(x, setting.prior).probability(corners))
        for x in setting.data
    ]
    return max(
        float(np.abs(logs[i] - logs[j]).max())
        for i, j in itertools.combinations(range(len(logs)), 2)
        if np.abs(setting.data[i] - setting.data[j]).sum() == 2
    )


def check_audit(setting: Setting) -> None:
    """The exact audit stays within the promise, and its witness attains it through the
    law.
    """
    # one probability changes by as much as is promised, and none by more
    if setting.size_is_secret:
        gap = largest_change(setting) - setting.promised[0]
        assert abs(gap) <= 1e-9, "the bound is not the largest change"
        return
    if not hasattr(setting.mechanism.law(setting.middle, setting.prior), "outputs"):
        assert abs(corner_loss(setting) - setting.promised[0]) <= 1e-9, "corners"
        return
    result = dp.audit(setting.mechanism, setting.n, setting.prior)
    witness = result.witness
    p, q = (
        float(setting.mechanism.law(x, setting.prior).probability(witness.output))
        for x in (witness.counts, witness.neighbour)
    )
    again = math.inf if q == 0.0 else math.log(p / q)
    assert again == result.epsilon or abs(again - result.epsilon) < 1e-7 * (
        1 + again
    ), "witness"
    if setting.promised is not None:
        bound, failure = setting.promised
        if failure:
            assert result.delta(bound) <= failure * (1 + 1e-9), (
                f"delta {result.delta(bound)!r}"
            )
        else:
            assert result.epsilon <= bound * (1 + 1e-9) + 1e-11, (
                f"epsilon {result.epsilon!r}"
            )


def check_draws(setting: Setting) -> None:
    """The sampler for releases draws from the law, histograms only, with bits from its
    source.
    """
    sampler = own(setting.mechanism, Draws)
    if sampler is None or not setting.draws:
        return
    x, prior, bits = setting.middle, np.array(setting.prior), SeededBits(31)
    try:
        drawn = [sampler.draw(x, prior, bits) for _ in range(setting.draws)]
    except ValueError:
        assert setting.promised is None, "what is promised can be drawn"
        return
    counts = np.array([released for _, released in drawn])
    assert bits.used > 0, "no bits were used"
    assert counts.shape == (setting.draws, x.size)
    assert counts.min() >= 0
    assert setting.size_is_secret or counts.max() <= setting.n
    value = misfit(counts, setting.mechanism.law(x, prior).probability)
    assert value <= ALPHA_LIMIT, (
        f"draws: chi-square {value:.1f} deviations above its mean"
    )


def check_likelihoods(setting: Setting) -> None:
    """Likelihoods of what was released are those of the law, but for one factor, near
    the truth.
    """
    mechanism, k = setting.mechanism, len(setting.prior)
    prior, centre, units = np.ones(k), np.full(k, 20), np.eye(k, dtype=int)
    near = [centre + a - b for a in units for b in units]
    one, each, draws = (
        own(mechanism, kind) for kind in (LogLikelihoodAt, LogLikelihoods, Draws)
    )
    if one is not None:  # of a single count
        near = [centre + step * units[0] for step in range(-5, 6)]
        ours = one.log_likelihood_at(20, np.arange(15, 26))
    elif each is not None and draws is not None:
        try:
            noisy, _ = draws.draw(centre, prior, SeededBits(1))
            parts = each.log_likelihoods(centre[: noisy.size], 20 * k, k)
        except ValueError:
            return
        ours = np.array(
            [sum(part[c] for part, c in zip(parts, x, strict=True)) for x in near]
        )
    else:
        return
    theirs = np.array(
        [float(mechanism.law(x, prior).probability(centre)) for x in near]
    )
    possible = np.isfinite(ours)
    assert np.array_equal(possible, theirs > 0.0), (
        "a likelihood of zero is not that of the law"
    )
    gaps = ours[possible] - np.log(theirs[possible])
    assert np.ptp(gaps) < (1e-6 if one is None else 1e-9), (
        f"they differ by {np.ptp(gaps):.3g}"
    )


def check_step_law(setting: Setting) -> None:
    """The large-n law of the step gives the probability of the truth for much data."""
    try:
        limit = own(setting.mechanism, Steps).step_law(2).at_zero
    except (AttributeError, ValueError):  # it has none, or none for this option
        return
    law = setting.mechanism.law([30_000, 30_000], [1, 1])
    assert math.isclose(law.probability([30_000, 30_000]), limit, rel_tol=2e-3), (
        "step law"
    )


def check_promise(setting: Setting) -> None:
    """The sentence says no less than the bound, names its proof, and refuses in
    words."""
    stated = guarantee(setting.mechanism, len(setting.prior))
    if stated.bound is None:
        assert stated.sentence.startswith("No guarantee: ")
        assert len(stated.basis) > 20
        assert "<=" not in stated.sentence
        return
    assert stated.theorem in labels(), f"no proof {stated.theorem!r} in the book"
    written = Fraction(re.search(r"<= e\^(\S+) P", stated.sentence)[1])
    assert written >= stated.bound, "the sentence states less than the bound"
    assert written <= stated.bound * (1 + Fraction(1, 10**11))
    assert Fraction(stated.epsilon) >= stated.bound
    if setting.usual:
        assert stated.bound <= exact_epsilon(setting.mechanism.epsilon), (
            "more than the nominal epsilon"
        )


def check_sources(setting: Setting) -> None:
    """Its definition is in the book and its sources are shipped."""
    spec = setting.spec or DECLARED[setting.mechanism.name]
    assert spec.definition in labels(), f"no {spec.definition!r}"
    assert spec.sources
    assert set(spec.sources) <= set(entries()), "unknown source"


BAD_INPUT = (
    ([-1, 5], [1, 1]),
    ([0.5, 5], [1, 1]),
    ([math.nan, 5], [1, 1]),
    ([5], [1]),
    ([3, 4], [0, 1]),
    ([3, 4], [1]),
    ("34", [1, 1]),
)


def check_input(setting: Setting) -> None:
    """Bad counts and priors are refused in words that name them."""
    for counts, prior in BAD_INPUT:
        try:
            words = setting.mechanism.law(counts, prior) and ""
        except (ValueError, TypeError) as error:
            words = str(error)
        assert re.search("counts|prior", words), (
            f"unclear about {counts!r}, {prior!r}: {words!r}"
        )


def check_options(setting: Setting) -> None:
    """Whatever its class, or that of its calibration, can be made with is declared."""
    mechanism = setting.mechanism
    spec = setting.spec or DECLARED[mechanism.name]
    parts = [mechanism, getattr(mechanism, "calibration", None)]
    taken = {entry.name for part in parts if part for entry in fields(part)}
    undeclared = taken - {"epsilon", "name", "calibration"} - spec.options.keys()
    assert not undeclared, f"not declared: {undeclared}"
    assert spec(mechanism.epsilon) == spec(mechanism.epsilon, **spec.defaults)
    for name, option in spec.options.items():
        assert len(set(option.examples)) > 1, f"one example of {name} only"
        assert option.words, f"{name} is not explained"


LISTED = (check_laws, check_audit)
ALL = (
    check_samples,
    check_draws,
    check_likelihoods,
    check_step_law,
    check_promise,
    check_sources,
    check_input,
    check_options,
)


def complaints(setting: Setting, checks=LISTED + ALL) -> list[str]:
    """Return one line for each check that a mechanism fails."""
    found = []
    for check in checks:
        try:
            check(setting)
        except Exception as error:
            found.append(f"{check.__name__}: {type(error).__name__}: {error}")
    return found


SMALL = ((6, (1.0, 0.5)), (3, (1.0, 0.5, 2.0)))
"""Numbers of records and priors at which every combination of options is audited."""


def broken_promises(spec: Spec) -> list[str]:
    """Return one line for each combination of examples, and size, whose exact loss is
    above the promise.
    """
    found = []
    for options in spec.combinations():
        for n, prior in SMALL:
            setting = Setting(spec(1.0, **options), n, prior, spec=spec)
            if setting.promised is not None:
                bad = complaints(setting, [check_audit])
                found += [f"{spec.name} {options}, n = {n}: {line}" for line in bad]
    return found


def one_at_a_time(spec: Spec) -> list[dict[str, Any]]:
    """Return the usual options, and with each example of each option in their place."""
    return [{}] + [
        {name: example}
        for name, option in spec.options.items()
        for example in option.examples[1:]
    ]
