"""What references to other pages are called, for a page that stands alone.

The book resolves its references; a single page shows their titles. They are read from the sources:
pages and notebooks by their first heading, blocks such as theorems by their labels, works cited by
author and year.
"""

from __future__ import annotations

import functools
import posixpath
import re
from pathlib import Path

from dpbayes.press.parameters import load, source_of
from dpbayes.press.places import all_notebooks

BLOCK = re.compile(
    r"^[:`]{3,}\{prf:(?P<kind>\w+)\}[ \t]*(?P<title>.*)\n(?P<options>(?::[\w-]+:.*\n)+)",
    re.MULTILINE,
)
LABEL = re.compile(r":label: *(\S+)")
HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
ENTRY = re.compile(r"^@\w+\{(?P<key>[^,\s]+),(?P<fields>.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"(author|year) *= *\{(.*?)\},?\n", re.DOTALL)


@functools.cache
def titles(root: Path) -> dict[str, str]:
    """Return what every page, notebook, block and cited work below a checkout is called."""
    found: dict[str, str] = {}
    for path in sorted((root / "book").glob("**/*.md")):
        name = path.relative_to(root / "book").with_suffix("").as_posix()
        note(found, name, path.read_text(encoding="utf-8"))
    for name, path in all_notebooks(root / "notebooks").items():
        cells = [cell for cell in load(path)["cells"] if cell["cell_type"] == "markdown"]
        note(found, f"results/{name}", "\n\n".join(map(source_of, cells)))
    for path in (root / "book").glob("*.bib"):
        found |= works(path.read_text(encoding="utf-8"))
    return found


def note(found: dict[str, str], name: str, text: str) -> None:
    """Add a page's title and the names of its blocks."""
    heading = HEADING.search(text)
    if heading:
        found[name] = heading[1].strip()
    for block in BLOCK.finditer(text):
        label = LABEL.search(block["options"])
        kind = block["kind"].capitalize()
        if label:
            found[label[1]] = f"{kind} ({block['title'].strip()})" if block["title"] else kind


def works(text: str) -> dict[str, str]:
    """Return author and year of every entry of a bibliography.

    >>> works("@book{a,\\n author = {Dwork, Cynthia and Roth, Aaron},\\n year = {2014}\\n}\\n")
    {'a': 'Dwork and Roth, 2014'}
    """
    found = {}
    for entry in ENTRY.finditer(text):
        fields = {
            name: " ".join(value.split()) for name, value in FIELD.findall(entry["fields"] + "\n")
        }
        people = [one.split(",")[0].strip("{} ") for one in fields.get("author", "").split(" and ")]
        names = " and ".join(people) if len(people) < 3 else f"{people[0]} et al."
        found[entry["key"]] = f"{names}, {fields.get('year', 'n.d.')}"
    return found


def called(root: Path | None, page: str, target: str) -> str:
    """Return what the target of a reference on a page is called; its own text if nothing knows."""
    if root is None:
        return target
    known = titles(root)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    return known.get(target) or known.get(path.lstrip("/")) or target
