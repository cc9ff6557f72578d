"""The claims of the documents and their verdicts: ``claims/claims.yml`` as cards and
tables.

``{claims} D`` shows a card for each claim of a document; ``{claims-summary}`` counts
verdicts; ``{document-claims} D`` lists a document in its order; ``{errata-list}`` names
all misprints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from pydantic import BaseModel, Field, ValidationError
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from dpbayes.record import read_json

BADGES = {
    "holds": "✓",
    "holds corrected": "≈",
    "false": "✗",
    "open": "?",
    "no verdict": "→",
}
DOCUMENTS = {
    "A": "extended abstract", "B": "first draft", "C": "notes", "D": "full paper",
    "E": "paper on queries",
}  # fmt: skip
NAMES = ("claims", "claims-summary", "document-claims", "errata-list")
BOARD, ERRATA = "claims/claims", "claims/errata.md"
ERRATUM = re.compile(
    r"^\((err-[a-z0-9-]+)\)=\n\*\*([^*]+)\*\* \(([^)]*)\)", re.MULTILINE
)
PLACE = re.compile(
    r"(?:sections?|(?:Lemma|Theorem|Definition|Algorithm)s?|Corollary) ([\d.]+)"
)
GREEK = {r"\epsilon": "ε", r"\delta": "δ", r"\gamma": "γ", r"\le": "≤", "$": ""}
CARD = """\
<details class="claim verdict-{kind} document-{letter}" id="claim-{name}">
<summary>
<span class="claim-verdict">{badge} {verdict}</span>
<span class="claim-name">{claim.id}</span>
<div class="claim-statement">

{claim.claim}

</div></summary>

{place}.

**Found.** {claim.finding}

Numbers: {numbers}. Test: `{claim.test}`.{misprints}

</details>
"""


class Claim(BaseModel, frozen=True, extra="forbid"):
    """One claim of a document, its verdict, and the recorded numbers that the verdict
    rests on.
    """

    id: str
    source: str
    claim: str
    verdict: str = Field(pattern=f"^({'|'.join(BADGES)})$")
    finding: str
    test: str
    evidence: list[Annotated[str, Field(pattern="^[^:]+::[^:]+$")]] = Field(
        min_length=1
    )
    errata: list[str] = []

    @property
    def notebooks(self) -> list[str]:
        """The notebooks whose numbers are evidence."""
        return list(dict.fromkeys(one.partition("::")[0] for one in self.evidence))


@lru_cache(maxsize=4)
def read_claims(text: str) -> tuple[Claim, ...]:
    """Return the claims of a file in its order, or raise ValueError that names the bad
    entry.
    """
    claims = []
    for entry in yaml.safe_load(text):
        try:
            claims.append(Claim(**entry))
        except ValidationError as error:
            raise ValueError(f"{entry.get('id')}: {error}") from error
    return tuple(claims)


def without_evidence(claims: Sequence[Claim], results: Path) -> list[str]:
    """Return what claims rest on and no notebook has recorded."""
    pieces = [
        (claim.id, one, *one.split("::")) for claim in claims for one in claim.evidence
    ]
    return [
        f"{name}: no notebook has recorded {one}"
        for name, one, notebook, key in pieces
        if key not in read_json(results / notebook / "numbers.json")
    ]


def errata(source: Path) -> dict[str, str]:
    """Return label and name of each misprint on the page of errata, such as ``Figure 3
    (D)``.
    """
    path, found = source / ERRATA, {}
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for label, name, place in ERRATUM.findall(text):
        for command, symbol in GREEK.items():
            name = name.replace(command, symbol)
        letters = re.findall(r"\b[A-E]\b", place)
        found[label] = f"{name} ({', '.join(letters)})"
    return found


def check(app: Sphinx) -> None:
    """Look up every number that the claims rest on, and every misprint; the notebooks
    have run.
    """
    source = Path(app.srcdir)
    path, known = source / f"{BOARD}.yml", errata(source)
    claims = read_claims(path.read_text(encoding="utf-8")) if path.is_file() else ()
    faults = without_evidence(claims, source / "results")
    faults += [
        f"{c.id}: no misprint {one}"
        for c in claims
        for one in c.errata
        if one not in known
    ]
    if faults:
        raise ExtensionError(
            "claims without evidence:\n" + "\n".join(faults), modname="claims"
        )


def order(claim: Claim) -> tuple[int, ...]:
    """Return the section of its own document that a claim names first; without one it
    is last.
    """
    own = [part for part in claim.source.split("; ") if part.startswith(claim.id[0])]
    found = PLACE.search((own or [claim.source])[0])
    return tuple(int(part) for part in found[1].split(".") if part) if found else (99,)


def card(claim: Claim, known: Mapping[str, str]) -> str:
    """Return a claim's card: verdict and statement; below, what was found and where."""
    place = re.sub(
        r"\b[A-E](?=,)", lambda o: f"the {DOCUMENTS[o[0]]} ({o[0]})", claim.source
    )
    numbers = "; ".join(f"{{doc}}`/results/{one}`" for one in claim.notebooks)
    named = ", ".join(f"{{ref}}`{known[one]} <{one}>`" for one in claim.errata)
    return CARD.format(
        claim=claim,
        badge=BADGES[claim.verdict],
        verdict=claim.verdict.capitalize(),
        kind=claim.verdict.replace(" ", "-"),
        name=claim.id.lower(),
        letter=claim.id[0].lower(),
        place=place[:1].upper() + place[1:],
        numbers=numbers,
        misprints=f" Misprint: {named}." if named else "",
    )


def table(*rows: list[str]) -> str:
    """Return a table of Markdown cells."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(claims: Sequence[Claim]) -> str:
    """Return how many claims of each document have each verdict."""
    rows = [["document", *(f"{badge} {one}" for one, badge in BADGES.items()), "all"]]
    for letter, name in {**DOCUMENTS, "": "all"}.items():
        own = [claim.verdict for claim in claims if claim.id.startswith(letter)]
        label = f"the {name} ({letter})" if letter else name
        rows.append([label, *(str(own.count(one)) for one in BADGES), str(len(own))])
    return table(*rows)


def document(claims: Sequence[Claim], known: Mapping[str, str], board: str) -> str:
    """Return the items of a document in its own order: verdict, notebooks,
    misprints."""
    rows = [["claim", "where", "what it says", "verdict", "results"]]
    for claim in sorted(claims, key=order):
        links = [
            f"{{doc}}`{one.rpartition('/')[2]} </results/{one}>`"
            for one in claim.notebooks
        ]
        links += [f"{{ref}}`{known[one]} <{one}>`" for one in claim.errata]
        name = f'<a href="{board}#claim-{claim.id.lower()}">{claim.id}</a>'
        sentence = " ".join(claim.claim.split()).replace("|", "\\|")
        verdict = f"{BADGES[claim.verdict]} {claim.verdict}"
        rows.append([name, claim.source, sentence, verdict, ", ".join(links)])
    return table(*rows)


class FromClaims(SphinxDirective):
    """Markdown that is made of the claims of a document, or of all."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return it parsed; the page is read again when claims or misprints change."""
        source = Path(self.env.srcdir)
        path, known, container = (
            source / f"{BOARD}.yml",
            errata(source),
            nodes.container(),
        )
        for one in (path, source / ERRATA):
            self.env.note_dependency(str(one))
        letter, claims = (
            (self.arguments or [""])[0],
            read_claims(path.read_text(encoding="utf-8")),
        )
        own = [one for one in claims if one.id.startswith(letter)]
        board = self.env.app.builder.get_relative_uri(self.env.docname, BOARD)
        text = {
            "claims": lambda: "\n".join(card(one, known) for one in own),
            "claims-summary": lambda: summary(own),
            "document-claims": lambda: document(own, known, board),
            "errata-list": lambda: " · ".join(
                f"{{ref}}`{known[one]} <{one}>`" for one in known
            ),
        }[self.name]()
        lines = StringList(text.splitlines(), "claims.yml")
        self.state.nested_parse(lines, self.content_offset, container)
        return list(container.children)
