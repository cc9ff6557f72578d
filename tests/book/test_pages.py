"""The pages: all in the contents, labels and links that lead somewhere, examples that
run.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import os
import re
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import yaml

import dpbayes as dp
from dpbayes import tables
from dpbayes.notebooks.parameters import all_notebooks, declared, load
from dpbook import pages

ROOT = Path(__file__).parents[2]
BOOK, README = ROOT / "book", ROOT / "README.md"
NOTEBOOKS = all_notebooks(ROOT / "notebooks")
PAGES = {
    path.relative_to(BOOK).with_suffix("").as_posix(): path
    for path in sorted(BOOK.rglob("*.md"))
    if path.relative_to(BOOK).parts[0][0] != "_"
    and path.relative_to(BOOK).parts[0] != "results"
}
CITED = re.compile(r"\b(?:def|thm|lem)-[a-z0-9]+(?:-[a-z0-9]+)*")
CODE = re.compile(r"^```python\n(>>> .*?)^```", re.MULTILINE | re.DOTALL)
EXERCISE = re.compile(
    r"^::::\{exercise\} (.+?)$\n:label: (\S+)\n(.*?)^::::$", re.M | re.S
)
FENCE = re.compile(r"\A---\n.*?^---$|^(`{3,}).*?^\1$", re.M | re.S)
ROLE = re.compile(r"\{(\w+(?::\w+)?)\}`([^`<]*)[^`]*`|`[^`]*`|\$[^$]*\$")
NAMED = r"(?:Figure|Table|Theorem|Lemma|section|Algorithm|chapter)s?"
PLACE = r"\d[\d.]*(?:\(\w\))?"
LABEL = re.compile(rf"\b{NAMED} {PLACE}(?:(?:,| and| to) {PLACE})*")
API = {
    name: (kind, path)
    for page, path in PAGES.items()
    if page.startswith("api/")
    for kind, name in re.findall(
        r"^\.\. (auto\w+|py:data):: (\S+)$", path.read_text(), re.M
    )
}


def listed(entry: Any) -> list[str]:
    """Return every file named in a part of the contents."""
    if isinstance(entry, list):
        return [file for one in entry for file in listed(one)]
    if not isinstance(entry, dict):
        return []
    own = [entry[key] for key in ("file", "root") if key in entry]
    return own + [file for value in entry.values() for file in listed(value)]


CONTENTS = listed(yaml.safe_load((ROOT / "_toc.yml").read_text()))
CHAPTERS = [name for name in CONTENTS if name.startswith("chapters/")]


def test_every_page_and_notebook_is_in_the_contents_once() -> None:
    assert sorted(CONTENTS) == sorted(
        [*(f"results/{name}" for name in NOTEBOOKS), *PAGES]
    )
    assert len(CHAPTERS) == 12


def test_labels_are_unique_and_those_cited_in_code_exist() -> None:
    texts = [path.read_text("utf-8") for path in [*PAGES.values(), *NOTEBOOKS.values()]]
    labels = [
        label for text in texts for label in re.findall(r":label: ([\w-]+)", text)
    ]
    assert sorted(labels) == sorted(set(labels))
    for path in (ROOT / "dpbayes").rglob("*.py"):
        assert set(CITED.findall(path.read_text("utf-8"))) <= set(labels), path


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_asks_remembers_sets_exercises_and_leads_on(chapter: str) -> None:
    page = PAGES[chapter].read_text("utf-8")
    following = [*CHAPTERS, "claims/claims"][CHAPTERS.index(chapter) + 1]
    assert following.rpartition("/")[2] in page.rstrip().rpartition("\n")[2]
    assert page.count(":class: question") == 1
    remember = page.partition("\n## What to remember\n")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d)\. ", remember, re.MULTILINE) == ["1", "2", "3"]
    exercises = EXERCISE.findall(page)
    assert 1 <= len(exercises) <= 3
    assert all(":::{dropdown} Solution\n" in body for *_, body in exercises)


def seen(match: re.Match[str]) -> str:
    """Return what a reader sees of a role: a number, nothing, or words."""
    role, text = match[1], match[2]
    if role in ("result", "evidence"):
        return "7" if role == "result" else ""
    return text if role in ("doc", "prf:ref", "ref", "explore") and " " in text else "x"


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs and list items of a page as they are read; no code, table,
    heading, formula or directive."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) |:::)", FENCE.sub("", text))
    shown = [re.sub(r"^(?:[*-]|\d+\.) ", "", one.strip()) for one in blocks]
    skipped = re.compile(r"$|[|:#<]|\(\S+\)=|\$\$")
    shown = [one for one in shown if not skipped.match(one)]
    return [LABEL.sub("label", ROLE.sub(seen, one)) for one in shown]


@pytest.mark.parametrize("page", ["index", "paper", "reproduce", *CHAPTERS])
def test_a_paragraph_is_short_and_in_the_words_of_an_editor(page: str) -> None:
    """At most 90 words and 5 numbers; a sentence of a notebook is a mark, no quote."""
    text = PAGES[page].read_text("utf-8")
    assert "{claim}" not in text
    shown = paragraphs(text)
    assert [one for one in shown if len(one.split()) > 90] == []
    numbers = r"(?<![\w.-])\d[\d.,]*"
    assert [one for one in shown if len(re.findall(numbers, one)) > 5] == []


def test_long_paragraphs_and_those_full_of_numbers_are_found() -> None:
    text = (
        "---\na: 1\n---\n# Head 1 2 3 4 5 6\n\n* Two `3 4 5`, {result}`a::b:d`\n* $6$."
    )
    assert paragraphs(text) == ["Two x, 7", "x."]
    assert paragraphs("D's Figures 3, 4 and 6(b) at 8\n\n```\n1\n```\n") == [
        "D's label at 8"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [*CHAPTERS, *(one for one in PAGES if one[:4] == "api/"), "README"]
)
def test_the_examples_of_a_page_print_what_they_say(page: str) -> None:
    """The blocks of a page are typed one after the other, as a reader would."""
    path = README if page == "README" else PAGES[page]
    text = path.read_text("utf-8")
    code = "\n".join(CODE.findall(text)) if page in CHAPTERS else text
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(code, {}, page, str(path), 0))
    assert runner.summarize(verbose=False).failed == 0


def loaded(path: str) -> Any:
    """Return what a dotted name stands for; a function hides a module of its name."""
    first, *rest = path.split(".")
    thing: Any = importlib.import_module(first)
    for place, part in enumerate(rest, 2):
        if not hasattr(thing, part):
            importlib.import_module(".".join([first, *rest][:place]))
        thing = getattr(thing, part)
    return thing


def test_every_public_name_is_on_a_page() -> None:
    wanted = {f"dpbayes.{name}" for name in dp.__all__}
    wanted |= {f"dpbayes.tables.{name}" for name in tables.__all__}
    shown = [loaded(name) for name, (kind, _) in API.items() if kind != "py:data"]
    missing = {name for name in wanted - API.keys() if loaded(name) not in shown}
    assert not missing, sorted(missing)


def test_every_name_on_a_page_has_an_example_or_is_used_in_one() -> None:
    """Examples in docstrings run with the other doctests, those of pages below."""
    read = doctest.DocTestParser().get_examples
    shown = {
        name: (inspect.getdoc(loaded(name)) or "")
        if kind[:2] != "py"
        else page.read_text()
        for name, (kind, page) in API.items()
    }
    texts = [*shown.values(), *(path.read_text("utf-8") for path in PAGES.values())]
    code = " ".join(f"{one.source} {one.want}" for text in texts for one in read(text))
    used = set(re.findall(r"\w+", code))
    bare = [
        name for name, text in shown.items() if not any(one.want for one in read(text))
    ]
    assert [name for name in bare if name.rpartition(".")[2] not in used] == []


def test_the_readme_links_and_shows_what_there_is() -> None:
    text = README.read_text()
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert targets
    assert [one for one in targets if not (ROOT / one).exists()] == []
    shown = re.findall(r"^  (\w+): [^=\n]*= .*?  # (.*)$", text, re.M)
    parameters = declared(load(NOTEBOOKS["basics/posterior"]))
    assert dict(shown) == {key: one.meaning for key, one in parameters.items()}


def test_the_readme_counts_the_curves_as_the_book_does() -> None:
    found = BOOK / "reference" / "drawn" / "published-fit.json"
    numbers = json.loads(found.read_text("utf-8"))["numbers"]
    sentence = (
        f"{numbers['published-met']:.0f} of the {numbers['curves']:.0f} that A to D"
    )
    assert sentence in " ".join(README.read_text("utf-8").split())


@pytest.mark.browser
def test_the_picture_of_the_readme_shows_what_is_computed() -> None:
    """A line that moves by less than 0.05 points looks the same."""
    computed = BOOK / "results" / "basics" / "at-a-glance" / "means.svg"
    if not computed.is_file() and not os.environ.get("CI"):
        pytest.skip("no computed picture: run `make book`")
    committed = BOOK / "_static" / "at-a-glance.svg"
    named = (
        r'(?:id|xlink:href)="[^"]*"|url\(#[^)]*\)|<!--.*?-->|<metadata>.*?</metadata>'
    )
    one, other = (re.sub(named, "", path.read_text("utf-8"), flags=re.S)
                  for path in (committed, computed))  # fmt: skip
    number = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
    assert number.sub("0", one) == number.sub("0", other)
    for a, b in zip_longest(
        number.findall(one), number.findall(other), fillvalue="inf"
    ):
        assert abs(float(a) - float(b)) <= 0.05


def _signatures(name: str) -> list[tuple[str, str]]:
    """Return the signatures of a name and of its public methods, as the page has
    them."""
    thing, kind = loaded(name), API[name][0].removeprefix("auto")
    found = [pages.written(None, kind, name, thing)]
    if kind == "class" and not hasattr(thing, "model_fields"):
        methods = {n: m for n, m in vars(thing).items() if inspect.isfunction(m)}
        found += [
            pages.written(None, "method", n, method)
            for n, method in methods.items()
            if not n.startswith("_")
        ]
    return [one for one in found if one is not None]


def test_signatures_on_pages_are_as_a_person_writes_them() -> None:
    """No type is spelled out, and nothing private is shown."""
    shown = {
        name: _signatures(name) for name, (kind, _) in API.items() if kind != "py:data"
    }
    assert shown["dpbayes.posterior"] == [
        ("(counts: ArrayLike, prior: ArrayLike)", "Posterior")
    ]
    assert shown["dpbayes.mechanism"] == [
        ("(name: str, epsilon: Epsilon, **options: Any)", "Mechanism")
    ]
    assert ("(confidence: float = 0.95)", "Floats") in shown["dpbayes.Posterior"]
    wrong = re.compile(r"numpy\.|dpbayes\.|ndarray|typing\.|\b_|self|<factory>|\*args")
    texts = [(name, "".join(one)) for name, found in shown.items() for one in found]
    assert [one for one in texts if wrong.search(one[1])] == []
