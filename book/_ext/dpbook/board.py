"""The claims of the documents and their verdicts: ``claims/claims.yml`` as cards and tables.

``{claims} D`` shows a card for each claim of a document, closed but for verdict and sentence;
``{claims-summary}`` counts verdicts; ``{document-claims} D`` lists a document in its order;
``{errata-list}`` names all misprints. The build stops where a claim has no evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

BADGES = {"holds": "✓", "holds corrected": "≈", "false": "✗", "open": "?", "no verdict": "→"}
FIELDS = ("id", "source", "claim", "verdict", "finding", "evidence", "test")
DOCUMENTS = {
    "A": "extended abstract",
    "B": "first draft",
    "C": "notes",
    "D": "full paper",
    "E": "paper on queries",
}
BOARD = "claims/claims"
LETTER = re.compile(r"\b[A-E](?=,)")
ERRATUM = re.compile(r"^\((err-[a-z0-9-]+)\)=\n\*\*([^*]+)\*\* \(([^)]*)\)", re.MULTILINE)
PLACE = re.compile(
    r"(?:sections?|Lemmas?|Theorems?|Definitions?|Corollary|Corollaries|Algorithms?) ([\d.]+)"
)
GREEK = {r"\epsilon": "ε", r"\delta": "δ", r"\gamma": "γ", r"\le": "≤", "$": ""}


class ClaimsError(ExtensionError):
    """The build stops: the file of claims is broken or a claim has no evidence."""

    category = "Claims error"


@dataclass(frozen=True)
class Claim:
    """One claim of a document, its verdict, and the recorded numbers that the verdict rests on."""

    id: str
    source: str
    claim: str
    verdict: str
    finding: str
    test: str
    evidence: tuple[str, ...]
    errata: tuple[str, ...] = ()

    @property
    def notebooks(self) -> list[str]:
        """Return the notebooks whose numbers are evidence."""
        return list(dict.fromkeys(one.partition("::")[0] for one in self.evidence))

    @property
    def place(self) -> str:
        """Return where the claim is made, with the document's name: ``The full paper (D), …``."""
        named = LETTER.sub(lambda found: f"the {DOCUMENTS[found[0]]} ({found[0]})", self.source)
        return named[:1].upper() + named[1:]


def read_claims(path: Path) -> tuple[Claim, ...]:
    """Return the claims of a file in its order, or raise ValueError that names the bad entry."""
    return _claims(path.read_text(encoding="utf-8"), path.name)


@lru_cache(maxsize=4)
def _claims(text: str, file: str) -> tuple[Claim, ...]:
    content = yaml.safe_load(text)
    if not isinstance(content, list):
        raise ValueError(f"{file} must hold a list of claims")
    claims = tuple(map(_claim, content))
    names = [one.id for one in claims]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is listed twice")
    return claims


def _claim(entry: Any) -> Claim:
    if not isinstance(entry, Mapping):
        raise ValueError(f"a claim must have the fields {', '.join(FIELDS)}, got {entry!r}")
    name = entry.get("id", "a claim without id")
    missing = [field for field in FIELDS if not entry.get(field)]
    unknown = [field for field in entry if field not in (*FIELDS, "errata")]
    if missing or unknown:
        raise ValueError(f"{name}: missing fields {missing}, unknown fields {unknown}")
    if entry["verdict"] not in BADGES:
        raise ValueError(f"{name}: verdict must be one of {', '.join(BADGES)}")
    lists = {key: tuple(map(str, entry.get(key, ()))) for key in ("evidence", "errata")}
    if any(not re.fullmatch(r"[^:]+::[^:]+", one) for one in lists["evidence"]):
        raise ValueError(f"{name}: write evidence as a list of notebook::number")
    plain: dict[str, Any] = {field: str(entry[field]) for field in FIELDS}
    return Claim(**{**plain, **lists})


def without_evidence(claims: Sequence[Claim], results: Path) -> list[str]:
    """Return what claims rest on and no notebook has recorded."""
    faults = []
    for claim in claims:
        for notebook, _, key in (one.partition("::") for one in claim.evidence):
            file = results / notebook / "numbers.json"
            if not file.is_file():
                faults.append(f"{claim.id}: no notebook {notebook!r} has recorded numbers")
            elif key not in json.loads(file.read_text(encoding="utf-8")):
                faults.append(f"{claim.id}: {notebook} records no number {key!r}")
    return faults


def errata(source: Path) -> dict[str, str]:
    """Return label and name of each misprint on the page of errata, such as ``Figure 3 (D)``."""
    path = source / "claims" / "errata.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = {}
    for label, name, place in ERRATUM.findall(text):
        for command, symbol in GREEK.items():
            name = name.replace(command, symbol)
        found[label] = f"{name} ({', '.join(re.findall(r'[A-E]', place))})"
    return found


def check(app: Sphinx) -> None:
    """Look up every number that the claims rest on, and every misprint; the notebooks have run."""
    source = Path(app.srcdir)
    path = source / f"{BOARD}.yml"
    if not path.is_file():
        return
    try:
        claims = read_claims(path)
    except ValueError as error:
        raise ClaimsError(str(error)) from error
    known = errata(source)
    faults = without_evidence(claims, source / "results")
    faults += [f"{c.id}: no misprint {one}" for c in claims for one in c.errata if one not in known]
    if faults:
        raise ClaimsError("claims without evidence:\n" + "\n".join(faults))


class Fold(nodes.container):
    """A block that is closed at first, ``details`` in HTML."""


class Summary(nodes.container):
    """The line that opens a fold."""


def between(tag: str) -> tuple[Any, Any]:
    """Return what writes a node between the tags of an HTML element."""

    def visit(writer: Any, node: nodes.Element) -> None:
        writer.body.append(writer.starttag(node, tag))

    def depart(writer: Any, node: nodes.Element) -> None:
        writer.body.append(f"</{tag}>\n")

    return visit, depart


class ClaimsDirective(SphinxDirective):
    """What the directives share: the claims of the file, and text that becomes nodes."""

    has_content = False

    def claims(self, letter: str = "") -> list[Claim]:
        """Return the claims of a document, or all; the page is read again when a number changes."""
        source = Path(self.env.srcdir)
        path = source / f"{BOARD}.yml"
        for one in (path, source / "claims" / "errata.md"):
            self.env.note_dependency(str(one))
        return [one for one in read_claims(path) if one.id.startswith(letter)]

    def parsed(self, text: str) -> list[nodes.Node]:
        """Return Markdown text as nodes."""
        container = nodes.container()
        lines = StringList(text.splitlines(), "claims.yml")
        self.state.nested_parse(lines, self.content_offset, container)
        return list(container.children)

    def table(self, head: list[str], rows: list[list[str]]) -> list[nodes.Node]:
        """Return a table of Markdown cells."""
        lines = [head, ["---"] * len(head), *rows]
        return self.parsed("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def misprints(self, claim: Claim) -> str:
        """Return the links to the misprints that matter for a claim."""
        known = errata(Path(self.env.srcdir))
        return ", ".join(f"{{ref}}`{known[one]} <{one}>`" for one in claim.errata)


class Claims(ClaimsDirective):
    """The claims of one document, a card for each."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the cards."""
        return [self.card(claim) for claim in self.claims(f"{self.arguments[0]}-")]

    def card(self, claim: Claim) -> nodes.Element:
        """Return a card: verdict and statement; below, what was found and where to check it."""
        kinds = [
            "claim",
            f"verdict-{claim.verdict.replace(' ', '-')}",
            f"document-{claim.id[0].lower()}",
        ]
        words = f"{BADGES[claim.verdict]} {claim.verdict.capitalize()}"
        line = Summary()
        line += nodes.inline("", words, classes=["claim-verdict"])
        line += nodes.inline("", f" {claim.id} ", classes=["claim-name"])
        line += nodes.container("", *self.parsed(claim.claim), classes=["claim-statement"])
        pages = "; ".join(f"{{doc}}`/results/{one}`" for one in claim.notebooks)
        named = self.misprints(claim)
        end = f"Numbers: {pages}. Test: `{claim.test}`." + (f" Misprint: {named}." if named else "")
        below = [f"{claim.place}.", "", f"**Found.** {claim.finding}", "", end]
        return Fold("", line, *self.parsed("\n".join(below)), classes=kinds,
                    ids=[f"claim-{claim.id.lower()}"])  # fmt: skip


class Summaries(ClaimsDirective):
    """How many claims of each document have each verdict."""

    def run(self) -> list[nodes.Node]:
        """Return a table of numbers, a row for each document."""
        rows = []
        for letter, name in {**DOCUMENTS, "": "all"}.items():
            own = [claim.verdict for claim in self.claims(letter)]
            label = f"the {name} ({letter})" if letter else name
            rows.append([label, *(str(own.count(one)) for one in BADGES), str(len(own))])
        return self.table(["document", *(f"{v} {k}" for k, v in BADGES.items()), "all"], rows)


def order(claim: Claim) -> tuple[int, ...]:
    """Return the section of its own document that a claim names first; without one it is last."""
    own = [part for part in claim.source.split("; ") if part.startswith(claim.id[0])]
    found = PLACE.search((own or [claim.source])[0])
    return tuple(int(part) for part in found[1].split(".") if part) if found else (99,)


class Document(ClaimsDirective):
    """The items of one document in its own order: verdict, notebooks, misprints."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a table, a row for each claim."""
        claims = sorted(self.claims(f"{self.arguments[0]}-"), key=order)
        rows = []
        for claim in claims:
            pages = [
                f"{{doc}}`{one.rpartition('/')[2]} </results/{one}>`" for one in claim.notebooks
            ]
            sentence = " ".join(claim.claim.split()).replace("|", "\\|")
            verdict = f"{BADGES[claim.verdict]} {claim.verdict}"
            links = ", ".join(filter(None, [*pages, self.misprints(claim)]))
            rows.append([claim.id, claim.source, sentence, verdict, links])
        found = self.table(["claim", "where", "what it says", "verdict", "results"], rows)
        board = self.env.app.builder.get_relative_uri(self.env.docname, BOARD)
        names = {claim.id for claim in claims}
        for text in [t for node in found for t in node.findall(nodes.Text) if t in names]:
            uri = f"{board}#claim-{text.lower()}"
            text.parent.replace(text, nodes.reference("", "", text.copy(), refuri=uri))
        return found


class ErrataList(ClaimsDirective):
    """The misprints by name, each a link to its entry."""

    def run(self) -> list[nodes.Node]:
        """Return one paragraph of links."""
        known = errata(Path(self.env.srcdir)).items()
        return self.parsed(" · ".join(f"{{ref}}`{name} <{label}>`" for label, name in known))


def setup(app: Sphinx) -> None:
    """Connect the board."""
    app.connect("builder-inited", check)
    app.add_node(Fold, html=between("details"))
    app.add_node(Summary, html=between("summary"))
    for name, one in {"claims": Claims, "claims-summary": Summaries, "document-claims": Document,
                      "errata-list": ErrataList}.items():  # fmt: skip
        app.add_directive(name, one)
