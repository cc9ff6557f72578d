"""Times of an update of the explorer in a browser: numbers and charts, beside a frame
of 16 ms.

They are processor times of the page's thread, so that other work on the machine does
not count.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest
from playwright.sync_api import CDPSession, Page
from tests.browser.explorer_page import launched, served

TARGET = 16.0  # milliseconds, one frame at 60 a second
UPDATES = 60
PREPARE = """async (state) => {
  const { explorer } = document.querySelector('.dp-explorer');
  const { stateOf } = await import('/explorer/state.js');
  const start = stateOf(state);
  const parts = {
    epsilon: (i) => ({ epsilon: 0.5 + 0.01 * i }),
    ones: (i) => ({ ones: 100 + i }),
    prior: (i) => ({ prior: [1, 1 + 0.01 * (i + 1)] }),
  };
  window.update = async (change, i) => {
    explorer.set({ ...start, ...parts[change](i) });
    cancelAnimationFrame(explorer.frame);
    explorer.render();
    await Promise.resolve();
  };
}"""
STATES = {
    "nominal": "n=300&mechanism=expMech-smooth",
    "audited": "n=300&mechanism=expMech-smooth&promise=audited",
    "noise": "n=300&mechanism=geometric",
    "gaussian": "n=300&mechanism=discrete-gaussian",
    "one-sided": "n=300&mechanism=draft-laplace",
    "walk": "n=300&mechanism=permute-and-flip",
    "walk, audited": "n=300&mechanism=permute-and-flip&promise=audited",
}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with served() as address, launched() as browser:
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.goto(f"{address}explorer.html")
        opened.wait_for_selector(".dp-said li")
        yield opened


def processor_time(session: CDPSession) -> float:
    """Return the seconds that the page's thread has spent in tasks."""
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


@pytest.mark.parametrize("change", ["epsilon", "ones", "prior"])
@pytest.mark.parametrize("state", STATES)
def test_one_update_at_three_hundred_records(
    benchmark, page: Page, state: str, change: str
):
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate(PREPARE, STATES[state])
    times: list[float] = []

    def updates() -> None:
        for i in range(UPDATES):
            before = processor_time(session)
            page.evaluate("([change, i]) => update(change, i)", [change, i])
            times.append(1000.0 * (processor_time(session) - before))

    benchmark.pedantic(updates, rounds=1, warmup_rounds=1)
    median = statistics.median(times[UPDATES:])
    benchmark.extra_info["median, milliseconds"] = median
    benchmark.extra_info["share of target"] = median / TARGET
