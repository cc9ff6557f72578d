"""One word for one thing: what a page defines is in the glossary, and numbers look alike."""

from __future__ import annotations

import re

import pytest

from tests.book.test_contents import BOOK, pages

DEFINITION = re.compile(r"^(`{3,})\{prf:definition\}.*?^\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^(`{3,}|~{3,})(?!\{).*?^\1$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
BOLD = re.compile(r"\*\*([^*]+)\*\*")
VERDICTS = {
    "holds",
    "holds corrected",
    "false",
    "open",
    "no verdict",
}  # defined where they are used
SYMBOLS = {r"\epsilon": "ε", r"\delta": "δ", r"\mu": "μ", r"\rho": "ρ", "$": ""}
PARTS = (
    "chapters",
    "foundations",
    "privacy",
    "limits",
    "comparison",
    "queries",
    "scale",
    "release",
)


def glossary() -> set[str]:
    text = (BOOK / "appendix/glossary.md").read_text(encoding="utf-8")
    block = text.partition("```{glossary}\n")[2].partition("\n```")[0]
    return {entry.partition("\n")[0].lower() for entry in re.split(r"\n\n(?=\S)", block)}


def named(bold: str) -> str:
    """Return a bold phrase as the glossary would write it."""
    for tex, symbol in SYMBOLS.items():
        bold = bold.replace(tex, symbol)
    return bold.strip(" .").lower()


def defined(text: str) -> set[str]:
    """Return what a page defines: what is bold in a definition, and bold words in a sentence."""
    inside = "".join(found[0] for found in DEFINITION.finditer(text))
    outside = BOLD.findall(CODE.sub("", DEFINITION.sub("", text)))
    short = [bold for bold in outside if bold[0].islower() and len(bold.split()) <= 4]
    return {named(bold) for bold in [*BOLD.findall(inside), *short]}


@pytest.mark.parametrize("page", sorted(name for name in pages() if name.startswith(PARTS)))
def test_every_word_a_page_defines_is_in_the_glossary(page: str) -> None:
    words = defined(pages()[page].read_text(encoding="utf-8")) - VERDICTS
    known = glossary()
    assert {
        word for word in words if word not in known and word.removesuffix("s") not in known
    } == (set())


def test_a_word_that_is_missing_from_the_glossary_is_found() -> None:
    block = "```{prf:definition} X\nThe **Big One**.\n```\n"
    page = f"A **frobnicated** count. **Not this one.**\n\n{block}"
    assert defined(page) == {"frobnicated", "big one"}
    assert "calibrated" in glossary()


def test_the_glossary_is_in_order_and_has_the_words_asked_for() -> None:
    asked = (
        "calibrated,nominal ε,noise-aware,remap,face value,smoothing rate,lattice noise,dilation"
    )
    assert set(asked.split(",")) | {"published distance"} <= glossary()


@pytest.mark.parametrize("page", sorted(pages()))
def test_numbers_are_written_one_way(page: str) -> None:
    text = CODE.sub("", pages()[page].read_text(encoding="utf-8"))
    assert re.findall(r"(?<![\d.,])\d{1,3} \d{3}(?!\d)", text) == []
    assert re.findall(r"\d %|\d per cent", text) == []


WRITTEN = ("dpbayes/**/*.py", "notebooks/**/*.ipynb", "book/_extra/explorer/*.js", "*.md")
APART = re.compile(r"[\d}] %(?! ?[\d(])")  # a number, or what is filled in, away from its sign


def test_programs_write_percentages_as_pages_do() -> None:
    files = [file for pattern in WRITTEN for file in BOOK.parent.glob(pattern)]
    assert len(files) > 200
    assert {str(file) for file in files if APART.search(file.read_text(encoding="utf-8"))} == set()
    assert [one for one in ("95 % of", 'f"{x:.1f} %"', "7 % 3", "95%") if APART.search(one)] == [
        "95 % of",
        'f"{x:.1f} %"',
    ]


OTHER_NAMES = {
    "slipped metric": "published distance",
    "slipped distance": "published distance",
    "misprogrammed": "published distance",
    "Renyi": "Rényi",
    "noise aware": "noise-aware",
    "databases": "data sets",
    "datasets": "data sets",
}


@pytest.mark.parametrize("page", [*sorted(pages()), "claims/claims.yml"])
def test_one_thing_has_one_name(page: str) -> None:
    path = pages().get(page, BOOK / page)
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    quoted = re.sub(r"\"[^\"\n]*\"|\*[^*\n]*\*", "", text)
    assert {name: OTHER_NAMES[name] for name in OTHER_NAMES if name in quoted} == {}
