"""Words that explain themselves and exercises, in a small book."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "book" / "_ext"
CONF = """
extensions = ["myst_nb", "sphinx_design", "dpguide"]
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "dollarmath"]
"""
EXERCISE = """
::::{{exercise}} {0}
:label: ex-{1}
Count.

:::{{dropdown}} Solution
{2}.
:::
::::
"""
PAGES = {
    "index": """# A book

```{toctree}
first
second
appendix/exercises
appendix/glossary
```
""",
    "first": "# A prior\n\n**Prior** `prior` said here. Every prior, priors again; a noisy count.\n"
    + EXERCISE.format("How many?", "many", "Six"),
    "second": "# Later\n\nA {term}`prior <Prior>` and a prior, and `code`.\n"
    + EXERCISE.format("How few?", "few", "Two"),
    "appendix/exercises": "# Exercises\n\n```{exercise-list}\n```\n",
    "appendix/glossary": """# Glossary

```{glossary}
Noisy count
  A {term}`prior` of $\\epsilon$.

Prior
  What you *believe* before. See {doc}`../first`.
```
""",
}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "_static").mkdir()
    for name, text in PAGES.items():
        path = tmp_path / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def build(book: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-n",
        "--keep-going",
        "-b",
        "html",
        ".",
        "site",
    ]
    environment = {**os.environ, "PYTHONPATH": str(EXTENSION), "NO_COLOR": "1"}
    return subprocess.run(
        command, cwd=book, env=environment, capture_output=True, text=True, check=False
    )


def words(book: Path, page: str) -> list[tuple[str, str]]:
    """Return the words that a page explains, each with its explanation."""
    html = (book / "site" / f"{page}.html").read_text(encoding="utf-8")
    links = re.findall(r'<a class="[^"]*\bterm\b[^"]*"[^>]*title="([^"]*)"[^>]*>(.*?)</a>', html)
    return [(re.sub(r"<[^>]*>", "", shown), definition) for definition, shown in links]


def test_the_first_use_of_a_word_explains_itself(book: Path) -> None:
    done = build(book)
    assert done.returncode == 0, done.stderr
    prior = "What you believe before."
    assert words(book, "first") == [("prior", prior), ("noisy count", "A prior of ε.")]
    assert words(book, "second") == [("prior", prior)]
    assert words(book, "appendix/glossary") == []


def test_all_exercises_are_listed_in_the_order_of_reading(book: Path) -> None:
    assert build(book).returncode == 0
    html = (book / "site/appendix/exercises.html").read_text(encoding="utf-8")
    listed = re.findall(r'href="\.\./(\w+)\.html#(ex-\w+)">([^<]*)<', html)
    assert listed == [("first", "ex-many", "How many?"), ("second", "ex-few", "How few?")]
    page = (book / "site/first.html").read_text(encoding="utf-8")
    assert 'id="ex-many"' in page

    text = (book / "second.md").read_text().replace("How few?", "How little?")
    (book / "second.md").write_text(text)
    assert build(book).returncode == 0
    assert "How little?" in (book / "site/appendix/exercises.html").read_text(encoding="utf-8")


def test_an_exercise_without_a_solution_or_a_label_stops_a_strict_build(book: Path) -> None:
    for lacking in (":::{dropdown} Solution\nTwo.\n:::\n", ":label: ex-few\n"):
        (book / "second.md").write_text(PAGES["second"].replace(lacking, ""))
        done = build(book)
        assert done.returncode != 0
        assert "'How few?' needs a label that begins with ex- and a dropdown" in done.stderr
