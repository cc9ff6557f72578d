"""The explorer's numbers, computed in a browser, against the package's: 1000 states to 1e-10."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page

from dpbayes.auditing import audit
from dpbayes.auditing.exact import hockey_stick, loss
from dpbayes.laws.law import Law
from dpbayes.study.one_release import EXPLORED, NOISY, OneRelease, at_scale, one_release
from tests.browser.explorer_page import served
from tests.browser.explorer_states import WALK, mechanism_of, random_states

TOLERANCE = 1e-10
SHARES = np.array([0.001, 0.1, 0.5, 0.95])
pytestmark = [pytest.mark.browser, pytest.mark.slow]

COMPUTE = """async ([states, shares]) => {
  const { Model } = await import("/explorer/model.js");
  const { checkedState, stateOf, queryOf } = await import("/explorer/state.js");
  const model = new Model();
  return states.map((state) => {
    const seen = model.compute(checkedState(state));
    return {
      kept: JSON.stringify(stateOf(queryOf(state), state)) === JSON.stringify(checkedState(state)),
      law: [...seen.law],
      means: [...seen.means],
      losses: [...seen.losses],
      density: [...seen.mixture.density(Float64Array.from(shares))],
      ...Object.fromEntries(["scale", "audited", "worst", "leastDelta", "averageMean", "worstMean",
        "mean", "distance", "released", "truth", "face", "aware"].map((key) => [key, seen[key]])),
    };
  });
}"""


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    """Return a page of a server that has the explorer's modules."""
    with served() as address:
        opened = chromium.new_page()
        opened.goto(f"{address}explorer.html")
        yield opened
        opened.close()


States = list[dict[str, Any]]


@pytest.fixture(scope="module")
def states() -> States:
    return random_states()


@pytest.fixture(scope="module")
def shown(page: Page, states: States) -> States:
    """Return what the browser computes for every state."""
    found: States = []
    for start in range(0, len(states), 50):
        found += page.evaluate(COMPUTE, [states[start : start + 50], SHARES.tolist()])
    return found


def close(ours: Any, theirs: Any) -> bool:
    return bool(np.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE))


class Recalled:
    """A mechanism that keeps the law of each data set, which the view asks for twice."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism
        self.laws: dict[bytes, Law] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mechanism, name)

    def law(self, counts: Any, prior: Any) -> Law:
        key = np.asarray(counts, dtype=np.int64).tobytes()
        if key not in self.laws:
            self.laws[key] = self.mechanism.law(counts, prior)
        return self.laws[key]


def package_view(state: dict[str, Any], scale: float) -> OneRelease:
    """Return the package's view of a state, its mechanism calibrated by this factor."""
    described = at_scale(mechanism_of(state), scale)
    if state["mechanism"] not in NOISY:  # noise has a likelihood of its own
        described = Recalled(described)
    prior = np.array(state["prior"])
    names = ("n", "ones", "distance", "noisy")
    n, ones, distance, noisy = (state[name] for name in names)
    return OneRelease(described, n, ones, prior, distance, noisy)


def largest_delta(logs: NDArray[np.float64], epsilon: float) -> float:
    pairs = itertools.pairwise(logs)
    return max(hockey_stick(a, b, epsilon) for pair in pairs for a, b in (pair, pair[::-1]))


def disagreements(state: dict[str, Any], seen: dict[str, Any]) -> list[str]:
    """Return what the browser and the package disagree on."""
    view = package_view(state, seen["scale"])
    likely, other, output = (seen["worst"][part] for part in ("likely", "other", "output"))
    logs = np.array([law.log_probabilities for law in view.laws])
    losses = np.abs(loss(logs[1:], logs[:-1])).max(axis=1)
    pairs = {
        "law": (seen["law"], view.probabilities),
        "means": (seen["means"], view.means),
        "average": (seen["averageMean"], view.means.mean()),
        "worst mean": (seen["worstMean"], view.means.max()),
        "mean": (seen["mean"], view.means[view.ones]),
        "losses": (seen["losses"], losses),
        "audited": (seen["audited"], losses.max()),
        "worst pair": (seen["worst"]["loss"], logs[likely, output] - logs[other, output]),
        "distance": (seen["distance"], view.distance),
        "released": (seen["released"], view.released),
        "density": (seen["density"], view.aware.density(0, SHARES)),
    }
    if seen["leastDelta"] is not None:
        pairs["delta"] = (seen["leastDelta"], largest_delta(logs, state["epsilon"]))
    if state["promise"] == "audited":
        pairs["calibrated"] = (losses.max(), state["epsilon"])
    for name, theirs in {"truth": view.truth, "face": view.face, "aware": view.aware}.items():
        pairs[f"{name} mean"] = (seen[name]["mean"], theirs.mean[0])
        ends = (seen[name]["low"], seen[name]["high"])
        pairs[f"{name} interval"] = (ends, theirs.interval()[0])
    compared = {name: pair for name, pair in pairs.items() if not close(*pair)}
    return [f"{name}: {ours} against {theirs}" for name, (ours, theirs) in compared.items()]


def test_a_thousand_states_agree_with_the_package(states: States, shown: States) -> None:
    assert len(states) == 1000
    assert {state["mechanism"] for state in states} == set(EXPLORED)
    found = {
        str(state): disagreements(state, seen) for state, seen in zip(states, shown, strict=True)
    }
    assert {state: wrong for state, wrong in found.items() if wrong} == {}


def test_walks_over_many_candidates_agree_with_the_package(page: Page) -> None:
    """Single data sets: the package's law of all of them would take minutes."""
    given = {"mechanism": WALK, "gamma": 1.0, "delta": 1e-6, "promise": "nominal", "noisy": 7}
    states = [
        {**given, "n": n, "ones": ones, "prior": prior, "epsilon": epsilon, "distance": distance}
        for n, ones, prior, epsilon, distance in (
            (500, 250, [1.0, 1.0], 1.0, "hellinger"),
            (500, 0, [1e-6, 30.0], 20.0, "hellinger"),
            (499, 498, [0.5, 1e4], 0.01, "published"),
            (300, 7, [1.0, 2.5], 5.0, "published"),
        )
    ]
    for state, seen in zip(states, page.evaluate(COMPUTE, [states, SHARES.tolist()]), strict=True):
        described, counts = mechanism_of(state), (state["ones"], state["n"] - state["ones"])
        law: Any = described.law(counts, state["prior"])
        assert close(seen["law"], np.exp(law.log_probabilities)), state
        assert close(seen["mean"], law.mean_distance(state["distance"])), state


def test_an_address_keeps_the_state(shown: States) -> None:
    assert all(seen["kept"] for seen in shown)


def test_the_audit_of_the_package_finds_the_same_loss(states: States, shown: States) -> None:
    for state, seen in list(zip(states, shown, strict=True))[::20]:
        described = at_scale(mechanism_of(state), seen["scale"])
        assert close(seen["audited"], audit(described, state["n"], state["prior"]).epsilon), state


def test_calibration_finds_the_noise_that_the_package_finds(states: States, shown: States) -> None:
    """The package stops within a relative 1e-10 of the largest rate."""
    few = [
        (state, seen)
        for state, seen in zip(states, shown, strict=True)
        if state["promise"] == "audited" and state["n"] <= 60
    ]
    assert len(few) > 50
    for state, seen in few:
        asked = {key: value for key, value in state.items() if key != "mechanism"}
        view = one_release(state["mechanism"], **asked)
        means = np.array(seen["means"])
        assert np.allclose(means, view.means, rtol=1e-9, atol=1e-9), state
