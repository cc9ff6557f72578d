"""`dpbayes cite`: BibTeX for what was used, and nothing for a misspelt name."""

from __future__ import annotations

import re
from pathlib import Path

import dpbayes as dp
from dpbayes.cli import main
from dpbayes.mechanisms import REGISTRY
from dpbayes.tables import citations as cite

ROOT = Path(__file__).parents[2]


def test_every_mechanism_can_be_cited(capsys):
    assert set(REGISTRY) <= set(cite.methods())
    assert {key for keys in cite.methods().values() for key in keys} == set(cite.entries())
    assert main(["cite", "lattice", "geometric"]) == 0
    shown = capsys.readouterr().out
    assert re.findall(r"^@\w+\{([\w-]+),", shown, re.MULTILINE) == [
        "dpbayes",
        "ghosh-universally",
        "canonne-discrete",
    ]
    assert dp.__version__ in shown
    assert main(["cite", "lattuce"]) == 2
    assert "method must be one of" in capsys.readouterr().err


def test_shipped_references_are_those_of_the_book():
    book = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    for key, entry in cite.entries().items():
        assert entry in book, key
