"""Every sentence that compares with everything is listed below the test or theorem holding it."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.book.superlatives import ROOT, found, listed, sentences, text_of, unlisted
from tests.book.test_contents import pages

LISTED = listed()
WITHOUT_A_TEST = {"computed", "papers", "open", "defined", "measured"}


@cache
def labels() -> set[str]:
    """Return the labels that the pages define."""
    lines = (line for path in pages().values() for line in path.read_text("utf-8").splitlines())
    return {line.removeprefix(":label: ") for line in lines if line.startswith(":label: ")}


def test_no_sentence_compares_with_everything_and_is_not_listed() -> None:
    assert unlisted(LISTED) == [], "list it in superlatives.yml below what holds it, or weaken it"


@pytest.mark.parametrize("holder", LISTED)
def test_each_listed_quote_is_there(holder: str) -> None:
    said = found()
    quotes = [(place, quote) for entry in LISTED[holder] for place, quote in entry.items()]
    assert [
        (place, quote)
        for place, quote in quotes
        if not any(place == where and quote in sentence for where, sentence in said)
    ] == []


@pytest.mark.parametrize("holder", sorted(set(LISTED) - WITHOUT_A_TEST))
def test_what_holds_a_sentence_exists(holder: str) -> None:
    file, _, name = holder.partition("::")
    if name:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
    else:
        assert holder in labels()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("No mechanism has a smaller error than `lattice`.", 1),
        ("Its error is never larger. The noise is optimal.", 2),
        ("A loss of at least one category, for all data sets.", 0),
        ("Which mechanism is the best?", 0),
        ("The best of the fonts.", 0),
        ("It has the lowest error. Its noise is cheaper. It wins, by distance.", 3),
        (
            "```{prf:theorem} One\n:label: thm-one\n\nIts loss is always 1.\n```\n\nIt never errs "
            "in its mean.\n\n```{prf:proof}\nThe error is always 1.\n```",
            3,
        ),
        ("```python\nnever = error\n```\n\nThe error is never 1.\n\n```\nalways error\n```", 1),
    ],
)
def test_a_sentence_that_is_not_listed_would_be_noticed(text: str, number: int) -> None:
    assert len(list(sentences(text))) == number


def test_a_sentence_in_parts_or_with_two_ways_is_read_as_a_whole() -> None:
    source = '"No mechanism " + word + "has a smaller loss." if one else "None is better."'
    text = text_of(ast.parse(source, mode="eval").body)
    assert " ".join(text.split()) == "No mechanism has a smaller loss. None is better."
