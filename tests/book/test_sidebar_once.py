"""The table of contents made once is, on every page, the one that the theme would have made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpbook.sidebar import Sidebar

EXTENSION = Path(__file__).parents[2] / "book" / "_ext"
NAVIGATION = re.compile(r'<nav class="bd-links.*?</nav>', re.DOTALL)
CONF = """
from pathlib import Path
from pydata_sphinx_theme import toctree

extensions = ["myst_nb", "sphinx_external_toc", "sphinx_book_theme"]
html_theme = "sphinx_book_theme"
html_theme_options = {"show_navbar_depth": 1, "collapse_navbar": False}
theirs = toctree.add_collapse_checkboxes

def counted(soup):
    with Path("made.txt").open("a") as file:
        print("made", file=file)
    theirs(soup)

toctree.add_collapse_checkboxes = counted
"""
CONTENTS = """
format: jb-book
root: index
parts:
- caption: First
  chapters:
  - file: a/one
    sections:
    - file: a/deep
      sections:
      - file: b/deeper
    - file: b/beside
  - file: two
- caption: Second
  chapters:
  - file: b/three
    sections:
    - file: four
"""
PAGES = ("index", "a/one", "a/deep", "b/deeper", "b/beside", "two", "b/three", "four")


def site(folder: Path, once: bool) -> dict[str, str]:
    """Build the tiny site and return the table of contents of every page."""
    for name in PAGES:
        page = folder / "book" / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# Page {name}\n\n## A part of it\n\nWords.\n", encoding="utf-8")
    (folder / "book/_toc.yml").write_text(CONTENTS, encoding="utf-8")
    bridge = 'template_bridge = "dpbook.mending.Templates"' if once else ""
    (folder / "book/conf.py").write_text(CONF + bridge, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "html", "book", "site"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(EXTENSION), "NO_COLOR": "1"},
        check=True,
    )
    shown = {}
    for page in (*PAGES, "search", "genindex"):
        found = NAVIGATION.search((folder / f"site/{page}.html").read_text(encoding="utf-8"))
        assert found, page
        shown[page] = found[0].replace('<summary aria-label="Pages below this one">', "<summary>")
    return shown


def test_every_page_has_the_table_that_the_theme_makes(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    expected, shown = site(plain, once=False), site(ours, once=True)
    assert shown == expected
    assert expected["b/deeper"].count("current active") == 3
    assert len(set(expected.values())) == len(PAGES)  # search and index show what the root shows
    assert len((plain / "made.txt").read_text().splitlines()) >= len(PAGES)
    assert len((ours / "made.txt").read_text().splitlines()) == 1


def test_a_link_to_an_unknown_page_is_no_entry() -> None:
    entry = '<ul><li class="toctree-l1"><a class="reference internal" href="gone.html">Gone</a>'
    with pytest.raises(KeyError, match="gone"):
        Sidebar.read(entry, "index", {"there.html": "there"})
