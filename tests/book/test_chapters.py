"""Each chapter has a question, a picture, an example, what to remember, and exercises that work."""

from __future__ import annotations

import doctest
import re

import pytest

from tests.book.test_contents import pages
from tests.book.test_sidebar import chapters

CHAPTERS = sorted(name for name in pages() if name.startswith("chapters/"))
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXERCISE = re.compile(r"^::::\{exercise\} (.+?)$\n:label: (\S+)\n(.*?)^::::$", re.M | re.S)
QUOTE = re.compile(r"\{(?:result|finding)\}`[^`]+`")


def text(chapter: str) -> str:
    return pages()[chapter].read_text(encoding="utf-8")


def section(chapter: str, title: str) -> str:
    return text(chapter).partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_chapters_are_those_of_the_contents() -> None:
    listed = [one["file"] for one in chapters() if one["file"].startswith("chapters/")]
    assert sorted(listed) == CHAPTERS
    assert len(CHAPTERS) == 13


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_opens_with_its_question_and_a_picture(chapter: str) -> None:
    opening = text(chapter).partition("\n## ")[0]
    question = re.search(
        r":::\{admonition\} The question\n:class: question\n(.+?)\n:::", opening, re.DOTALL
    )
    assert question
    assert question[1].rstrip().endswith("?")
    assert opening.count(":::{result-figure}") == 1


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_tells_its_story_with_numbers_that_are_quoted(chapter: str) -> None:
    story = text(chapter).partition("\n## What to remember")[0]
    assert len(QUOTE.findall(story)) >= 3
    assert ":::{result-figure}" in story
    assert len(story.split()) >= 350


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_ends_with_three_things_and_two_exercises(chapter: str) -> None:
    remember = section(chapter, "What to remember")
    assert re.findall(r"^(\d)\. ", remember, re.MULTILINE) == ["1", "2", "3"]
    exercises = EXERCISE.findall(section(chapter, "Exercises"))
    assert len(exercises) in (2, 3)
    assert all(":::{dropdown} Solution\n" in body for _, _, body in exercises)
    listed = [one["file"] for one in chapters()]
    following = listed[listed.index(chapter) + 1]
    link = following.removeprefix("chapters/") if following.startswith("chapters/") else following
    last = text(chapter).rstrip().rpartition("\n")[2]
    assert last in (f"Next chapter: {{doc}}`{link}`.", f"Next chapter: {{doc}}`../{link}`.")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_examples_of_a_chapter_print_what_they_say(chapter: str) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for place, code in enumerate(CODE.findall(text(chapter))):
        assert ">>> " in code
        runner.run(parser.get_doctest(code, {}, f"{chapter}[{place}]", chapter, 0))
    assert runner.summarize(verbose=False).failed == 0


def test_every_chapter_but_the_one_on_judging_has_an_example_that_runs() -> None:
    without = [chapter for chapter in CHAPTERS if not CODE.search(text(chapter))]
    assert set(without) <= {"chapters/full-paper", "chapters/earlier-papers"}


def test_labels_of_exercises_are_unique() -> None:
    labels = [label for page in pages() for label in re.findall(r":label: (ex-\S+)", text(page))]
    assert len(labels) == len(set(labels)) >= 30


@pytest.mark.parametrize(
    "page", sorted(name for name in pages() if name.startswith("foundations/"))
)
def test_a_foundations_page_has_a_picture_and_leaves_misprints_to_the_errata(page: str) -> None:
    lesson = re.sub(r"```\{margin\}.*?```", "", text(page), flags=re.DOTALL)
    assert "{result-figure}" in lesson
    assert re.findall(r"misprint|prints (?:both|the|an)|print the exponents", lesson) == []
