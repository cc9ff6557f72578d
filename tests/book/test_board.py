"""The cards of the verdict board: what a claim, its pictures and its misprints become."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes

from dpclaims.ledger import Claim, Evidence, read_claims
from dpclaims.page import BADGES, Claims, ClaimsSummary, errata, slug

ERRATA = """# Errata

(err-d-f3)=
**Figure 3: $n < 5$** (D, page 9)

(err-both)=
**A sign** (A and B)
"""
CLAIM = Claim(
    id="D-C1",
    source="D, section 7",
    claim="It is *better*.",
    verdict="holds corrected",
    finding="At 7 records.",
    evidence=(
        Evidence("part/one", "size"),
        Evidence("part/one", "mean"),
        Evidence("part/two", "x"),
    ),
    test="tests/test_claims.py::test_claim_d_c1_better_at_seven",
    errata=("err-d-f3",),
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a book with a page of errata and two notebooks, of which the second has a figure."""
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "errata.md").write_text(ERRATA, encoding="utf-8")
    for name in ("one", "two"):
        (tmp_path / "results" / "part" / name).mkdir(parents=True)
    for file in ("means.svg", "means.narrow.svg", "means.png"):
        (tmp_path / "results" / "part" / "two" / file).write_text("", encoding="utf-8")
    cell = {
        "cell_type": "code",
        "source": ['record.figure("means", figure, alt, caption)'],
        "metadata": {"mystnb": {"image": {"alt": "Two curves. They cross."}}},
    }
    notebook = tmp_path / "results" / "part" / "two.ipynb"
    notebook.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    return tmp_path


def directive(kind: Any, source: Path, claims: list[Claim], *arguments: str) -> Any:
    """Return a directive on a page of the book, whose text becomes a paragraph as it is."""

    class OnPage(kind):
        def claims(self) -> list[Claim]:
            return claims

        def parsed(self, text: str) -> list[nodes.Node]:
            return [nodes.paragraph("", text)]

    builder = SimpleNamespace(get_relative_uri=lambda here, there: f"../{there}.html")
    env = SimpleNamespace(
        srcdir=str(source), docname="claims/claims", app=SimpleNamespace(builder=builder)
    )
    made = OnPage.__new__(OnPage)
    made.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    made.arguments = list(arguments)
    return made


def test_misprints_are_named_in_words_with_their_documents(source: Path) -> None:
    assert errata(source) == {"err-d-f3": "Figure 3: n below 5 (D)", "err-both": "A sign (A, B)"}


def test_a_card_says_verdict_place_statement_finding_and_where_to_check(source: Path) -> None:
    (card,) = directive(Claims, source, [CLAIM], "D").run()
    assert card["ids"] == ["claim-d-c1"]
    assert {"claim", "verdict-holds-corrected", "document-d"} <= set(card["classes"])
    head, picture, statement, found, sources = card.children
    assert head.astext() == "≈ Holds corrected The full paper (D), section 7 "
    assert statement.astext() == "It is *better*."
    assert found.astext() == "**Found.** At 7 records."
    assert sources.astext() == (
        "Numbers: {doc}`/results/part/one`; {doc}`/results/part/two`. "
        "Test: {ref}`better at seven <test-d-c1>`. "
        "Misprint: {ref}`Figure 3: n below 5 (D) <err-d-f3>`."
    )
    (link,) = picture.findall(nodes.reference)
    (image,) = picture.findall(nodes.image)
    assert link["refuri"] == "../results/part/two.html"
    assert (image["uri"], image["alt"]) == ("/results/part/two/means.png", "Two curves")


def test_a_board_shows_the_claims_of_its_document_alone(source: Path) -> None:
    assert directive(Claims, source, [CLAIM], "A").run() == []


def test_the_summary_counts_each_document_and_all(source: Path) -> None:
    (table,) = directive(ClaimsSummary, source, [CLAIM, CLAIM]).run()
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in table.astext().split("\n")]
    assert rows[0] == ["document", *(f"{BADGES[one]} {one}" for one in BADGES), "all"]
    assert rows[-1] == ["all", "0", "2", "0", "0", "0", "2"]
    assert rows[2:-1][3] == ["the full paper (D)", "0", "2", "0", "0", "0", "2"]
    assert slug("holds corrected") == "holds-corrected"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "must hold a list of claims"),
        ("- 5", "a claim must have the fields"),
        ("- {id: X-1, colour: red}", "X-1: missing fields .* unknown fields \\['colour'\\]"),
    ],
)
def test_a_ledger_that_cannot_be_read_names_its_fault(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "claims.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_claims(tmp_path / "claims.yml")
