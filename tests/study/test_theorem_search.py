"""The kept search for counterexamples: blocks run again tell what the record says."""

from __future__ import annotations

import csv
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "dpbayes" / "data" / "theorem-search.csv"


@pytest.fixture(scope="module")
def search() -> ModuleType:
    spec = spec_from_file_location(
        "search_theorem", ROOT / "tools" / "search_theorem.py"
    )
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded(distance: str, k: int, number: int) -> dict[str, str]:
    with RECORD.open() as file:
        key = (distance, str(k), str(number))
        (row,) = (
            row
            for row in csv.DictReader(file)
            if (row["distance"], row["k"], row["block"]) == key
        )
    return row


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [("hamming", 2, 7), ("hamming", 3, 31), ("hamming", 4, 11), ("l1", 2, 3)]
)
def test_a_block_run_again_tells_what_was_recorded(
    search: ModuleType, block: tuple[str, int, int]
) -> None:
    row, again = recorded(*block), search.run_block(*block)
    assert again.settings == int(row["settings"]) == 7500
    # Another processor may round a step of a climb the other way and leave its path.
    assert (again.violations > 0) == (int(row["violations"]) > 0)
    assert (again.delta_ratio > 1.0) == (float(row["delta_ratio"]) > 1.0)


def test_climbs_find_violations_at_four_categories_and_none_at_two(
    search: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CLIMBS", 3)
    assert search.run_block("hamming", 2, 0).violations == 0
    assert search.run_block("hamming", 4, 0).violations > 50
