"""One suite over the registry: what a mechanism's file says of it is true, for every mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.guarantees import own
from tests.mechanisms import conformance
from tests.mechanisms.conformance import Setting, complaints
from tests.samplers.sources import SeededBits

CONTINUOUS = ("parameter-laplace",)
"""Laws without a list: what can only be checked output by output is left out for these."""

# Choosing among candidates by ball arithmetic takes milliseconds, whole numbers microseconds.
DRAWS = {"plain": 4000, "scored": 300}


def makes_a_draw_cheaply(mechanism):
    return hasattr(mechanism, "log_likelihoods") or mechanism.name == "optimal"


def settings(name, k):
    mechanism = REGISTRY[name](1.0)
    draws = DRAWS["plain" if makes_a_draw_cheaply(mechanism) else "scored"]
    return Setting(mechanism, {2: 7, 3: 4}[k], (1.0, 0.5, 2.0)[:k], draws)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("k", [2, 3])
def test_the_mechanism_conforms(name, k):
    if name == "geometric" and k == 3:
        with pytest.raises(ValueError, match="counts must have 2 categories"):
            REGISTRY[name](1.0).law([1, 1, 1], [1, 1, 1])
        return
    checks = conformance.ALL
    if name in CONTINUOUS:
        checks = [c for c in checks if c is not conformance.check_samples]
    else:
        checks = conformance.LISTED + checks
    assert complaints(settings(name, k), checks) == []


@pytest.mark.parametrize("name", [name for name in REGISTRY if own(REGISTRY[name](1.0), "draw")])
def test_the_draws_tell_a_wrong_scale_apart(name):
    setting = settings(name, 2)
    mechanism, x, prior = setting.mechanism, np.array([150, 150]), np.ones(2)
    if not makes_a_draw_cheaply(mechanism):
        x, mechanism = setting.middle, REGISTRY[name](4.0)
    elif name == "optimal":
        x = np.array([10, 10])
    bits = SeededBits(5)
    number = 4 * setting.draws
    drawn = np.array([own(mechanism, "draw")(x, prior, bits)[1] for _ in range(number)])
    value, limit = conformance.misfit(drawn, mechanism.law(x, prior))
    assert value <= limit
    factor = 1.1 if makes_a_draw_cheaply(mechanism) else 1.5
    wrong = replace(mechanism, epsilon=factor * mechanism.epsilon)
    value, limit = conformance.misfit(drawn, wrong.law(x, prior))
    assert value > limit


@pytest.mark.parametrize("name", REGISTRY)
def test_what_is_unknown_says_so_and_what_is_known_is_stated_by_the_type_itself(name):
    mechanism = dp.mechanism(name, 1.0)
    assert own(mechanism, "guarantee") is not None
    assert isinstance(mechanism.definition, str)
    assert mechanism.name == name
