"""What readers ask the site: which mechanism, and where is it? Both answer from disk as well."""

from __future__ import annotations

from collections.abc import Iterator

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


def asked(page: Page, **given: float) -> dict[str, str]:
    """Return what the calculator answers."""
    for name, value in given.items():
        page.fill(f"#which-mechanism [name={name}]", f"{value}")
    found: dict[str, str] = page.eval_on_selector("#which-mechanism", "one => ({...one.dataset})")
    return found


def test_the_calculator_agrees_with_the_package(from_disk: Page) -> None:
    from_disk.goto(f"{SITE.resolve().as_uri()}/chapters/publish.html")
    rng = np.random.default_rng(7)
    for k, n, epsilon in POINTS:
        found = asked(from_disk, k=k, n=n, epsilon=epsilon)
        assert found["mechanism"] == "lattice"
        falling = 1 / np.arange(1, k + 1)
        shapes = {"even": [1 / k] * k, "falling": falling / falling.sum(), "one": np.eye(k)[0]}
        for shape, shares in shapes.items():
            x, prior = dp.split(n, shares), [1.0] * k
            law = dp.mechanism("lattice", epsilon).law(x, prior)
            allowed, mean = 0.03, 0.0
            if shape == "even":
                mean = law.mean_distance()
            else:
                drawn = dp.simulate(law, x, prior, rng, 10_000)
                mean, allowed = drawn.mean, 0.10 + 4 * drawn.standard_error / drawn.mean
            assert abs(float(found[shape]) / mean - 1) < allowed, (k, n, epsilon, shape)


def test_many_releases_with_a_delta_ask_for_gaussian_noise(from_disk: Page) -> None:
    from_disk.goto(f"{SITE.resolve().as_uri()}/chapters/publish.html")
    found = asked(from_disk, k=4, n=50_000, epsilon=1, delta=1e-6, releases=20)
    assert found["mechanism"] == "discrete-gaussian"
    mechanism = dp.mechanism("discrete-gaussian", 1, delta=1e-6, releases=20)
    mean = mechanism.law([12_500] * 4, [1.0] * 4).mean_distance()
    assert abs(float(found["gaussian"]) / mean - 1) < 0.1
    assert asked(from_disk, releases=3)["mechanism"] == "lattice"
