"""One suite over the registry: what a mechanism's file says of it is true, for every
mechanism.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import pytest

import dpbayes as dp
from dpbayes import _validate
from dpbayes.mechanisms import DECLARED, REGISTRY
from dpbayes.mechanisms.capabilities import (
    Draws,
    LogLikelihoodAt,
    LogLikelihoods,
    own,
)
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.mechanisms.permute_and_flip import PermuteAndFlip
from dpbayes.mechanisms.protocol import Promises, guarantee
from dpbayes.mechanisms.spec import Option
from tests.laws.drawn import ALPHA_LIMIT, misfit
from tests.mechanisms import conformance
from tests.mechanisms.cabinet import CABINET, changed
from tests.mechanisms.conformance import (
    Setting,
    broken_promises,
    check_options,
    complaints,
    one_at_a_time,
)
from tests.samplers.sources import SeededBits

STATED = (conformance.check_promise, conformance.check_sources, check_options)
CASES = [
    pytest.param(spec, options, id=" ".join([name, *map(str, options.values())]))
    for name, spec in DECLARED.items()
    for options in one_at_a_time(spec)
]
"""Every mechanism as it is usually made, and with each other example of an option."""


def makes_a_draw_cheaply(mechanism):
    # Choosing among candidates by ball arithmetic takes milliseconds, whole numbers
    # microseconds.
    written = any(own(mechanism, kind) for kind in (LogLikelihoods, LogLikelihoodAt))
    return written or mechanism.name == "optimal"


def settings(spec, k, options=MappingProxyType({})):
    # Outputs that need not sum to n are many: at a larger epsilon they fit a list of
    # three counts.
    epsilon = 3.0 if spec.name == IndependentNoise.name and k == 3 else 1.0
    mechanism = spec(epsilon, **options)
    draws = (4000 if makes_a_draw_cheaply(mechanism) else 300) // (4 if options else 1)
    prior = (1.0, 0.5, 2.0)[:k]
    return Setting(
        mechanism, {2: 7, 3: 4}[k], prior, draws, spec=spec, usual=not options
    )


@pytest.mark.parametrize("spec", DECLARED.values(), ids=DECLARED)
def test_no_option_breaks_the_promise(spec):
    """Every combination of the examples of all options, audited exactly."""
    assert broken_promises(spec) == []


@dataclass(frozen=True)
class Planted(PermuteAndFlip):
    """Permute-and-flip with an option that its promise forgets."""

    divisor: float = 2.0

    options: ClassVar = {
        **PermuteAndFlip.options,
        "divisor": Option(_validate.positive, (2.0, 0.5), "a positive number"),
    }

    @property
    def scores_like(self):
        return replace(super().scores_like, divisor=self.divisor)

    def guarantee(self, k):
        usual = PermuteAndFlip(self.epsilon, self.sensitivity, self.gamma, self.metric)
        return usual.guarantee(k)


def test_an_option_that_the_promise_ignores_is_found_without_being_named():
    spec = REGISTRY["permute-and-flip"]
    planted = replace(spec, make=Planted, options=Planted.options)
    assert broken_promises(spec) == []
    found = broken_promises(planted)
    assert len(found) == 8  # half of the combinations of the Hellinger distance
    assert all("'divisor': 0.5" in line and "epsilon " in line for line in found)


def test_an_option_that_is_not_declared_is_found():
    spec = replace(REGISTRY["permute-and-flip"], make=Planted)
    (found,) = complaints(
        Setting(spec(1.0), 3, (1.0, 1.0), spec=spec), (check_options,)
    )
    assert "not declared: {'divisor'}" in found


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "options"), CASES)
@pytest.mark.parametrize("k", [2, 3])
def test_the_mechanism_conforms(spec, options, k):
    if spec.name == "geometric" and k == 3:
        with pytest.raises(ValueError, match="counts must have 2 categories"):
            spec(1.0, **options).law([1, 1, 1], [1, 1, 1])
        return
    checks = conformance.LISTED + conformance.ALL
    if spec.name == "parameter-laplace":  # its law has no list
        checks = [
            check
            for check in checks
            if check not in (conformance.check_laws, conformance.check_samples)
        ]
    assert complaints(settings(spec, k, options), checks) == []


DRAWN = [name for name, spec in DECLARED.items() if own(spec(1.0), Draws)]


@pytest.mark.parametrize(
    ("name", "k"),
    # At three categories the geometric one has no law, the optimal one no quick one.
    [(name, 2) for name in DRAWN]
    + [(name, 3) for name in DRAWN if name not in ("geometric", "optimal")],
)
def test_a_few_draws_tell_half_and_twice_the_epsilon_apart(name, k):
    """Every mechanism that can be released: its own sampler against its own law."""
    prior, bits = np.ones(k), SeededBits(5)
    cheap = makes_a_draw_cheaply(DECLARED[name](1.0))
    x = np.array([40, 35, 30][:k]) if cheap and name != "optimal" else np.full(k, 3)
    mechanism = DECLARED[name](2.0 if cheap else 4.0)
    sampler = own(mechanism, Draws)
    draws = np.array(
        [sampler.draw(x, prior, bits)[1] for _ in range(800 if cheap else 300)]
    )
    right, *wrong = (
        misfit(draws, replace(mechanism, epsilon=epsilon).law(x, prior).probability)
        for epsilon in mechanism.epsilon * np.array([1.0, 0.5, 2.0])
    )
    assert right <= ALPHA_LIMIT < min(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_the_draws_tell_a_wrong_scale_apart(name):
    usual = settings(DECLARED[name], 2)
    mechanism, x, prior = usual.mechanism, np.array([150, 150]), np.ones(2)
    if not makes_a_draw_cheaply(mechanism):
        x, mechanism = usual.middle, DECLARED[name](4.0)
    elif name == "optimal":
        x = np.array([10, 10])
    bits = SeededBits(5)
    drawn = np.array(
        [own(mechanism, Draws).draw(x, prior, bits)[1] for _ in range(4 * usual.draws)]
    )
    factor = 1.1 if makes_a_draw_cheaply(mechanism) else 1.5
    wrong = replace(mechanism, epsilon=factor * mechanism.epsilon)
    right, other = (
        misfit(drawn, one.law(x, prior).probability) for one in (mechanism, wrong)
    )
    assert right <= ALPHA_LIMIT < other


@pytest.mark.parametrize(("spec", "options"), CASES)
def test_what_is_unknown_says_so_and_what_is_known_is_stated_by_the_type_itself(
    spec, options
):
    mechanism = spec(1.0, **options)
    assert own(mechanism, Promises) is not None
    assert mechanism.name == spec.name
    for k in (1, 1.5, True, "3"):
        with pytest.raises((TypeError, ValueError), match="k must be an integer"):
            mechanism.guarantee(k)
    for epsilon in (1.0000004, 0.1234564999, "1/3"):
        made = spec(epsilon, **options)
        case = Setting(made, 5, (1.0, 1.0), spec=spec, usual=not options)
        assert complaints(case, STATED) == []


@pytest.mark.slow
def test_a_promise_that_is_too_small_or_too_large_for_one_record_more_is_caught():
    usual = settings(DECLARED["independent"], 2)
    half = replace(usual.mechanism.guarantee(2), bound=Fraction(1, 2))
    broken = replace(
        usual, mechanism=changed(IndependentNoise, 1.0, guarantee=lambda *_: half)
    )
    (found,) = complaints(broken, [conformance.check_audit])
    assert "the bound is not the largest change" in found
    with pytest.raises(ValueError, match="leaves out outputs"):
        dp.audit(usual.mechanism, 3, [1.0, 0.5])


def test_published_readings_of_figure_five_are_reproduced():
    """D, Figure 5: what it calls expMech-smooth at epsilon 1 is expMech-delta at
    epsilon 0.8.
    """
    options = {"delta": 1e-8, "failure_term": "2n", "metric": "published"}
    mechanism = dp.mechanism("expMech-delta", epsilon=0.8, **options)
    sizes = [100, 150, 200, 250, 300, 400, 500]
    readings = [0.194, 0.12, 0.075, 0.049, 0.042, 0.036, 0.031]
    means = dp.mean_distances(
        mechanism, [0.5, 0.5], [1, 1], sizes, dp.hellinger_published
    )
    assert np.abs(means - readings).max() <= 0.002


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [("lapMech", {"name": "ilapMech"}, "multiple values|no option 'name'"),
     ("lapMech", {"gamma": 2}, "its options are: sensitivity, rounding"),
     ("expMech", {"gamma": 1.0}, "its options are: metric, divisor"),
     ("parameter-laplace", {"gamma": 1.0}, "its options are: none")],
)  # fmt: skip
def test_unknown_options_are_told_what_is_allowed(name, options, words):
    with pytest.raises(TypeError, match=words):
        dp.mechanism(name, epsilon=1, **options)


def test_a_mechanism_is_made_without_waiting_for_the_rest_of_scipy():
    code = (
        "import sys, dpbayes; dpbayes.mechanism('lattice', 1.0)\nheavy ="
        " {'scipy.optimize', 'scipy.stats', 'scipy.signal', 'scipy.sparse',"
        " 'matplotlib'}\nassert not heavy & set(sys.modules), heavy &"
        " set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- The suite against the cabinet: everything is noticed
# -----------------------------------------

# For each kind of fault the checks that are there to find it.
BY_LAW = (conformance.check_laws, conformance.check_audit)
SPECIAL = {
    "samples ten percent too sharp": conformance.check_samples,
    "noise for one change, two counts": conformance.check_promise,
    "a proof that is nowhere": conformance.check_promise,
    "epsilon rounded down": conformance.check_promise,
    "a source that is nowhere": conformance.check_sources,
    "a definition that is nowhere": conformance.check_sources,
    "input taken as it comes": conformance.check_input,
    "a large-n law ten percent off": conformance.check_step_law,
    "likelihoods ten percent off": conformance.check_likelihoods,
}


def checks_for(key):
    if "draw" in key:
        return (conformance.check_draws,)
    return (SPECIAL[key],) if key in SPECIAL else BY_LAW


@pytest.mark.slow
@pytest.mark.parametrize("key", CABINET)
def test_the_fault_is_noticed(key):
    assert complaints(CABINET[key], checks_for(key)) != []


@pytest.mark.parametrize("key", CABINET)
def test_nothing_with_a_fault_in_its_law_is_released(key):
    """Either it promises nothing, or what it promises is what the audit holds it to."""
    mechanism, prior = CABINET[key].mechanism, CABINET[key].prior
    counts = [CABINET[key].n, *[1] * (len(prior) - 1)]
    if own(mechanism, Promises) is None:
        with pytest.raises(ValueError, match="must have a proved guarantee"):
            dp.release(mechanism, counts, prior)
        if hasattr(mechanism, "guarantee"):  # that of another class
            assert "states no guarantee of its own" in guarantee(mechanism, 2).sentence
    if own(mechanism, Draws) is None:
        with pytest.raises(ValueError, match="must have an exact sampler"):
            dp.release(mechanism, counts, prior, without_guarantee=True)
