"""The directive ``{document-claims} D``: a document's claims in the order of its sections."""

from __future__ import annotations

import re

from docutils import nodes

from dpclaims.ledger import Claim
from dpclaims.page import BADGES, ClaimsDirective

PLACE = re.compile(
    r"section[s]? ([\d.]+)|(?:Lemma|Theorem|Definition|Corollary|Algorithm)s? ([\d.]+)"
)


def order(claim: Claim) -> tuple[int, ...]:
    """Return the section of its own document that a claim names first; what names none comes last.

    >>> from types import SimpleNamespace
    >>> order(SimpleNamespace(id="D-C34", source="A, section 5; D, section 7.2.2, Figure 5"))
    (7, 2, 2)
    """
    own = [part for part in claim.source.split("; ") if part.startswith(claim.id[0])]
    found = PLACE.search((own or [claim.source])[0])
    if found is None:
        return (99,)
    return tuple(int(part) for part in (found[1] or found[2]).split(".") if part)


class DocumentClaims(ClaimsDirective):
    """A table of a document's claims: place, claim with a link to its card, verdict, results."""

    required_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the table of the document whose letter is the argument."""
        letter = self.arguments[0]
        chosen = sorted((c for c in self.claims() if c.id.startswith(letter + "-")), key=order)
        head = ["claim", "where", "what it says", "verdict", "results"]
        lines = [head, ["---"] * 5, *(self.row(claim) for claim in chosen)]
        found = self.parsed("\n".join("| " + " | ".join(line) + " |" for line in lines))
        board = self.env.app.builder.get_relative_uri(self.env.docname, "claims/claims")
        anchors = {claim.id: claim.anchor for claim in chosen}
        for text in [t for node in found for t in node.findall(nodes.Text) if t in anchors]:
            link = nodes.reference("", "", text.copy(), refuri=f"{board}#{anchors[text]}")
            text.parent.replace(text, link)
        return found

    def row(self, claim: Claim) -> list[str]:
        """Return the cells of one claim."""
        pages = dict.fromkeys(evidence.notebook for evidence in claim.evidence)
        links = ", ".join(f"{{doc}}`/results/{notebook}`" for notebook in pages)
        words = claim.claim.replace("|", "\\|").replace("\n", " ")
        verdict = f"{BADGES[claim.verdict]} {claim.verdict}"
        return [claim.id, claim.source, words, verdict, links]
