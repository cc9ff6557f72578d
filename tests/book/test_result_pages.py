"""A result page begins with what came out; code is folded, drawings are once, search knows keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.book.test_sphinx import page, sphinx
from tests.conftest import QUICKLY, write_project
from tests.tiny_notebooks import PARAMETERS, RECORD, code, notebook

NAME = "part/tiny"
DRAW = """
figure = __import__('matplotlib.figure').figure.Figure(figsize=(6, 3))
record.figure('drawn', figure, 'a blank', f'Drawn for {n}.')
"""
STATE = "record.finding('{0}', n > 0, true='{1}', false='No.')"
LONG = "The second sentence is long. " + "It goes on and on and on. " * 14
CLAIM = """
- id: A-C1
  source: A, section 5
  claim: Twice $n$ is `even`.
  verdict: holds
  finding: So it is.
  evidence: [part/tiny::double]
  test: tests/x.py::test_x
"""
WORDS = """---
orphan: true
---
# Claims

:::{glossary}
twice
: Two times.
thrice
: Three times.
:::
"""


def text(source: str) -> dict[str, Any]:
    identifier = f"text-{abs(hash(source)) % 10**8}"
    return {"cell_type": "markdown", "id": identifier, "metadata": {}, "source": source}


def write(project: Path, *cells: dict[str, Any], title: str) -> str:
    head = [code(PARAMETERS, "parameters", "remove-cell"), code(RECORD.format(name=NAME))]
    made = notebook(*head, *cells)
    made["cells"][0]["source"] = f"# {title}\n\nAn introduction."
    (project / "notebooks/part/tiny.ipynb").write_text(json.dumps(made), encoding="utf-8")
    done = sphinx(project)
    assert done.returncode == 0, done.stderr
    return content(project)


def with_claims(project: Path) -> Path:
    (project / "book/claims").mkdir()
    (project / "book/claims/claims.yml").write_text(CLAIM)
    (project / "book/claims/claims.md").write_text(WORDS)
    with (project / "book/index.md").open("a") as file:
        file.write("\n```{index} ! twice\n```\n")
    return project


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = with_claims(write_project(tmp_path_factory.mktemp("project")))
    write(
        project,
        text("## The formula\n\nTwo times n."),
        code(DRAW.strip()),
        text("## What this shows"),
        code(STATE.format("badge", "A badge.")),
        code(STATE.format("first", "The first sentence.")),
        code(STATE.format("second", LONG)),
        text("## What it does not show\n\nMuch."),
        title="D, Figure 5 · Who is largest?",
    )
    return project


@pytest.fixture
def shown(built: Path) -> str:
    return content(built)


def content(project: Path) -> str:
    return page(project, f"results/{NAME}").partition("<h1>")[2]


def places(shown: str, *words: str) -> list[int]:
    found = [shown.find(word) for word in words]
    assert -1 not in found, dict(zip(words, found, strict=True))
    return found


def test_question_finding_and_figure_come_before_everything_else(shown: str) -> None:
    order = places(
        shown,
        "D, Figure 5 · Who is largest?",
        "The first sentence.",
        'alt="a blank"',
        "An introduction.",
        "What this shows",
        "A badge.",
        "The second sentence is long.",
        "What it does not show",
        "Claims that rest on this",
        "The formula",
        "Two times n.",
        "Run it again",
        "Parameters of this run, and the command for others",
        "Files of this result",
    )
    assert order == sorted(order)
    for once in ("<p>The first sentence.</p>", 'alt="a blank"', "<p>A badge.</p>", "Two times n."):
        assert shown.count(once) == 1, once


def test_the_contents_beside_the_page_have_its_new_order(built: Path) -> None:
    whole = page(built, f"results/{NAME}")
    headings = ["what-this-shows", "what-it-does-not-show", "the-formula", "run-it-again"]
    at = [whole.find(f'href="#{one}"') for one in headings]
    assert at == sorted(at)
    assert -1 not in at


def test_all_code_is_there_and_folded(shown: str) -> None:
    folds = re.findall(r"<details.*?</details>", shown, re.DOTALL)
    blocks = re.findall(r'<div class="highlight.*?</div>', shown, re.DOTALL)
    assert len(blocks) == 6  # record, figure, three findings, the command
    for block in blocks:
        assert [fold for fold in folds if block in fold]


def test_the_claims_that_rest_on_a_result_are_linked_from_it(shown: str) -> None:
    claims = shown.partition("Claims that rest on this")[2].partition("</section>")[0]
    assert 'href="../../claims/claims.html#claim-a-c1"' in claims
    assert '<span class="math' in claims
    assert "<strong> Holds.</strong>" in claims


def test_a_drawing_has_its_size_before_it_arrives(shown: str) -> None:
    assert re.search(r'<img width="576" height="288" alt="a blank" src="[^"]*"', shown)


def test_a_page_without_a_figure_begins_with_its_table(project: Path) -> None:
    shown = write(
        project,
        text(":::{result-table} ::squares\n:columns: i\n:format: d\nThe squares.\n:::"),
        code(STATE.format("first", "The first sentence.")),
        title="What is twice n?",
    )
    order = places(shown, "The first sentence.", "The squares.", "All digits", "An introduction.")
    assert order == sorted(order)
    assert "Claims that rest" not in shown


def test_the_search_knows_the_papers_keys_and_no_code(project: Path) -> None:
    with (project / "book/conf.py").open("a") as file:
        file.write(QUICKLY)
    badge = code(STATE.format("badge", "A badge."))
    write(
        with_claims(project), badge, code("figsize = (6, 3)"), title="D, Figure 5 · Who is largest?"
    )
    script = (project / "site/searchindex.js").read_text(encoding="utf-8")
    found = json.loads(script.removeprefix("Search.setIndex(").removesuffix(")"))
    assert {"figure 5", "d, figure 5"} <= set(found["indexentries"])
    (entry,) = found["indexentries"]["figure 5"]
    assert found["docnames"][entry[0]] == f"results/{NAME}"
    assert entry[2] is True
    firsts = {found["docnames"][place]: main for place, _, main in found["indexentries"]["twice"]}
    assert firsts == {"index": True, "claims/claims": False}
    assert [main for _, _, main in found["indexentries"]["thrice"]] == [True]
    assert "introduct" in found["terms"]
    assert "figsiz" not in found["terms"]
