"""Numbers against the reference: what differs is named; drawn numbers and times have
own rules.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dpbayes.record import PROVENANCE, json_bytes
from dpbayes.runner.verify import accept, certificate, verify

NUMBERS = {"half": 0.5, "large": 1e6, "count": 3, "drawn": 0.25, "seconds": 1.5}
ERRORS = {"drawn": 0.01, "seconds": None, "t.mean": [0.1, 0.0]}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Return a folder with the results of one notebook, accepted as the reference."""
    write(tmp_path, NUMBERS, "n,who,mean\n1,a,0.1\n2,b,0.2\n")
    assert len(accepted(tmp_path)) == 1
    return tmp_path


def accepted(book: Path, prune: bool = False, **own: int) -> list[str]:
    known = {"part/tiny": {"n": 3, **own}}
    return accept(book / "results", book / "reference", known, prune)


def write(book: Path, numbers: dict[str, Any], table: str | None = None) -> None:
    folder = book / "results" / "part" / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "numbers.json").write_bytes(json_bytes(numbers))
    (folder / "errors.json").write_bytes(json_bytes(ERRORS))
    if table is not None:
        (folder / "t.csv").write_text(table)
    made = {
        "seconds": 2.4, "parameters": {"n": 3},
        "made from": {"versions": {"python": "3.11", "numpy": "2"}},
        "sha256": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.iterdir() if path.name != PROVENANCE
        },
    }  # fmt: skip
    (folder / PROVENANCE).write_bytes(json_bytes(made))


def problems(
    book: Path, numbers: dict[str, Any] | None = None, table: str | None = None
) -> str:
    write(book, {**NUMBERS, **(numbers or {})}, table)
    return "; ".join(verify(book / "results", book / "reference")[1])


def test_what_was_accepted_agrees(book: Path) -> None:
    found = verify(book / "results", book / "reference")[0]
    assert found == "10 of 10 numbers agree with the reference; largest difference 0"
    assert accepted(book) == []


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"half": 0.5 + 9e-10}, ""), ({"large": 1e6 + 9e-4}, ""),
        ({"drawn": 0.289}, ""),
        ({"seconds": 99.0}, ""),
        ({"half": 0.500001}, "part/tiny::half: 0.500001 against 0.5"),
        ({"half": 0.5 + 1.1e-9}, "part/tiny::half: "),
        ({"large": 1e6 + 2e-3}, "part/tiny::large"),
        ({"count": 4}, "part/tiny::count: 4 against 3"),
        ({"drawn": 0.291}, "part/tiny::drawn: 0.291 against 0.25, more than four"),
        ({"more": 1.0}, "part/tiny::more: it is not in the reference"),
    ],
)  # fmt: skip
def test_what_differs_is_named(
    book: Path, numbers: dict[str, float], said: str
) -> None:
    assert problems(book, numbers).startswith(said)
    assert bool(said) == bool(problems(book, numbers))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("n,who,mean\n1,a,0.49\n2,b,0.2\n", ""),
        ("n,who,mean\n1,a,0.1\n2,b,0.3\n", "part/tiny::t.mean[1]: 0.3 against 0.2"),
        ("n,who,mean\n1,c,0.1\n2,b,0.2\n", "part/tiny::t.who[0]: 'c' against 'a'"),
        ("n,who,mean\n1,a,0.1\n", "part/tiny::t.mean[1]: it is not in the result"),
        ("n,who,mean\n1,a,nan\n2,b,0.2\n", "part/tiny::t.mean[0]: nan against 0.1"),
    ],
)
def test_tables_are_compared_cell_by_cell(book: Path, table: str, said: str) -> None:
    assert problems(book, table=table).startswith(said)
    assert bool(said) == bool(problems(book, table=table))


def test_the_largest_difference_is_told(book: Path) -> None:
    write(book, {**NUMBERS, "half": 0.5 + 3e-12})
    found = verify(book / "results", book / "reference")[0]
    assert found.endswith("largest difference 3 × 10⁻¹² (tiny)")


def test_missing_notebooks_are_named(book: Path) -> None:
    (book / "reference" / "part" / "gone.json").write_text(
        '{"numbers": {}, "tables": {}}'
    )
    (book / "reference" / "part" / "tiny.json").unlink()
    found = verify(book / "results", book / "reference")[1]
    assert found == [
        "part/gone: there is no result",
        "part/tiny: there is no reference",
    ]
    gone, tiny = (
        book / "reference" / "part" / f"{one}.json" for one in ("gone", "tiny")
    )
    assert accepted(book) == [str(tiny)]
    assert gone.is_file()
    assert accepted(book, prune=True) == [f"{gone} deleted"]
    assert tiny.is_file()


def test_foreign_and_damaged_results_are_not_accepted(book: Path) -> None:
    before = (book / "reference" / "part" / "tiny.json").read_bytes()
    write(book, {**NUMBERS, "half": 0.75})
    with pytest.raises(ValueError, match="part/tiny was run with another n"):
        accepted(book, n=4)
    with pytest.raises(ValueError, match="part/tiny: there is no such notebook"):
        accept(book / "results", book / "reference", {})
    (book / "results" / "part" / "tiny" / "t.csv").write_text("n\n1\n")
    with pytest.raises(ValueError, match="not what a run has written"):
        accepted(book)
    assert (book / "reference" / "part" / "tiny.json").read_bytes() == before


def test_a_damaged_file_is_named(book: Path) -> None:
    path = book / "results" / "part" / "tiny" / "numbers.json"
    for content in ("", "null", "[1, 2]"):
        path.write_text(content)
        with pytest.raises(ValueError, match=f"{path} is damaged"):
            verify(book / "results", book / "reference")


def test_the_certificate_says_where_and_how_long(book: Path) -> None:
    made = certificate(book / "results", book / "reference")
    assert made["agreement"].startswith("10 of 10 numbers agree")
    assert (made["notebooks"], made["seconds"]) == (1, 2)
    assert made["versions"] == {"python": "3.11", "numpy": "2"}
    assert json.loads(json_bytes(made)) == made
