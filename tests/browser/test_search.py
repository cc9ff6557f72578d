"""The search of the site finds what readers of the papers look for, first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.watching import Watched

pytestmark = pytest.mark.browser
FIRST = """() => [...document.querySelectorAll('#search-results li a')]
  .map(one => one.pathname.slice(1))"""
WANTED = {
    "Table 1": "results/tables/laplace-steps.html",
    "Table 2": "results/tables/two-sided-steps.html",
    "Figure 5": "results/accuracy/growth-balanced.html",
    "Figure 7": "results/privacy/actual-privacy-loss.html",
    "B, Figure 2": "results/accuracy/b-dimensions.html",
    "Theorem 4.1": "results/limits/theorem-a.html",
    "lapMech": "foundations/mechanisms.html",
    "expMech-smooth": "foundations/mechanisms.html",
    "which mechanism should I use": "limits/what-to-use.html",
    "release my table": "release/own-table.html",
}


@pytest.mark.parametrize("words", WANTED)
def test_the_first_thing_found_is_the_one_that_was_meant(
    opened: Callable[..., Watched], words: str
) -> None:
    watched = opened()
    page = watched.open(f"search.html?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert page.evaluate(FIRST)[0] == WANTED[words]
    assert watched.troubles == []


def test_a_word_that_stands_only_in_code_is_not_found(opened: Callable[..., Watched]) -> None:
    page = opened().open("search.html?q=open_record")
    page.wait_for_selector("#search-results p.search-summary:not(:empty)", timeout=20_000)
    assert page.evaluate(FIRST) == []


def test_a_word_of_the_text_is_found(opened: Callable[..., Watched]) -> None:
    page = opened().open("search.html?q=posterior")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert len(page.evaluate(FIRST)) > 0
