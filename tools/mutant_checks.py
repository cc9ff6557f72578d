"""What is computed to see whether a change of the mathematics moves a number, and what objects.

A probe returns numbers; a check raises where something is wrong. `tools/mutate.py` asks those that
call the changed function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.bits import audit_bits
from dpbayes.log_gamma import stirling_remainder
from dpbayes.mechanisms.guarantees import own
from dpbayes.sensitivity import profile
from tests.auditing import test_bits
from tests.laws import test_errors
from tests.mechanisms import conformance, test_conformance, test_parameter_laplace
from tests.samplers import test_sensitivities
from tests.samplers.sources import SeededBits

ROOT = Path(__file__).resolve().parents[1]
DATA = (
    ((2, 5), (1.0, 0.5)), ((0, 4), (1e-9, 3.0)), ((2, 0, 3), (0.5, 1.0, 2.0)), ((0, 0), (1.0, 2.0)),
)  # fmt: skip
SCORED = ("expMech", "expMech-local", "expMech-smooth", "expMech-delta", "expMech-repaired")
PRIOR = (0.5, 1.0, 2.0)  # uneven, so that no category stands for another
WIDE = ("discrete-gaussian", "optimal")
"""Samplers that ask for so many bits at a time that their strings cannot be followed."""
UNLISTED = (
    ((20, 11, 4), 1.0), ((11, 20, 4), 300.0), ((0, 33, 0), 3.0), ((10, 11, 12), 0.1),
)  # fmt: skip
"""Counts with too many candidates for a list, and budgets that keep them and that do not."""


def _listed(make: Callable[[], Any]) -> list[float]:
    law = make()
    if not hasattr(law, "outputs"):
        return [float(law.mean_distance())]
    outside = float(getattr(law, "mass_outside", 0.0))
    return [float(law.mean_distance()), outside, *law.probabilities, *law.outputs.ravel()]


def _bits(mechanism: Any, x: tuple[int, ...]) -> list[float]:
    runs = 100 if mechanism.name in (*SCORED, "permute-and-flip") else 1000
    audit = audit_bits(mechanism, x, PRIOR[: len(x)], runs)
    return [*audit.outputs.ravel(), *audit.reached, audit.undecided]


def _seeded(mechanism: Any, x: tuple[int, ...]) -> list[float]:
    bits, prior = SeededBits(3), np.array(PRIOR[: len(x)])
    drawn = [own(mechanism, "draw")(np.array(x), prior, bits)[1] for _ in range(30)]
    return [float(count) for counts in drawn for count in counts]


def probes(names: tuple[str, ...]) -> dict[str, Callable[[], Any]]:
    """Return, by name, what to compute to see whether these mechanisms still compute the same."""
    found: dict[str, Callable[[], Any]] = {}

    def law(name: str, epsilon: float, x: Any, prior: Any, **options: Any) -> Callable[[], Any]:
        return partial(_listed, lambda: dp.mechanism(name, epsilon, **options).law(x, prior))

    for x, prior in DATA:
        for name in names:
            for epsilon in (0.7, 3.0):
                found[f"{name} {epsilon} {x}"] = law(name, epsilon, x, prior)
        if "expMech-smooth" in names:
            found[f"l1 {x}"] = law("expMech-smooth", 1.0, x, prior, distance="l1")
            found[f"gamma {x}"] = law("expMech-smooth", 1.0, x, prior, gamma=0.2)
            for form in ("reciprocal", "exponential"):
                smooth = partial(dp.smooth_sensitivity, x, prior, 0.05, form)
                found[f"S {form} {x}"] = lambda smooth=smooth: smooth().value
        for name in {"geometric", "lattice"} & {*names}:
            found[f"remap {name} {x}"] = law(name, 1.0, x, prior, remap=True)
        if "lattice" in names:
            found[f"l1 lattice {x}"] = law("lattice", 1.0, x, prior, projection="l1")
        if "ilapMech" in names:
            found[f"nearest {x}"] = law("ilapMech", 1.0, x, prior, rounding="nearest")
    if "expMech-smooth" in names:
        for form in ("reciprocal", "exponential"):
            found[f"profile {form}"] = partial(profile, 9, [0.1, 2.0], True, 0.1, form)
    for name in names:
        if own(dp.mechanism(name, 1.0), "draw") is not None:
            for x in ((1, 2), (1, 0, 0)):
                drawn = _seeded if name in WIDE else _bits
                found[f"{name} {x} bits"] = partial(drawn, dp.mechanism(name, 1.0), x)
    for name in ({*SCORED} - {"expMech-repaired"}) & {*names}:
        for x, epsilon in UNLISTED:
            found[f"{name} {epsilon} {x} bits"] = partial(_seeded, dp.mechanism(name, epsilon), x)
    points = np.array([1e-9, 0.3, 1.0, 2.5, 7.0, 15.9, 16.0, 40.0])
    found["remainder"] = partial(stirling_remainder, points)
    return found


def checks(names: tuple[str, ...]) -> dict[str, Callable[[], Any]]:
    """Return, by name, what raises where one of these mechanisms is not what it says it is."""
    found: dict[str, Callable[[], Any]] = {}
    for name in names:
        mechanism = dp.mechanism(name, 1.0)
        if own(mechanism, "enclosed_law") is not None and name != "draft-laplace":
            found[f"enclosure {name}"] = partial(_enclosed, mechanism)
        if own(mechanism, "draw") is not None and name not in WIDE:
            many = 300 if name in (*SCORED, "permute-and-flip") else 2000
            found[f"bits {name}"] = partial(_drawn, mechanism, (1, 2), many)
        for case in (one for one in test_bits.THREE if one[0] == name):
            found[f"bits {case}"] = partial(
                test_bits.test_three_categories_are_decided_up_to_a_stated_mass, *case
            )
        for k in (2, 3):
            for check in (*conformance.LISTED, *conformance.ALL):
                listed = check in (*conformance.LISTED, conformance.check_samples)
                if (name == "geometric" and k == 3) or (name == "parameter-laplace" and listed):
                    continue
                found[f"conforming {check.__name__} {name} {k}"] = partial(
                    _conforming, name, k, check
                )
    if "parameter-laplace" in names:
        found["atoms"] = partial(
            test_parameter_laplace.test_the_atoms_are_those_of_noise_of_scale_two_over_epsilon, 0.7
        )
    found["sensitivities"] = test_sensitivities.test_floats_agree_to_fifteen_digits
    for kind in test_errors.KINDS:
        if kind.split()[0] in names:
            for seed in range(3):
                found[f"law {kind} {seed}"] = partial(_stated_errors, kind, seed)
    return found


def _enclosed(mechanism: Any) -> None:
    audit = dp.audit(mechanism, 6, [0.5, 3.0])
    bounds = audit.enclosure.epsilon
    assert bounds.low - 1e-12 <= audit.epsilon <= bounds.high + 1e-12


def _drawn(mechanism: Any, x: tuple[int, ...], runs: int) -> None:
    law = mechanism.law(x, PRIOR[: len(x)])
    found = audit_bits(mechanism, x, PRIOR[: len(x)], runs)
    assert len(found.contradictions(law)) == 0


def _conforming(name: str, k: int, check: Any) -> None:
    assert conformance.complaints(test_conformance.settings(name, k), (check,)) == []


def _stated_errors(kind: str, seed: int) -> None:
    rng = np.random.default_rng((5, seed))
    assert test_errors.outside(test_errors.setting(rng, kind)) == []


def tests_of(file: str) -> Path:
    """Return where the tests of a file of the package are."""
    folder, _, module = file.rpartition("/")
    return ROOT / "tests" / folder / f"test_{module}"


def passing(path: Path) -> None:
    """Raise AssertionError where a test of a file fails, those that take long left out."""
    options = ["-q", "-x", "-n", "0", "--assert=plain", "-p", "no:cacheprovider", "--tb=no"]
    assert pytest.main([*options, "-m", "not slow", "--rootdir", str(ROOT), str(path)]) == 0
