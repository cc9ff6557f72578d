"""The claims of the documents and their verdicts: ``claims/claims.yml`` as cards and tables.

``{claims} D`` shows a card for each claim of a document, closed but for verdict and sentence;
``{claims-summary}`` counts verdicts; ``{document-claims} D`` lists a document in its order;
``{errata-list}`` names all misprints. The build stops where a claim has no evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
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
    "A": "extended abstract", "B": "first draft", "C": "notes", "D": "full paper",
    "E": "paper on queries",
}  # fmt: skip
BOARD, ERRATA = "claims/claims", "claims/errata.md"
ERRATUM = re.compile(r"^\((err-[a-z0-9-]+)\)=\n\*\*([^*]+)\*\* \(([^)]*)\)", re.MULTILINE)
PLACE = re.compile(r"(?:sections?|(?:Lemma|Theorem|Definition|Algorithm)s?|Corollary) ([\d.]+)")
GREEK = {r"\epsilon": "ε", r"\delta": "δ", r"\gamma": "γ", r"\le": "≤", "$": ""}
CARD = """<details class="claim verdict-{kind} document-{letter}" id="claim-{name}"><summary>
<span class="claim-verdict">{badge} {verdict}</span> <span class="claim-name">{claim.id}</span>
<div class="claim-statement">

{claim.claim}

</div></summary>

{claim.place}.

**Found.** {claim.finding}

Numbers: {numbers}. Test: `{claim.test}`.{misprints}

</details>
"""


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
        named = re.sub(r"\b[A-E](?=,)", lambda o: f"the {DOCUMENTS[o[0]]} ({o[0]})", self.source)
        return named[:1].upper() + named[1:]


@lru_cache(maxsize=4)
def read_claims(text: str) -> tuple[Claim, ...]:
    """Return the claims of a file in its order, or raise ValueError that names the bad entry."""
    claims = tuple(map(_claim, yaml.safe_load(text)))
    names = [one.id for one in claims]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{twice[0]} is listed twice")
    return claims


def _claim(entry: Mapping[str, Any]) -> Claim:
    missing = [field for field in FIELDS if not entry.get(field)]
    unknown = [field for field in entry if field not in (*FIELDS, "errata")]
    name = entry.get("id", "a claim without id")
    if missing or unknown:
        raise ValueError(f"{name}: missing fields {missing}, unknown fields {unknown}")
    if entry["verdict"] not in BADGES:
        raise ValueError(f"{name}: verdict must be one of {', '.join(BADGES)}")
    if any(one.count("::") != 1 for one in entry["evidence"]):
        raise ValueError(f"{name}: write evidence as a list of notebook::number")
    lists = {field: tuple(entry.get(field, ())) for field in ("evidence", "errata")}
    return Claim(**{**entry, **lists})


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
    path, found = source / ERRATA, {}
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for label, name, place in ERRATUM.findall(text):
        for command, symbol in GREEK.items():
            name = name.replace(command, symbol)
        letters = ", ".join(re.findall(r"\b[A-E]\b", place))
        found[label] = f"{name} ({letters})"
    return found


def check(app: Sphinx) -> None:
    """Look up every number that the claims rest on, and every misprint; the notebooks have run."""
    source = Path(app.srcdir)
    path, known = source / f"{BOARD}.yml", errata(source)
    try:
        claims = read_claims(path.read_text(encoding="utf-8")) if path.is_file() else ()
    except ValueError as error:
        raise ExtensionError(str(error), modname="claims") from error
    faults = without_evidence(claims, source / "results")
    faults += [f"{c.id}: no misprint {one}" for c in claims for one in c.errata if one not in known]
    if faults:
        message = "claims without evidence:\n" + "\n".join(faults)
        raise ExtensionError(message, modname="claims")


def order(claim: Claim) -> tuple[int, ...]:
    """Return the section of its own document that a claim names first; without one it is last."""
    own = [part for part in claim.source.split("; ") if part.startswith(claim.id[0])]
    found = PLACE.search((own or [claim.source])[0])
    return tuple(int(part) for part in found[1].split(".") if part) if found else (99,)


def misprints(claim: Claim, known: Mapping[str, str]) -> list[str]:
    """Return the links to the misprints that matter for a claim."""
    return [f"{{ref}}`{known[one]} <{one}>`" for one in claim.errata]


def cards(claims: Sequence[Claim], known: Mapping[str, str], board: str) -> str:
    """Return a card for each claim: verdict and statement; below, what was found and where."""
    texts = []
    for claim in claims:
        named = ", ".join(misprints(claim, known))
        texts.append(CARD.format(
            claim=claim, badge=BADGES[claim.verdict], verdict=claim.verdict.capitalize(),
            kind=claim.verdict.replace(" ", "-"), name=claim.id.lower(), letter=claim.id[0].lower(),
            numbers="; ".join(f"{{doc}}`/results/{one}`" for one in claim.notebooks),
            misprints=f" Misprint: {named}." if named else "",
        ))  # fmt: skip
    return "\n".join(texts)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown cells."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(claims: Sequence[Claim], known: Mapping[str, str], board: str) -> str:
    """Return how many claims of each document have each verdict."""
    rows = []
    for letter, name in {**DOCUMENTS, "": "all"}.items():
        own = [claim.verdict for claim in claims if claim.id.startswith(letter)]
        label = f"the {name} ({letter})" if letter else name
        rows.append([label, *(str(own.count(one)) for one in BADGES), str(len(own))])
    return table(["document", *(f"{v} {k}" for k, v in BADGES.items()), "all"], rows)


def document(claims: Sequence[Claim], known: Mapping[str, str], board: str) -> str:
    """Return the items of a document in its own order: verdict, notebooks, misprints."""
    rows = []
    for claim in sorted(claims, key=order):
        pages = [f"{{doc}}`{one.rpartition('/')[2]} </results/{one}>`" for one in claim.notebooks]
        name = f'<a href="{board}#claim-{claim.id.lower()}">{claim.id}</a>'
        sentence = " ".join(claim.claim.split()).replace("|", "\\|")
        verdict = f"{BADGES[claim.verdict]} {claim.verdict}"
        links = ", ".join([*pages, *misprints(claim, known)])
        rows.append([name, claim.source, sentence, verdict, links])
    return table(["claim", "where", "what it says", "verdict", "results"], rows)


def listed(claims: Sequence[Claim], known: Mapping[str, str], board: str) -> str:
    """Return the misprints by name, each a link to its entry."""
    return " · ".join(f"{{ref}}`{name} <{label}>`" for label, name in known.items())


TEXTS: dict[str, Callable[[Sequence[Claim], Mapping[str, str], str], str]] = {
    "claims": cards, "claims-summary": summary, "document-claims": document, "errata-list": listed,
}  # fmt: skip


class FromClaims(SphinxDirective):
    """Markdown that is made of the claims of a document, or of all."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return it parsed; the page is read again when claims or misprints change."""
        source = Path(self.env.srcdir)
        path = source / f"{BOARD}.yml"
        for one in (path, source / ERRATA):
            self.env.note_dependency(str(one))
        letter = f"{self.arguments[0]}-" if self.arguments else ""
        claims = read_claims(path.read_text(encoding="utf-8"))
        own = [one for one in claims if one.id.startswith(letter)]
        board = self.env.app.builder.get_relative_uri(self.env.docname, BOARD)
        text, container = TEXTS[self.name](own, errata(source), board), nodes.container()
        lines = StringList(text.splitlines(), "claims.yml")
        self.state.nested_parse(lines, self.content_offset, container)
        return list(container.children)


def setup(app: Sphinx) -> None:
    """Connect the board."""
    app.connect("builder-inited", check)
    for name in TEXTS:
        app.add_directive(name, FromClaims)
