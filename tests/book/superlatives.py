"""The sentences that compare with everything: a superlative, and what it is said of.

A sentence is one of them if it says best, never, no other, at every prior or the like, and also
speaks of what mechanisms are compared by: an error, a loss, a promise, a bound. Questions and
definitions of terms are not. Each is kept in `superlatives.yml`, below what holds it::

    python -m tests.book.superlatives        # prints those that are not there yet
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from dpbayes.press.parameters import load, source_of
from tests.book.test_contents import pages
from tests.notebooks.test_sources import NOTEBOOKS
from tests.notebooks.words import SENTENCE_END, prose

ROOT = Path(__file__).parents[2]
SUPERLATIVE = re.compile(
    r"\b(?:best|optimal|unbeaten|beats?|beaten|never|always"
    r"|no (?:(?:other|better|\S*private) )?(?:mechanism|rival|weights)|no private noise"
    r"|any (?:\S+-DP |\S*private )mechanism|for every (?:\S+ )?mechanism"
    r"|every (?:\S+-DP|\S*private) (?:mechanism|noise)"
    r"|(?:no|none) (?:\w+ ){0,3}(?:smaller|larger|better|nearer|closer|wider|narrower|worse)"
    r"|none (?:of them |of these )?(?:is|has|overtakes)"
    r"|(?:least|smallest|lowest) (?:mean|error|worst case|variance|loss)"
    r"|largest (?:mean )?errors? of (?:the )?(?:four|five|six|seven|all|any)"
    r"|(?:at|for|under) every (?:number of \w+|ε|prior|size|budget)"
    r"|(?:low|high|near|close|few|fast|short|long|strong|weak|narrow|wide|small|cheap)est"
    r"|cheaper|faster|wins?|better than|at worst)\b",
    re.IGNORECASE,
)
MEASURED = re.compile(
    r"\b(?:errors?|means?|loss(?:es)?|private|privacy|promised?s?|mechanisms?|noise|optim\w+|bounds?"
    r"|distances?|sensitivit(?:y|ies)|variance|ε|epsilon|remap\w*|ahead|behind|spends?|rivals?)\b",
    re.IGNORECASE,
)
OF_ALL = re.compile(
    r"\b(?:(?:no|any|every) (?:[\w-]+ ){0,3}mechanism|optimal|optimum|least (?:mean|loss|worst))\b"
)
NAMES = re.compile(r"best (?:linear )?(?:unbiased )?(?:linear )?estimate", re.IGNORECASE)
PARTS = ("*.py", "auditing/*.py", "mechanisms/*.py", "queries/*.py", "releasing/*.py", "study/*.py")
CLAIMS = "claims/claims.yml"  # what is found of each claim; the claims are the documents' own
OUTCOMES = ("true", "false", "undecided")
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(.*)")


def without_code(text: str) -> str:
    """Return a Markdown text without its blocks of code; directives, which are fenced too, stay."""
    kept: list[str] = []
    opened: list[tuple[str, bool]] = []  # the fences around a line, and whether they hold code
    for line in text.splitlines():
        fence = FENCE.fullmatch(line)
        inside_code = bool(opened) and opened[-1][1]
        if not fence:
            kept += [] if inside_code else [line]
        elif opened and not fence[2] and fence[1].startswith(opened[-1][0]):
            opened.pop()
            kept.append("")
        elif not inside_code:
            opened.append((fence[1], not fence[2].startswith("{")))
            kept.append("")
    return "\n".join(kept)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text that compare with everything."""
    for part in SENTENCE_END.split(prose(without_code(text))):
        one = " ".join(part.split())
        title = one.startswith("#") or one.rstrip("*)").endswith("?")
        if SUPERLATIVE.search(NAMES.sub("", one)) and MEASURED.search(one) and not title:
            yield one


def of_a_notebook(path: Path) -> Iterator[str]:
    """Yield the texts of a notebook: its prose, and its findings that speak of all mechanisms.

    What else a finding says, it says of the cases that its condition has just compared.
    """
    for cell in load(path)["cells"]:
        source = source_of(cell)
        if cell["cell_type"] == "markdown":
            yield source
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "record.finding":
                said = [one.value for one in node.keywords if one.arg in OUTCOMES]
                yield from (text for text in map(text_of, said) if OF_ALL.search(text))


def text_of(node: ast.expr) -> str:
    """Return the fixed text of an expression, with what is filled in as it is written."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(one) for one in node.values)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.IfExp):  # both ways in which it can come out
        return f"{text_of(node.body)} {text_of(node.orelse)}"
    return " " if isinstance(node, ast.FormattedValue) else ""


def of_a_module(path: Path) -> Iterator[str]:
    """Yield the docstrings of a module's public names, up to their examples."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and not getattr(node, "name", "").startswith("_"):
            yield (ast.get_docstring(node) or "").partition(">>>")[0]


def claims() -> list[dict[str, str]]:
    """Return the claims of the documents, each with what was found of it."""
    return list(yaml.safe_load((ROOT / "book" / CLAIMS).read_text(encoding="utf-8")))


def places() -> Iterator[tuple[str, str]]:
    """Yield each place that says something, by its short name, and what it says."""
    yield "README", (ROOT / "README.md").read_text(encoding="utf-8")
    for name, path in pages().items():
        yield name, path.read_text(encoding="utf-8")
    yield from ((CLAIMS, entry["finding"]) for entry in claims())
    for name, path in NOTEBOOKS.items():
        yield from ((f"notebook {name}", text) for text in of_a_notebook(path))
    for path in sorted(one for part in PARTS for one in (ROOT / "dpbayes").glob(part)):
        module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        yield from ((module, text) for text in of_a_module(path))


@cache
def found() -> list[tuple[str, str]]:
    """Return place and sentence of every comparison with everything, each once."""
    every = [(place, one) for place, text in places() for one in sentences(text)]
    return list(dict.fromkeys(every))


def listed() -> dict[str, list[dict[str, str]]]:
    """Return what holds sentences, each with the places and the quotes that it holds."""
    text = Path(__file__).with_name("superlatives.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def unlisted(known: dict[str, list[dict[str, str]]]) -> list[tuple[str, str]]:
    """Return the comparisons of which no quote is listed."""
    quotes: dict[str, list[str]] = {}
    for entries in known.values():
        for entry in entries:
            for place, quote in entry.items():
                quotes.setdefault(place, []).append(quote)
    return [
        (place, one)
        for place, one in found()
        if not any(quote in one for quote in quotes.get(place, []))
    ]


if __name__ == "__main__":
    for place, one in unlisted(listed()):
        print(f"{place}: {one}")
