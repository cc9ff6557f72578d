"""What readers ask the site: which mechanism, and where is it? Both answer from disk as
well.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import dpbayes as dp
from tests.browser.conftest import SITE

pytestmark = pytest.mark.browser
POINTS = [  # k, n, epsilon of one release; none of them on the grid
    (5, 2000, 0.5), (2, 350, 0.07), (4, 40_000, 1.5), (7, 250, 2.5), (17, 500_000, 0.3),
    (26, 3000, 7.0), (47, 400_000, 0.144), (41, 650, 4.4),
]  # fmt: skip


@pytest.fixture
def from_disk(address: str, chromium: Browser) -> Iterator[Page]:
    """Return a window on the site without a server."""
    assert address
    page = chromium.new_page(base_url=f"{SITE.resolve().as_uri()}/")
    yield page
    page.close()


def asked(page: Page, **given: float | str) -> dict[str, str]:
    """Return what the calculator answers."""
    for name, value in given.items():
        page.fill(f"#calculator [name={name}]", f"{value}")
    found: dict[str, str] = page.eval_on_selector(
        "#calculator", "one => ({...one.dataset})"
    )
    return found


def test_the_calculator_agrees_with_the_package(from_disk: Page) -> None:
    from_disk.goto(f"{SITE.resolve().as_uri()}/chapters/publish.html")
    rng = np.random.default_rng(7)
    for k, n, epsilon in POINTS:
        found = asked(from_disk, k=k, n=n, epsilon=epsilon)
        assert found["mechanism"] == (
            "geometric" if k == 2 and n <= 1000 else "lattice"
        )
        falling = 1 / np.arange(1, k + 1)
        shapes = {
            "even": [1 / k] * k,
            "falling": falling / falling.sum(),
            "one": np.eye(k)[0],
        }
        for shape, shares in shapes.items():
            x, prior = dp.split(n, shares), [1.0] * k
            law = dp.mechanism("lattice", epsilon).law(x, prior)
            allowed, mean = 0.03, 0.0
            if shape == "even":
                mean = law.mean_distance()
            else:
                drawn = law.simulate(rng, 10_000)
                mean, allowed = drawn.mean, 0.10 + 4 * drawn.standard_error / drawn.mean
            assert abs(float(found[shape]) / mean - 1) < allowed, (k, n, epsilon, shape)


def test_what_the_calculator_writes_runs(from_disk: Page) -> None:
    """Whatever way ε is written, the line of Python has exactly its share of it."""
    from_disk.goto(f"{SITE.resolve().as_uri()}/chapters/publish.html")
    for given, mechanism in {
        (5, 2000, "1e-1", 3): dp.mechanism("lattice", "1/30"),
        (5, 2000, ".3", 3): dp.mechanism("lattice", "0.1"),
        (2, 500, "1", 4): dp.mechanism("geometric", "0.25", remap=True),
        (2, 5000, "10", 1): dp.mechanism("lattice", "10"),
    }.items():
        names = ("k", "n", "epsilon", "releases")
        asked(from_disk, **dict(zip(names, given, strict=True)))
        text = from_disk.locator("#calculator code").inner_text()
        made, _, rest = text.removeprefix("dp.release(").partition(", counts, ")
        assert eval(made, {"dp": dp}) == mechanism
        assert rest == f"[1] * {given[0]})"


def test_the_calculator_says_records_and_percent(from_disk: Page) -> None:
    """Nine of ten counts come out as near as it says, in units and a tenth."""
    from_disk.goto(f"{SITE.resolve().as_uri()}/chapters/publish.html")
    rng = np.random.default_rng(8)
    for k, epsilon in ((5, 0.5), (30, 0.1)):
        asked(from_disk, k=k, n=2000, epsilon=epsilon)
        text = from_disk.locator("#calculator").inner_text()
        within = int(text.partition("within about ")[2].partition(" ")[0])
        law = dp.mechanism("lattice", epsilon).law(
            dp.split(2000, [1 / k] * k), [1.0] * k
        )
        off = np.abs(law.rvs(4000, rng)[:, 0] - 2000 // k)
        assert (
            np.mean(off <= 1.1 * within + 1) >= 0.9 >= np.mean(off < 0.9 * within - 1)
        )
        assert "% wider than without" in text or "times as wide as without" in text


def test_many_releases_with_a_delta_ask_for_gaussian_noise(from_disk: Page) -> None:
    from_disk.goto(f"{SITE.resolve().as_uri()}/chapters/publish.html")
    found = asked(from_disk, k=4, n=50_000, epsilon=1, delta=1e-6, releases=20)
    assert found["mechanism"] == "discrete-gaussian"
    mechanism = dp.mechanism("discrete-gaussian", 1, delta=1e-6, releases=20)
    mean = mechanism.law([12_500] * 4, [1.0] * 4).mean_distance()
    assert abs(float(found["gaussian"]) / mean - 1) < 0.1
    assert asked(from_disk, releases=3)["mechanism"] == "lattice"


SEARCHES = {
    "figure 5": "results/documents/D-fig5",
    "table 1": "results/documents/D-table1",
    "theorem 4.1": (
        "reference/theorem-a results/privacy/theorem-a results/privacy/theorem-hamming"
    ),
    "0.1967": "results/documents/D-table1",
    "lemma 5.1": "reference/proofs reference/document-d",
    "figure 6(b)": "results/documents/D-fig6",
    "B figure 3": "results/documents/B-fig3",
    "algorithm 3": "results/queries/intervals",
    "smooth sensitivity": "reference/mechanisms reference/posteriors",
    "calibrated": "results/comparison/calibrated chapters/comparison",
    "how many records": "chapters/publish results/comparison/what-to-use",
    "own data": "chapters/publish results/use/own-table",
    "release csv": "chapters/publish",
    "epsilon meaning": "chapters/one-person results/basics/meaning-of-epsilon",
    "which mechanism": "chapters/publish",
    "hellinger distance": "chapters/posterior-and-distance reference/posteriors",
    "errors in the paper": "claims/errata",
    "noise-aware posterior": "results/use/noise-aware chapters/publish",
    "lattice noise": "reference/mechanisms chapters/mechanisms",
    "many releases": "results/comparison/many-releases results/privacy/composition",
    "protect a person with several records": (
        "results/use/person-years reference/hazards"
    ),
    "best possible mechanism": "chapters/best-possible results/optimum/two",
    "rerun with other parameters": "reproduce",
    "cite": "reproduce",
    "delta": "reference/privacy results/comparison/many-releases chapters/privacy",
}


def test_searches_find_the_page_among_the_first_three(from_disk: Page) -> None:
    missed = {}
    for words, pages in SEARCHES.items():
        from_disk.goto(f"{SITE.resolve().as_uri()}/search.html?q={quote(words)}")
        links = from_disk.locator("ol.found > li > a").evaluate_all(
            "all => all.slice(0, 3).map(one =>"
            " one.getAttribute('href').split('.html')[0])"
        )
        assert from_disk.locator("ol.found > li > p").count() > 0, words
        if not set(links) & set(pages.split()):
            missed[words] = links
    assert len(missed) <= 1, missed
