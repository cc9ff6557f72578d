"""The sentences of a notebook's prose that hold a digit or a word of comparison.

Such a sentence may state an outcome, which only a finding may do, or repeat a parameter's value.
Whoever has read them and found neither keeps them in `definitions.yml`::

    python -m tests.notebooks.words limits/theorem-a limits/optimum-two
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from dpbayes.press.parameters import declared, load, source_of

COMPARATIVES = (
    r"better|best|beat|beats|worse|worst|win|wins|won|lose|loses|lost|ahead|behind|"
    r"right|wrong|hold|holds|held|fail|fails|failed|false|true|agree|agrees|confirm|"
    r"confirms|confirmed|exceed|exceeds|overtake|overtakes|never|always|smaller|larger|"
    r"smallest|largest|higher|highest|lower|lowest|more|less|fewer|fewest|least|most|"
    r"faster|slower|narrower|wider|closer|nearer|negative|positive|exact|accurate|"
    r"dominates|equal|equals|unequal|rises|falls|grows|shrinks|fell|rose|grew|"
    r"identical|different|attains|attained|reaches|reached"
)
SUSPICIOUS = re.compile(rf"\d|\b({COMPARATIVES})\b", re.IGNORECASE)
NOT_PROSE = (
    re.compile(r"\A(# )[A-E], [^·\n]* · "),  # the key of the paper in a title
    re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL),  # mathematics
    re.compile(r"(?m)^\s*(?::{3,}|`{3,}).*$|^:[a-z]+:.*$"),  # a directive and its options
    re.compile(r"\{doc\}`([^`<]*)<[^`]*`"),
    re.compile(r"\{[a-z:]+\}`[^`]*`"),  # other roles
    re.compile(r"`[^`]*`"),  # code
)
SENTENCE_END = re.compile(r"(?<=[.?!:])\s+(?=[A-Z*\"(]|$)|\n\s*\n|\n(?=#|[*-] |\d+\. )")


def prose(text: str) -> str:
    """Return a Markdown text without mathematics, code, roles and directives."""
    for pattern in NOT_PROSE:
        text = pattern.sub(lambda found: found[1] if found.lastindex else " ", text)
    return text


def captions(source: str) -> list[str]:
    """Return the fixed parts of the captions that a code cell builds."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "caption":
            parts = [one for one in ast.walk(node.value) if isinstance(one, ast.Constant)]
            found.append(" … ".join(str(one.value) for one in parts if isinstance(one.value, str)))
    return found


def texts(notebook: dict[str, Any]) -> list[str]:
    """Return what a notebook says without computing it: its prose and its captions."""
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            found.append(prose(source_of(cell)))
        else:
            found += captions(source_of(cell))
            found.append(cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", ""))
    return found


def suspicious(path: Path) -> list[str]:
    """Return the sentences that hold a digit or a word of comparison, in their order."""
    sentences = [
        " ".join(part.split()) for text in texts(load(path)) for part in SENTENCE_END.split(text)
    ]
    return list(dict.fromkeys(one for one in sentences if SUSPICIOUS.search(one)))


def repeated_values(path: Path) -> list[str]:
    """Return the default values, of two digits or more, that a notebook's Markdown writes out."""
    notebook = load(path)
    written = " ".join(
        source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown"
    )
    written = re.sub(r"\{[a-z:-]+\}`[^`]*`|`[^`]*`", " ", written)
    found = re.findall(r"(?<![\w.])(?:\d{1,3}(?:[ ,]\d{3})+|\d+\.\d+|\d{2,})(?!\w)", written)
    numbers = {float(re.sub(r"[ ,]", "", one)) for one in found}
    values = {one for parameter in declared(notebook).values() for one in flat(parameter.default)}
    return [f"{one:g}" for one in sorted(numbers & values)]


def flat(value: Any) -> list[float]:
    """Return the numbers in a parameter's value."""
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in flat(item)]
    return [] if isinstance(value, (bool, str)) or value is None else [float(value)]


if __name__ == "__main__":
    FOLDER = Path(__file__).parents[2] / "notebooks"
    FOUND = {one: suspicious(FOLDER / f"{one}.ipynb") for one in sys.argv[1:]}
    yaml.safe_dump(FOUND, sys.stdout, allow_unicode=True, width=1000, sort_keys=False)
