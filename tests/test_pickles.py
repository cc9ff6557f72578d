"""What a function returns can be pickled, and made in another process."""

from __future__ import annotations

import dataclasses
import pickle
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.composition import dominating_pair
from dpbayes.auditing.sampled import audit_by_sampling
from dpbayes.study.all_data import Winners, everywhere

X, PRIOR, MANY = np.array([3, 5]), np.array([1.0, 0.5]), [9000, 5000, 10**5, 3]
GEOMETRIC, SMOOTH = dp.mechanism("geometric", 1.0), dp.mechanism("expMech-smooth", 1.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


RESULTS = {
    "posterior": lambda: dp.posterior(X, PRIOR),
    "sensitivity": lambda: dp.smooth_sensitivity(X, PRIOR),
    "audit of scores": lambda: dp.audit(SMOOTH, 5, PRIOR),
    "audit of three categories": lambda: dp.audit(
        dp.mechanism("lattice", 1.0), 4, [1, 1, 1]
    ),
    "audit of one-sided noise": lambda: dp.audit(
        dp.mechanism("draft-laplace", 1.0), 4, [1, 1]
    ),
    "pair": lambda: dp.audit_pair(GEOMETRIC, X, [4, 4], PRIOR),
    "curve": lambda: dp.audit(SMOOTH, 5, PRIOR).curve([0.1, 0.5]),
    "dominating pair": lambda: dominating_pair(dp.audit(SMOOTH, 5, PRIOR)),
    "samples": lambda: audit_by_sampling(GEOMETRIC, X, [4, 4], PRIOR, rng(), runs=1000),
    "calibrated": lambda: dp.calibrate(SMOOTH, 6, PRIOR, 1.0),
    "draws": lambda: GEOMETRIC.law(X, PRIOR).simulate(rng(), runs=50),
    "crossover": lambda: dp.crossover(SMOOTH, GEOMETRIC, [0.5, 0.5], [1, 1], [2, 9]),
    "plan": lambda: dp.records_needed(
        dp.mechanism("lattice", 1.0), [0.5, 0.5], [1, 1], 0.1
    ),
    "guarantee": lambda: GEOMETRIC.guarantee(2),
    "estimate": lambda: GEOMETRIC.law(X, PRIOR).mean_distance(),
    "everywhere": lambda: everywhere(GEOMETRIC, 5, PRIOR),
    "winners": lambda: Winners(("a", "b"), np.array([[[0.1, 0.2]], [[0.3, 0.2]]])),
    "step law": lambda: GEOMETRIC.step_law(),
    "means": lambda: dp.mean_distances(GEOMETRIC, [0.5] * 2, PRIOR, [5, 50]),
    "release": lambda: dp.Release(GEOMETRIC, PRIOR, 8, np.array([4]), np.array([4, 4])),
    "noise-aware posterior": lambda: dp.Release(
        GEOMETRIC, PRIOR, 8, np.array([4]), np.array([4, 4])
    ).noise_aware(),
    "window": lambda: dp.mechanism("geometric", 0.5).law([10**7, 10**7], [1.0] * 2),
}
FAR = ("lattice", "expMech-smooth", "ilapMech", "discrete-gaussian")
RESULTS |= {
    f"far {m}": lambda m=m: dp.mechanism(m, 0.5).law(MANY, [1.0] * 4) for m in FAR
}
RESULTS |= {m: lambda m=m: dp.mechanism(m, "1") for m in dp.REGISTRY}
RESULTS |= {
    f"law of {m}": lambda m=m: dp.mechanism(m, "1").law([2, 3], PRIOR)
    for m in dp.REGISTRY
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b, equal_nan=True))
    if dataclasses.is_dataclass(a) and type(a) is type(b):
        names = [one.name for one in dataclasses.fields(a) if one.compare]
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.mark.parametrize("key", RESULTS)
def test_a_result_survives_pickling(key: str) -> None:
    result = RESULTS[key]()
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result)
    assert same(result, again)
    if callable(getattr(result, "mean_distance", None)):
        assert float(result.mean_distance()) == float(again.mean_distance())


@pytest.mark.parametrize("key", RESULTS)
def test_results_compare_and_hash_by_what_they_hold(key: str) -> None:
    one, other = RESULTS[key](), RESULTS[key]()
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1
    assert one != "something else"


def test_value_objects_that_differ_are_not_equal() -> None:
    made = [
        dp.posterior([1, 2], [1, 1]),
        dp.posterior([2, 1], [1, 1]),
        dp.posterior([1, 2, 0], [1, 1, 1]),
        GEOMETRIC.law([3, 1], [1, 1]),
        GEOMETRIC.law([3, 1], [1, 2]),
        SMOOTH.law([3, 1], [1, 1]),
        dp.audit(SMOOTH, 3, [1, 1]),
        dp.audit(SMOOTH, 4, [1, 1]),
        dp.audit(GEOMETRIC, 3, [1, 1]),
    ]
    assert len(set(made)) == len(made)


def loss(epsilon: float) -> Any:
    return dp.audit(dp.mechanism("lattice", epsilon), 5, [1, 1])


def test_an_audit_can_be_made_in_a_pool_and_asked_on_this_side() -> None:
    with get_context("fork").Pool(2) as pool:
        found = pool.map(loss, [0.5, 1.0])
    assert [round(one.epsilon, 12) for one in found] == [0.5, 1.0]
    assert found[0].delta(0.1) == loss(0.5).delta(0.1)
    assert found[0].pair().epsilon == found[0].epsilon
