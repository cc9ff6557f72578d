"""Pages of results: claims first, then figure or table, then the way there; reruns and
the book.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dpbayes import record
from dpbayes.notebooks.parameters import declared, load
from dpbayes.runner import page as pages
from dpbayes.runner.page import page, plain_markdown, rerun_page
from dpbayes.runner.results import publish
from dpbayes.runner.run import Order, run_one
from tests.tiny_notebooks import code, markdown, notebook, write_tiny

PLOT = """from matplotlib.figure import Figure
figure = Figure()
figure.subplots().plot([1, n])
record.figure("line", figure, alt="A rising line.", caption=f"Up to $n$ = {n}.")
record.check("even", "Twice a whole number is even.", 2 * n % 2 == 0)"""
VALUES = {"n": 7, "label": "a-b"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of a rerun that has a figure and a claim that does not
    hold."""
    root = tmp_path_factory.mktemp("ran")
    path = write_tiny(root / "notebooks", "part/tiny", PLOT, "1 + 1")
    done = run_one(Order("part/tiny", path, VALUES, root / "stage"))
    assert not done.problem
    publish(done.order.stage, done.files, done.made({}), root / "part" / "tiny")
    return root


def executed(root: Path) -> dict[str, Any]:
    return load(root / "part" / "tiny" / "tiny.ipynb")


def cells(root: Path, *more: dict[str, Any]) -> list[dict[str, Any]]:
    made = executed(root)
    made["cells"] += more
    return list(page(made, "part/tiny", ["squares.csv", "line.svg"])["cells"])


def by_id(shown: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in shown}


def test_nbconvert_finds_the_words_of_every_figure(
    ran: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A result's executed notebook, as `jupyter nbconvert --to html` shows it."""
    nbconvert: Any = pytest.importorskip("nbconvert")
    exporter = nbconvert.HTMLExporter()
    text = exporter.from_filename(str(ran / "part" / "tiny" / "tiny.ipynb"))[0]
    assert not [one for one in caplog.messages if "Alternative text" in one]
    assert "No description" not in text
    assert re.findall(r'<img alt="([^"]*)" src="data:image/svg', text) == [
        "A rising line."
    ]


def test_a_page_has_a_figure_as_a_drawing_alone(ran: Path) -> None:
    drawn = by_id(cells(ran))["fig-tiny"]["outputs"][0]["data"]
    assert sorted(drawn) == ["image/svg+xml", "text/plain"]


def test_a_page_is_question_findings_figure_and_the_rest_folded(ran: Path) -> None:
    shown = cells(
        ran,
        markdown("## The formula\n\nTwice."),
        {**markdown("Because two is two."), "metadata": {"tags": ["why"]}},
        markdown("## What it does not show\n\nThe rest. Try `n = 8`."),
    )
    heads = [
        one["source"].splitlines()[0][:23]
        for one in shown
        if one["cell_type"] == "markdown" and "span" not in one["source"]
    ]
    assert heads == [
        "# What is twice n?", ":::{container} claims", "Because two is two.",
        "## What it does not show"[:23], "## Change it", "## How it was computed"[:23],
        "### The formula", "## Checks", "## Files",
    ]  # fmt: skip
    known = by_id(shown)
    words = "No longer so with these parameters: There are 7 records"
    assert words in known["claims"]["source"]
    assert known["fig-tiny"]["metadata"]["mystnb"] == {
        "figure": {"name": "fig-tiny", "caption": "Up to $n$ = 7."},
        "image": {"alt": "A rising line."},
    }
    assert shown.index(known["fig-tiny"]) == 2
    assert "dpbayes run part/tiny -p n=8" in known["change"]["source"]
    assert '| `label` | `"a-b"` | a word |' in known["change"]["source"]
    assert "✓" in known["checks"]["source"]
    assert "{download}`squares.csv <tiny/squares.csv>`" in known["files"]["source"]
    tables = [
        one["metadata"]["dpbayes"]
        for cell in shown
        for one in cell.get("outputs", [])
        if "table" in one["metadata"].get("dpbayes", {})
    ]
    assert [one["table"] for one in tables] == ["squares"]


def test_the_command_that_changes_something_is_tried_before_it_is_proposed(
    ran: Path,
) -> None:
    command = by_id(cells(ran))["change"]["source"]
    assert "dpbayes run part/tiny -p n=6" in command  # no text proposes one
    for wrong in ("Try `n = 3`.", "Try `m = 4`.", "Try `n = -1`."):
        assert "-p n=6" in by_id(cells(ran, markdown(wrong)))["change"]["source"]


def test_a_number_has_an_anchor_where_it_is_kept(ran: Path) -> None:
    shown = cells(ran)
    anchors = [one for one in shown if '<span id="at-double">' in one["source"]]
    assert len(anchors) == 1
    below = shown[shown.index(anchors[0]) + 1]
    assert 'record.number("double"' in below["source"]


def test_tables_that_the_page_sets_and_further_figures_have_their_place(
    ran: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, kept = executed(ran), []
    monkeypatch.setattr(record, "_show", lambda _, known: kept.append(known))
    record.begin("part/tiny", tmp_path)
    heads = {"square": "i, squared", "i": "i"}
    small = {"caption": "Squares, small.", "headers": heads, "format": (".2f", "s")}
    record.table("squares", {"i": [1], "square": [1]}, **small)
    cell = next(one for one in made["cells"] if "record.table" in one["source"])
    told = next(one["metadata"] for one in cell["outputs"] if "table" in str(one))
    # a notebook is written with its keys sorted, and the columns keep their order
    told["dpbayes"] = json.loads(json.dumps(kept[0], sort_keys=True))
    second = {**made["cells"][-2], "id": "again"}
    made["cells"] += [second, markdown("The end.")]
    shown = page(made, "part/tiny", [])["cells"]
    assert not [
        one for one in shown for out in one.get("outputs", []) if "table" in str(out)
    ]
    setting = next(one["source"] for one in shown[3:] if one["id"] == "tab-squares")
    assert setting.splitlines() == [
        ":::{result-table} ::squares",
        ":name: tab-tiny-squares",
        ":columns: square,i",
        r':header: "\"i, squared\",i"',
        ":format: .2f,s",
        "Squares, small.",
        ":::",
    ]
    made["cells"] = [one for one in made["cells"] if "figure" not in one["source"]]
    assert page(made, "part/tiny", [])["cells"][2]["id"] == "tab-squares"
    names = [
        one["metadata"].get("mystnb", {}).get("figure", {}).get("name") for one in shown
    ]
    places = [place for place, name in enumerate(names) if name]
    assert places[0] == 2
    assert shown[places[1] + 1]["source"] == "The end."


def test_without_a_figure_the_first_table_leads(ran: Path) -> None:
    made = executed(ran)
    made["cells"] = [
        one for one in made["cells"] if "record.figure" not in one["source"]
    ]
    shown = page(made, "part/tiny", [])["cells"]
    assert shown[2]["outputs"][0]["metadata"] == {"dpbayes": {"table": "squares"}}
    bare = page(notebook(code("1 + 1")), "part/x", [])["cells"]
    assert [one["cell_type"] for one in bare] == ["markdown"] * 3 + ["code", "markdown"]


def test_a_rerun_stands_beside_the_book(
    ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = declared(load(ran / "notebooks" / "part" / "tiny.ipynb"))
    alone = rerun_page(ran / "part" / "tiny", "part/tiny", own)
    assert "are not at hand" in alone
    assert 'class="changed"' not in alone
    (ran / "mathjax").symlink_to(pages.CARRIED / "mathjax")
    monkeypatch.setattr(pages, "CARRIED", ran)
    (ran / "reference" / "part").mkdir(parents=True)
    known = {"numbers": {"double": 6, "gone": 1.5}}
    (ran / "reference" / "part" / "tiny.json").write_text(json.dumps(known))
    made = rerun_page(ran / "part" / "tiny", "part/tiny", own)
    assert made.startswith("<!DOCTYPE html>")
    order = [
        "What is twice n?", "No longer so with these", "<svg", "beside the book",
        "<summary>How it was computed</summary>", "<summary>Checks</summary>",
    ]  # fmt: skip
    places = [made.index(one) for one in order]
    assert places == sorted(places)
    for name, there, here in (
        ("double", "6", "14"),
        ("n", "3", "7"),
        ("label", '"a"', '"a-b"'),
    ):
        row = rf'<code>{name}</code></td><td>{there}</td>\s*<td class="changed">{here}'
        assert re.search(row, made), name
    assert 'src="http' not in made


LINKS = (
    "By [`floor` it falls](#thm-floor), [one](#fig-one),"
    " [D](../documents/D-fig5.ipynb), [how](../../book/chapters/publish.md)"
    " and [there](https://a.b/c.md)."
)


def test_links_of_a_notebook_are_those_of_the_book(ran: Path) -> None:
    text = next(
        one["source"] for one in cells(ran, markdown(LINKS)) if "By" in one["source"]
    )
    assert text == (
        "By {prf:ref}`floor it falls <thm-floor>`, {ref}`one <fig-one>`,"
        " {doc}`D <../documents/D-fig5>`, {doc}`how <../../chapters/publish>`"
        " and [there](https://a.b/c.md)."
    )


def test_a_rerun_has_no_links_that_only_the_book_can_follow() -> None:
    assert plain_markdown(LINKS) == (
        "By `floor` it falls, one, D, how and [there](https://a.b/c.md)."
    )


def test_what_the_text_proposes_is_what_the_command_changes(ran: Path) -> None:
    advice = 'Try `n = 20` and\n`label = "b c"`, not `k = 2`.'
    change = by_id(cells(ran, markdown(advice)))["change"]["source"]
    assert "dpbayes run part/tiny -p n=20 -p 'label=b c'\n" in change


def test_an_option_that_begins_with_a_quote_is_read_whole() -> None:
    from myst_parser.parsers.options import options_to_items

    heads = ["a, b", 'the "c"']
    line = f"header: {pages.listed(heads)}"
    assert dict(options_to_items(line)[0])["header"] == '"a, b","the ""c"""'
