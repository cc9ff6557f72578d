"""The directives of the verdict board: ``{claims}``, ``{claims-summary}`` and ``{errata-list}``."""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from dpbook.figures import recorded
from dpclaims.ledger import DOCUMENTS, VERDICTS, Claim, read_claims
from dpguide.glossary import formula

BADGES = {"holds": "✓", "holds corrected": "≈", "false": "✗", "open": "?", "no verdict": "→"}
ERRATUM = re.compile(r"^\((err-[a-z0-9-]+)\)=\n\*\*([^*]+)\*\* \(([^)]*)\)", re.MULTILINE)


def claims_file(source: Path) -> Path:
    """Return where the claims are kept, below the folder of the book's pages."""
    return source / "claims" / "claims.yml"


def slug(verdict: str) -> str:
    """Return a verdict as a part of a class name."""
    return verdict.replace(" ", "-")


def errata(source: Path) -> dict[str, str]:
    """Return label and name of each misprint on the page of errata, such as ``Figure 3 (D)``."""
    text = (source / "claims" / "errata.md").read_text(encoding="utf-8")
    found = {}
    for label, name, place in ERRATUM.findall(text):
        letters = ", ".join(re.findall(r"\b[A-E]\b", place))
        plain = formula(name).replace("$", "").replace("<", "below")
        found[label] = f"{plain} ({letters})"
    return found


class ClaimsDirective(SphinxDirective):
    """What the directives share: the claims of the file, and text that becomes nodes."""

    @property
    def source(self) -> Path:
        """Return the folder of the book's pages."""
        return Path(self.env.srcdir)

    def claims(self) -> list[Claim]:
        """Return the claims, and have the page read again when a number or the file changes."""
        path = claims_file(self.source)
        self.env.note_dependency(str(path))
        found = read_claims(path)
        for claim in found:
            for evidence in claim.evidence:
                numbers = self.source / "results" / evidence.notebook / "numbers.json"
                self.env.note_dependency(str(numbers))
        return found

    def parsed(self, text: str) -> list[nodes.Node]:
        """Return Markdown text as nodes."""
        container = nodes.container()
        lines = text.splitlines()
        self.state.nested_parse(StringList(lines, "claims.yml"), self.content_offset, container)
        return list(container.children)


class Claims(ClaimsDirective):
    """The claims of one document, such as ``{claims} A``, a card for each."""

    required_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return one card for each claim whose name starts with the argument."""
        chosen = [c for c in self.claims() if c.id.startswith(self.arguments[0] + "-")]
        return [self.card(claim) for claim in chosen]

    def card(self, claim: Claim) -> nodes.container:
        """Return a card: verdict and statement, picture, what was found, where to check it."""
        classes = ["claim", f"verdict-{slug(claim.verdict)}", f"document-{claim.id[0].lower()}"]
        card = nodes.container(ids=[claim.anchor], classes=classes)
        head = nodes.paragraph(classes=["claim-head"])
        words = f"{BADGES[claim.verdict]} {claim.verdict.capitalize()}"
        head += nodes.inline("", words, classes=["claim-verdict"])
        head += nodes.Text(f" {claim.place} ")
        card += head
        card += self.thumbnail(claim)
        statement = nodes.container(classes=["claim-statement"])
        statement += self.parsed(claim.claim)
        card += statement
        card += self.parsed("**Found.** " + claim.finding)
        card += self.parsed(self.sources(claim))
        return card

    def thumbnail(self, claim: Claim) -> list[nodes.Node]:
        """Return the figure behind a claim, small, as a link to its page; nothing without one."""
        for notebook in dict.fromkeys(evidence.notebook for evidence in claim.evidence):
            pictures = sorted((self.source / "results" / notebook).glob("*.png"))
            if pictures:
                return [self.picture(notebook, pictures[0].stem)]
        return []

    def picture(self, notebook: str, stem: str) -> nodes.paragraph:
        """Return a recorded figure in a link."""
        page = self.source / "results" / f"{notebook}.ipynb"
        alt = recorded(page, stem)[1].partition(". ")[0] or notebook
        uri = self.env.app.builder.get_relative_uri(self.env.docname, f"results/{notebook}")
        image = nodes.image(uri=f"/results/{notebook}/{stem}.png", alt=alt, loading="lazy")
        return nodes.paragraph(
            "", "", nodes.reference("", "", image, refuri=uri), classes=["claim-picture"]
        )

    def sources(self, claim: Claim) -> str:
        """Return the line of links: pages with the numbers, the test, misprints that matter."""
        pages = dict.fromkeys(evidence.notebook for evidence in claim.evidence)
        links = "; ".join(f"{{doc}}`/results/{notebook}`" for notebook in pages)
        line = f"Numbers: {links}. Test: `{claim.test}`."
        known = errata(self.source)
        named = ", ".join(f"{{ref}}`{known[label]} <{label}>`" for label in claim.errata)
        return line + (f" Misprint: {named}." if named else "")


class ClaimsSummary(ClaimsDirective):
    """How many claims of each document have each verdict."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return a table of numbers, a row for each document."""
        claims = self.claims()
        head = ["document", *(f"{BADGES[verdict]} {verdict}" for verdict in VERDICTS), "all"]
        rows = [self.row(claims, letter) for letter in DOCUMENTS]
        lines = [head, ["---"] * len(head), *rows, self.row(claims, "")]
        return self.parsed("\n".join("| " + " | ".join(line) + " |" for line in lines))

    def row(self, claims: list[Claim], letter: str) -> list[str]:
        """Return the counts of one document, or of all of them."""
        own = [claim for claim in claims if claim.id.startswith(letter)]
        counts = [str(sum(c.verdict == verdict for c in own)) for verdict in VERDICTS]
        name = f"the {DOCUMENTS[letter]} ({letter})" if letter else "all"
        return [name, *counts, str(len(own))]


class ErrataList(ClaimsDirective):
    """The misprints by name, each a link to its entry."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return one paragraph of links."""
        self.env.note_dependency(str(self.source / "claims" / "errata.md"))
        named = (f"{{ref}}`{name} <{label}>`" for label, name in errata(self.source).items())
        return self.parsed(" · ".join(named))
