"""One suite over the registry: what a mechanism's file says of it is true, for every
mechanism.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.mechanisms.protocol import guarantee, own
from tests.laws.drawn import ALPHA_LIMIT, misfit
from tests.mechanisms import conformance
from tests.mechanisms.cabinet import CABINET, changed
from tests.mechanisms.conformance import Setting, complaints
from tests.mechanisms.definitions import VARIANTS
from tests.samplers.sources import SeededBits

MECHANISMS = {
    **REGISTRY,
    IndependentNoise.name: IndependentNoise,
    **{
        name: partial(REGISTRY[kind], **options)
        for name, (kind, options) in VARIANTS.items()
    },
}
"""The registry, the mechanism for a secret number of records, and some with another
option.
"""


def makes_a_draw_cheaply(mechanism):
    written = any(hasattr(mechanism, f"log_likelihood{end}") for end in ("s", "_at"))
    return written or mechanism.name == "optimal"


def settings(name, k):
    # Outputs that need not sum to n are many: at a larger epsilon they fit a list of
    # three counts.
    mechanism = MECHANISMS[name](
        3.0 if name == IndependentNoise.name and k == 3 else 1.0
    )
    # Choosing among candidates by ball arithmetic takes milliseconds, whole numbers
    # microseconds.
    draws = (4000 if makes_a_draw_cheaply(mechanism) else 300) // (
        4 if name in VARIANTS else 1
    )
    return Setting(mechanism, {2: 7, 3: 4}[k], (1.0, 0.5, 2.0)[:k], draws)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("k", [2, 3])
def test_the_mechanism_conforms(name, k):
    if name.startswith("geometric") and k == 3:
        with pytest.raises(ValueError, match="counts must have 2 categories"):
            MECHANISMS[name](1.0).law([1, 1, 1], [1, 1, 1])
        return
    checks = conformance.LISTED + conformance.ALL
    if name == "parameter-laplace":  # its law has no list
        checks = [c for c in conformance.ALL if c is not conformance.check_samples]
    assert complaints(settings(name, k), checks) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in MECHANISMS
        if name not in VARIANTS and own(MECHANISMS[name](1.0), "draw")
    ],
)
def test_the_draws_tell_a_wrong_scale_apart(name):
    usual = settings(name, 2)
    mechanism, x, prior = usual.mechanism, np.array([150, 150]), np.ones(2)
    if not makes_a_draw_cheaply(mechanism):
        x, mechanism = usual.middle, MECHANISMS[name](4.0)
    elif name == "optimal":
        x = np.array([10, 10])
    bits = SeededBits(5)
    drawn = np.array(
        [own(mechanism, "draw")(x, prior, bits)[1] for _ in range(4 * usual.draws)]
    )
    factor = 1.1 if makes_a_draw_cheaply(mechanism) else 1.5
    wrong = replace(mechanism, epsilon=factor * mechanism.epsilon)
    right, other = (
        misfit(drawn, one.law(x, prior).probability) for one in (mechanism, wrong)
    )
    assert right <= ALPHA_LIMIT < other


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_unknown_says_so_and_what_is_known_is_stated_by_the_type_itself(name):
    mechanism = MECHANISMS[name](1.0)
    assert own(mechanism, "guarantee") is not None
    assert mechanism.name == VARIANTS.get(name, (name,))[0]
    for k in (1, 1.5, True, "3"):
        with pytest.raises((TypeError, ValueError), match="k must be an integer"):
            mechanism.guarantee(k)
    for epsilon in (1.0000004, 0.1234564999, "1/3"):
        case = Setting(MECHANISMS[name](epsilon), 5, (1.0, 1.0))
        assert (
            complaints(case, [conformance.check_promise, conformance.check_sources])
            == []
        )


@pytest.mark.slow
def test_a_promise_that_is_too_small_or_too_large_for_one_record_more_is_caught():
    usual = settings("independent", 2)
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
    if own(mechanism, "guarantee") is None:
        with pytest.raises(ValueError, match="must have a proved guarantee"):
            dp.release(mechanism, counts, prior)
        if hasattr(mechanism, "guarantee"):  # that of another class
            assert "states no guarantee of its own" in guarantee(mechanism, 2).sentence
    if own(mechanism, "draw") is None:
        with pytest.raises(ValueError, match="must have an exact sampler"):
            dp.release(mechanism, counts, prior, without_guarantee=True)
