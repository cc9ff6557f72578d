"""The claims that rest on a notebook, listed on its page: computed from the ledger of claims."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from dpbayes.press.shown import without_roles
from dpclaims.ledger import Claim, read_claims

LEDGER = "claims/claims"
PARTS = re.compile(r"(\$[^$]+\$|`[^`]+`)")


class ClaimLink(nodes.reference):
    """A link to a claim's place in the ledger; ``anchor`` is its name there."""


def related_claims(env: BuildEnvironment, name: str) -> list[nodes.section]:
    """Return the section that lists the claims whose evidence a notebook is; none without any."""
    ledger = Path(env.srcdir) / f"{LEDGER}.yml"
    if not ledger.is_file():
        return []
    env.note_dependency(str(ledger))
    claims = [
        claim
        for claim in read_claims(ledger)
        if any(evidence.notebook == name for evidence in claim.evidence)
    ]
    if not claims:
        return []
    section = nodes.section(ids=["claims-that-rest-on-this"], names=["claims that rest on this"])
    section += nodes.title("", "Claims that rest on this")
    section += nodes.bullet_list("", *map(item, claims))
    return [section]


def item(claim: Claim) -> nodes.list_item:
    """Return the line of a claim: where it is made, what it says, and the verdict."""
    line = nodes.paragraph()
    line += ClaimLink("", claim.source, anchor=claim.anchor, internal=True)
    line += nodes.Text(": ")
    line += inline(claim.claim)
    line += nodes.strong("", f" {claim.verdict.capitalize()}.")
    return nodes.list_item("", line)


def inline(text: str) -> list[nodes.Node]:
    """Return a claim's sentence with its formulas and code set.

    >>> [part.astext() for part in inline("With $n$ large, `lapMech` wins.")]
    ['With ', 'n', ' large, ', 'lapMech', ' wins.']
    """
    found: list[nodes.Node] = []
    for part in PARTS.split(" ".join(without_roles(text).split())):
        if part.startswith("$"):
            found.append(nodes.math(part, part[1:-1]))
        elif part.startswith("`"):
            found.append(nodes.literal(part, part[1:-1]))
        elif part:
            found.append(nodes.Text(part))
    return found


def find_claims(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give each link to a claim its address."""
    for link in list(doctree.findall(ClaimLink)):
        uri = app.builder.get_relative_uri(page, LEDGER)
        plain: Any = nodes.reference("", "", *link.children, internal=True)
        plain["refuri"] = f"{uri}#{link['anchor']}"
        link.replace_self(plain)
