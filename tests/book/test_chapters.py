"""The twelve chapters: their examples print what they say, and each leads to the next."""

from __future__ import annotations

import doctest
import re

import pytest
import yaml

from tests.book.test_contents import ROOT, listed, pages

CHAPTERS = [
    name
    for name in listed(yaml.safe_load((ROOT / "_toc.yml").read_text()))
    if name.startswith("chapters/")
]
CODE = re.compile(r"^```python\n(>>> .*?)^```", re.MULTILINE | re.DOTALL)
EXERCISE = re.compile(r"^::::\{exercise\} (.+?)$\n:label: (\S+)\n(.*?)^::::$", re.M | re.S)


def text(chapter: str) -> str:
    return pages()[chapter].read_text(encoding="utf-8")


def test_there_are_twelve_chapters_and_each_leads_to_the_next() -> None:
    assert sorted(CHAPTERS) == sorted(name for name in pages() if name.startswith("chapters/"))
    assert len(CHAPTERS) == 12
    for chapter, following in zip(CHAPTERS, [*CHAPTERS[1:], "claims/claims"], strict=True):
        last = text(chapter).rstrip().rpartition("\n")[2]
        assert following.rpartition("/")[2] in last, chapter


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_examples_of_a_chapter_print_what_they_say(chapter: str) -> None:
    """The blocks of a page are typed one after the other, as a reader would."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    code = "\n".join(CODE.findall(text(chapter)))
    runner.run(parser.get_doctest(code, {}, chapter, chapter, 0))
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_has_its_question_three_things_and_exercises_with_solutions(chapter: str) -> None:
    page = text(chapter)
    assert page.count(":class: question") == 1
    remember = page.partition("\n## What to remember\n")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d)\. ", remember, re.MULTILINE) == ["1", "2", "3"]
    exercises = EXERCISE.findall(page)
    assert 1 <= len(exercises) <= 3
    assert all(":::{dropdown} Solution\n" in body for *_, body in exercises)


@pytest.mark.slow
def test_labels_of_exercises_are_unique() -> None:
    labels = [label for page in pages() for label in re.findall(r":label: (ex-\S+)", text(page))]
    assert len(labels) == len(set(labels))
