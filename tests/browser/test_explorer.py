"""The explorer in a browser: its numbers are the package's, and it answers keyboard and
address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import dpbayes as dp
from dpbook.explorer import PROGRAM, STATES, bundle, surrounding

pytestmark = pytest.mark.browser
BOOK = Path(__file__).parents[2] / "book"
LISTED = (BOOK / "_extra" / "explorer" / "mechanisms.js").read_text("utf-8")
EXPLORED = re.findall(r'\b(?:stepped|scored)\("([\w-]+)"', LISTED)
SCORED = [name for name in EXPLORED if name.startswith(("expMech", "permute"))]
COMPUTE = """states => {
  const model = new window.parts.Model();
  return states.map(given => {
    const state = window.parts.checkedState(given), seen = model.compute(state);
    return {law: [...seen.law], mean: seen.mean,
      audited: seen.audited, truth: seen.truth,
            scale: seen.scale, line: window.parts.commandOf(state)};
  });
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two pages that have an explorer, from disk, its parts in
    reach.
    """
    folder = tmp_path_factory.mktemp("site")
    (folder / "uplot").symlink_to(BOOK / "_extra" / "uplot")
    (folder / PROGRAM).parent.mkdir(exist_ok=True)
    reach = "window.parts = {Model, checkedState, commandOf};\n})();"
    (folder / PROGRAM).write_text(reach.join(bundle().rsplit("})();", 1)))
    style = (BOOK / "_extra" / "explorer" / "explorer.css").read_text()
    (folder / "explorer" / "explorer.css").write_text(style)
    for page, state, small in (
        ("explorer", "start", False),
        ("small", "landing", True),
    ):
        before, behind = surrounding("", "explorer.html", STATES[state], small)
        (folder / f"{page}.html").write_text(
            '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta'
            f' charset="utf-8"><title>Explorer</title></head><body>{before}<p>A'
            f" stand-in.</p>{behind}</body></html>"
        )
    return folder


@pytest.fixture(scope="module")
def page(chromium: Browser, site: Path) -> Iterator[Page]:
    opened = chromium.new_page()
    opened.goto((site / "explorer.html").as_uri())
    opened.wait_for_selector(".dp-said li")
    yield opened
    opened.close()


def random_states(number: int) -> Iterator[dict[str, Any]]:
    """Yield states with small and large priors, empty categories and every
    mechanism."""
    rng = np.random.default_rng(15)
    for place in range(number):
        n = int(rng.choice([1, 2, 7, 30, 60]))
        yield {
            "n": n,
            "ones": int(rng.choice([0, n, rng.integers(n + 1)])),
            "noisy": None,
            "prior": [float(one) for one in rng.choice([0.01, 0.5, 1.0, 30.0], 2)],
            "epsilon": float(rng.choice([0.05, 0.5, 1.0, 4.0])),
            "gamma": 0.7,
            "delta": 1e-4,
            "mechanism": EXPLORED[place % len(EXPLORED)],
            "promise": "nominal",
            "distance": str(rng.choice(["hellinger", "published"], p=[0.75, 0.25])),
        }


def described(state: dict[str, Any]) -> Any:
    options = {
        "expMech-smooth": ["gamma"],
        "expMech-delta": ["delta"],
        "expMech-repaired": ["delta"],
        "discrete-gaussian": ["delta"],
    }
    given = {name: state[name] for name in options.get(state["mechanism"], [])}
    if state["mechanism"] in SCORED:
        given["metric"] = state["distance"]
    return dp.mechanism(state["mechanism"], state["epsilon"], **given)


def test_its_numbers_are_those_of_the_package(page: Page) -> None:
    states = list(random_states(96))
    for state, seen in zip(states, page.evaluate(COMPUTE, states), strict=True):
        mechanism, n = described(state), state["n"]
        counts = [state["ones"], n - state["ones"]]
        law = mechanism.law(counts, state["prior"])
        mean = law.mean_distance(state["distance"])
        probabilities = [law.probability([r, n - r]) for r in range(n + 1)]
        assert np.allclose(seen["law"], probabilities, rtol=1e-9, atol=1e-9), state
        assert np.isclose(seen["mean"], mean, rtol=1e-9, atol=1e-9), state
        posterior = dp.posterior(counts, state["prior"])
        assert np.isclose(seen["truth"]["mean"], posterior.mean[0], rtol=1e-9), state
        ends = [seen["truth"]["low"], seen["truth"]["high"]]
        assert np.allclose(ends, posterior.interval()[0], rtol=1e-8, atol=1e-9), state
        if state["mechanism"] != "draft-laplace":  # one-sided noise has no finite loss
            actual = dp.audit(mechanism, n, state["prior"]).epsilon
            assert np.isclose(seen["audited"], actual, rtol=1e-9, atol=1e-9), state


def test_the_line_of_python_prints_the_mean(page: Page) -> None:
    states = [{**one, "n": 7, "ones": 2} for one in random_states(24)]
    states += [{**states[3], "promise": "audited", "mechanism": "geometric"}]
    for state, seen in zip(states, page.evaluate(COMPUTE, states), strict=True):
        printed: list[Any] = []
        exec(seen["line"], {"print": printed.append})
        mean = float(printed[0])
        assert np.isclose(mean, seen["mean"], rtol=1e-8, atol=1e-9), state


def test_it_follows_keyboard_and_address(chromium: Browser, site: Path) -> None:
    page = chromium.new_page()
    page.goto(f"{(site / 'explorer.html').as_uri()}#{STATES['reading']}")
    page.wait_for_selector(".dp-said li")
    assert "6 ones among 60 records" in page.inner_text(".dp-said")
    page.get_by_label("Ones in the data (drag)", exact=True).press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('ones=7')")
    names = page.locator(".dp-chart").evaluate_all(
        "all => all.map(one => one.ariaLabel)"
    )
    assert len(names) == 4
    assert all(names)
    page.goto((site / "small.html").as_uri())
    page.get_by_role("button", name="Draw one release").click()
    page.get_by_role("link", name="Open the explorer with this").click()
    page.wait_for_selector(".dp-said li:nth-child(5)")
    page.close()
