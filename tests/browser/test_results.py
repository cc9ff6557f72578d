"""A result page shows question, finding and figure or table on its first screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpclaims.ledger import read_claims
from tests.browser.watching import HEIGHT, Visited, results

CLAIMS = Path(__file__).parents[2] / "book" / "claims" / "claims.yml"
SEEN = 0.6  # of the figure or table, from its top
SENTENCES = {"limits/in-passing", "limits/sentences", "queries/sentences"}  # findings, no picture
pytestmark = pytest.mark.browser


def test_every_result_page_asks_a_question(visited: Visited) -> None:
    asks = {name: "?" in facts["title"] for name, facts in results(visited).items()}
    assert [name for name, question in asks.items() if not question] == []


def test_the_finding_is_on_the_first_screen(visited: Visited) -> None:
    for name, facts in results(visited).items():
        assert len(facts["findings"]) == 1, name
        assert facts["findings"][0]["bottom"] <= HEIGHT, (name, facts["findings"])


def test_the_figure_or_table_is_on_the_first_screen(visited: Visited) -> None:
    low = {}
    for name, facts in results(visited).items():
        if name.removeprefix("results/").removesuffix(".html") in SENTENCES:
            assert facts["result"] == [], name
            continue
        assert facts["result"], name
        (box,) = facts["result"]
        if box["top"] + SEEN * box["height"] > HEIGHT:
            low[name] = box
    assert low == {}


def test_code_is_there_and_closed(visited: Visited) -> None:
    for name, facts in results(visited).items():
        assert facts["open"] == 0, name
        assert facts["loose code"] == 0, name


def test_every_result_page_offers_its_files(visited: Visited) -> None:
    for name, facts in results(visited).items():
        assert {"provenance.json", f"{Path(name).stem}.ipynb"} <= set(facts["downloads"]), name


def test_every_claim_is_linked_from_the_pages_it_rests_on(visited: Visited) -> None:
    claims = read_claims(CLAIMS)
    assert claims
    for claim in claims:
        for evidence in claim.evidence:
            links = visited[f"results/{evidence.notebook}.html"]["claims here"]
            assert [one for one in links if one.endswith(f"#{claim.anchor}")], claim.id
