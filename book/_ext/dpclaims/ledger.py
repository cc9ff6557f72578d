"""The ledger of claims: read from its file, checked against what the notebooks recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

VERDICTS = ("holds", "holds corrected", "false", "open", "no verdict")
FIELDS = ("id", "source", "claim", "verdict", "finding", "evidence", "test")
OPTIONAL = ("errata",)
DOCUMENTS = {
    "A": "extended abstract",
    "B": "first draft",
    "C": "notes",
    "D": "full paper",
    "E": "paper on queries",
}
LETTER = re.compile(r"\b[A-E](?=,)")


@dataclass(frozen=True)
class Evidence:
    """One recorded number: the notebook's name below ``notebooks/`` and the number's name."""

    notebook: str
    key: str

    def value(self, results: Path) -> float:
        """Return the recorded number, or raise ValueError when it is not there."""
        file = results / self.notebook / "numbers.json"
        if not file.is_file():
            raise ValueError(f"no notebook {self.notebook!r} has recorded numbers")
        numbers = json.loads(file.read_text(encoding="utf-8"))
        if self.key not in numbers:
            raise ValueError(f"{self.notebook} records no number {self.key!r}")
        return float(numbers[self.key])


@dataclass(frozen=True)
class Claim:
    """One claim of a document, its verdict, and where the verdict comes from."""

    id: str
    source: str
    claim: str
    verdict: str
    finding: str
    evidence: tuple[Evidence, ...]
    test: str
    errata: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            allowed = ", ".join(VERDICTS)
            raise ValueError(f"{self.id}: verdict must be one of {allowed}, got {self.verdict!r}")
        if not self.evidence:
            raise ValueError(f"{self.id} has no evidence")

    @property
    def anchor(self) -> str:
        """Return the claim's name in links."""
        return f"claim-{self.id.lower()}"

    @property
    def place(self) -> str:
        """Return where the claim is made, with the document's name: ``The full paper (D), ...``."""
        named = LETTER.sub(lambda found: f"the {DOCUMENTS[found[0]]} ({found[0]})", self.source)
        return named[:1].upper() + named[1:]


def read_claims(path: Path) -> list[Claim]:
    """Return the claims of a file in its order, or raise ValueError that names the bad entry."""
    return list(_claims(path.read_text(encoding="utf-8"), path.name))


@lru_cache(maxsize=4)  # every result page asks which claims it bears on
def _claims(text: str, file: str) -> tuple[Claim, ...]:
    content = yaml.safe_load(text)
    if not isinstance(content, list):
        raise ValueError(f"{file} must hold a list of claims")
    claims = tuple(_claim(entry) for entry in content)
    names = [claim.id for claim in claims]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is listed twice")
    return claims


def _claim(entry: Any) -> Claim:
    if not isinstance(entry, Mapping):
        raise ValueError(f"a claim must have the fields {', '.join(FIELDS)}, got {entry!r}")
    name = entry.get("id", "a claim without id")
    missing = [field for field in FIELDS if not entry.get(field)]
    unknown = [field for field in entry if field not in (*FIELDS, *OPTIONAL)]
    if missing or unknown:
        raise ValueError(f"{name}: missing fields {missing}, unknown fields {unknown}")
    plain = {field: str(entry[field]) for field in FIELDS if field != "evidence"}
    errata = tuple(str(label) for label in entry.get("errata", []))
    return Claim(evidence=_evidence(name, entry["evidence"]), errata=errata, **plain)


def _evidence(name: str, quotes: Any) -> tuple[Evidence, ...]:
    if not isinstance(quotes, Sequence) or isinstance(quotes, str):
        raise ValueError(f"{name}: evidence must be a list of notebook::number, got {quotes!r}")
    parts = [str(quote).partition("::") for quote in quotes]
    for notebook, _, key in parts:
        if not notebook or not key:
            raise ValueError(f"{name}: write evidence as notebook::number, got {notebook!r}")
    return tuple(Evidence(notebook, key) for notebook, _, key in parts)


def check_evidence(claims: Sequence[Claim], results: Path) -> None:
    """Raise ValueError, listing every fault, unless each piece of evidence was recorded."""
    faults = []
    for claim in claims:
        for evidence in claim.evidence:
            try:
                evidence.value(results)
            except ValueError as error:
                faults.append(f"{claim.id}: {error}")
    if faults:
        raise ValueError("claims without evidence:\n" + "\n".join(faults))


def counted(claims: Sequence[Claim]) -> dict[str, int]:
    """Return how many claims have each verdict."""
    return {verdict: sum(c.verdict == verdict for c in claims) for verdict in VERDICTS}
