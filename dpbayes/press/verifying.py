"""A built site against its results: every file to download, every number and sentence quoted.

A quote is marked on the page with the number or the finding it shows. A site carries its results
among its downloads; each result's provenance lists the hashes of its files.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpbayes.press.quotes import formatted, split_quote

QUOTE = re.compile(r'<span class="result" data-quote="(?P<quote>[^"]*)">(?P<shown>[^<]*)</span>')


@dataclass
class Verified:
    """What was compared, and what does not agree."""

    results: int = 0
    files: int = 0
    quotes: int = 0
    problems: list[str] = field(default_factory=list)


def verify(site: Path, results: Path | None = None) -> Verified:
    """Compare a built site with the results it carries, and with a folder of results if given."""
    if not (site / "index.html").is_file():
        raise ValueError(f"site must be a built site, with an index.html, got {str(site)!r}")
    found = Verified()
    carried = {(path.name, sha256(path)): path for path in sorted(site.glob("_downloads/*/*"))}
    numbers: dict[str, dict[str, Any]] = {}
    for (file, _), path in carried.items():
        if file == "provenance.json":
            provenance = json.loads(path.read_text(encoding="utf-8"))
            check_result(carried, results, provenance, found, numbers)
    if not found.results:
        found.problems.append("the site carries no result")
    for page in sorted(site.rglob("*.html")):
        check_page(page, page.relative_to(site).as_posix(), numbers, found)
    return found


def check_result(
    carried: dict[tuple[str, str], Path],
    results: Path | None,
    provenance: dict[str, Any],
    found: Verified,
    numbers: dict[str, dict[str, Any]],
) -> None:
    """Look for every file of a result among the downloads, by its hash."""
    name = provenance["notebook"]
    found.results += 1
    for file, digest in provenance["sha256"].items():
        found.files += 1
        if (file, digest) not in carried:
            found.problems.append(f"{name}/{file}: no download has the hash its provenance lists")
        elif file == "numbers.json":
            numbers[name] = json.loads(carried[file, digest].read_text(encoding="utf-8"))
        if results and sha256(results / name / file) != digest:
            found.problems.append(f"{name}/{file}: the site was built from another result")


def check_page(page: Path, name: str, numbers: dict[str, dict[str, Any]], found: Verified) -> None:
    """Compare every number that a page quotes with the recorded one."""
    for quote, shown in quotes(page.read_text(encoding="utf-8")):
        found.quotes += 1
        notebook, key, form = split_quote(quote)
        if key not in numbers.get(notebook, {}):
            found.problems.append(f"{name}: quotes {quote}, which no result of the site has")
        elif formatted(numbers[notebook][key], form) != shown:
            right = formatted(numbers[notebook][key], form)
            found.problems.append(f"{name}: shows {shown} for {quote}, recorded is {right}")


def quotes(text: str) -> Iterator[tuple[str, str]]:
    """Return the quotes of a page: which number, and what is shown."""
    for match in QUOTE.finditer(text):
        yield html.unescape(match["quote"]), html.unescape(match["shown"])


def sha256(path: Path) -> str:
    """Return the hash of a file, or nothing where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
