"""The directives ``{claims}`` and ``{claims-summary}`` that make the page of claims."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from dpclaims.ledger import Claim, counted, read_claims

BADGES = {"holds": "✓", "holds corrected": "≈", "false": "✗", "open": "?", "wish": "→"}


def claims_file(source: Path) -> Path:
    """Return where the claims are kept, below the folder of the book's pages."""
    return source / "claims" / "claims.yml"


class ClaimsDirective(SphinxDirective):
    """What both directives share: the claims of the file, and text that becomes nodes."""

    def claims(self) -> list[Claim]:
        """Return the claims, and have the page read again when a number or the file changes."""
        path = claims_file(Path(self.env.srcdir))
        self.env.note_dependency(str(path))
        found = read_claims(path)
        for claim in found:
            for evidence in claim.evidence:
                numbers = Path(self.env.srcdir, "results", evidence.notebook, "numbers.json")
                self.env.note_dependency(str(numbers))
        return found

    def parsed(self, text: str) -> list[nodes.Node]:
        """Return Markdown text as nodes."""
        container = nodes.container()
        lines = text.splitlines()
        self.state.nested_parse(StringList(lines, "claims.yml"), self.content_offset, container)
        return list(container.children)


class Claims(ClaimsDirective):
    """The claims of one document, such as ``{claims} A``: verdict, finding, evidence and test."""

    required_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return one block for each claim whose name starts with the argument."""
        chosen = [c for c in self.claims() if c.id.startswith(self.arguments[0] + "-")]
        return [self.block(claim) for claim in chosen]

    def block(self, claim: Claim) -> nodes.container:
        """Return the block of one claim."""
        block = nodes.container(ids=[claim.anchor], classes=["claim"])
        verdict = f"{BADGES[claim.verdict]} {claim.verdict}"
        head = nodes.paragraph(classes=["claim-head"])
        head += nodes.strong("", f"{claim.id}: {verdict}")
        head += nodes.Text(f" ({claim.source})")
        block += head
        block += self.parsed(claim.claim)
        block += self.parsed("**Found.** " + claim.finding)
        block += self.parsed(self.sources(claim))
        return block

    def sources(self, claim: Claim) -> str:
        """Return the line that names notebooks, numbers and test."""
        notebooks = dict.fromkeys(evidence.notebook for evidence in claim.evidence)
        links = []
        for notebook in notebooks:
            keys = [e.key for e in claim.evidence if e.notebook == notebook]
            listed = ", ".join(f"`{key}`" for key in keys)
            links.append(f"{{doc}}`/results/{notebook}` ({listed})")
        words = claim.test.rpartition("::test_")[2].replace("_", " ")
        return f"Evidence: {'; '.join(links)}. Test: *{words}*."


class ClaimsSummary(ClaimsDirective):
    """How many claims have each verdict, with a link to each."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return one list item for each verdict."""
        claims = self.claims()
        listing = nodes.bullet_list()
        for verdict, number in counted(claims).items():
            line = nodes.paragraph()
            line += nodes.strong("", f"{BADGES[verdict]} {verdict}")
            line += nodes.Text(f" ({number}): ")
            for index, claim in enumerate(c for c in claims if c.verdict == verdict):
                line += nodes.Text(", " if index else "")
                line += nodes.reference("", claim.id, refid=claim.anchor, internal=True)
            listing += nodes.list_item("", line)
        return [listing]
