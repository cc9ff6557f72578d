"""The directive ``{claim-tests}``: the source of the test behind each verdict."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from docutils import nodes

from dpclaims.ledger import DOCUMENTS, Claim
from dpclaims.page import ClaimsDirective


@cache
def functions(path: Path) -> dict[str, str]:
    """Return the source of every function of a file of tests."""
    text = path.read_text(encoding="utf-8")
    return {
        node.name: ast.get_source_segment(text, node) or ""
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


class ClaimTests(ClaimsDirective):
    """Every claim's test, in the order of the claims."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return a section for each document, with a folded test for each of its claims."""
        sections: list[nodes.Node] = []
        for letter, name in DOCUMENTS.items():
            title = f"The {name} ({letter})"
            section = nodes.section(ids=[f"tests-of-{letter.lower()}"], names=[title.lower()])
            section += nodes.title("", title)
            for claim in self.claims():
                if claim.id.startswith(letter):
                    section += self.test(claim)
            sections.append(section)
        return sections

    def test(self, claim: Claim) -> list[nodes.Node]:
        """Return statement, command and source of one test, under a label of its own."""
        file, _, name = claim.test.partition("::")
        path = self.source.parent / file
        self.env.note_dependency(str(path))
        label = f"test-{claim.id.lower()}"
        statement = nodes.paragraph(ids=[label], classes=["claim-tested"])
        statement += nodes.Text(" ".join(claim.claim.split()).replace("`", ""))
        command = nodes.literal_block(text := f"python -m pytest {file} -k {name}", text)
        command["language"] = "console"
        source = functions(path)[name]
        block = nodes.literal_block(source, source, language="python")
        domain = self.env.get_domain("std")
        domain.data["anonlabels"][label] = self.env.docname, label
        domain.data["labels"][label] = self.env.docname, label, "the test"
        return [statement, command, block]
