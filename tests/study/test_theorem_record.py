"""The record of the long search: what it says is found again, in blocks and with slow distances."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from dpbayes.study.records import write_rows
from dpbayes.study.theorem_record import (
    CLIMBS,
    PLAN,
    STEPS,
    Block,
    missing,
    read_record,
    run_block,
)

RECORD = read_record()
ROWS: dict[tuple[str, int], list[Block]] = defaultdict(list)
for one in RECORD:
    ROWS[one.distance, one.k].append(one)


def test_more_than_a_million_settings_and_violations_in_the_controls_only() -> None:
    assert sum(block.settings for block in RECORD) >= 1_000_000
    assert all(block.settings == CLIMBS * (STEPS + 1) for block in RECORD)
    assert set(ROWS) == set(PLAN)
    found = {row: sum(block.violations for block in blocks) for row, blocks in ROWS.items()}
    assert found["hamming", 2] == found["hamming", 3] == 0
    assert all(found[row] > 1000 for row in PLAN if row not in (("hamming", 2), ("hamming", 3)))


@pytest.mark.parametrize("row", PLAN)
def test_the_worst_setting_of_a_row_is_what_the_slow_audit_finds(row: tuple[str, int]) -> None:
    worst = max(ROWS[row], key=lambda block: block.delta_ratio)
    assert worst.chain.audit().ratio == pytest.approx(worst.delta_ratio, rel=1e-3)


def found_again(block: Block) -> None:
    again = run_block(block.distance, block.k, block.block)
    assert again.settings == block.settings
    assert (again.violations > 0) == (block.violations > 0)
    assert again.epsilon_ratio == pytest.approx(block.epsilon_ratio, rel=0.05)


def test_a_block_run_again_tells_the_same() -> None:
    found_again(ROWS["l1", 2][0])


@pytest.mark.slow
@pytest.mark.parametrize("row", PLAN)
def test_a_later_block_of_every_row_run_again_tells_the_same(row: tuple[str, int]) -> None:
    found_again(ROWS[row][-1])


def test_a_record_written_is_read_and_what_it_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "record.csv"
    write_rows(RECORD[3:1:-1], path)
    assert read_record(path) == RECORD[2:4]
    lacking = missing(RECORD[1:])
    first = RECORD[0]
    assert (first.distance, first.k, first.block) in lacking
    assert len(missing([])) == sum(PLAN.values())


def test_a_prior_of_two_parameters_is_kept() -> None:
    assert replace(RECORD[0], k=2, prior=0.5, other=3.0).chain.prior == (0.5, 3.0)
    assert replace(RECORD[0], prior=0.5, other=0.0).chain.prior == 0.5


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="distance must be one of"):
        run_block("far", 2, 0)
    with pytest.raises(ValueError, match="k must be"):
        run_block("l1", 1, 0)
    with pytest.raises(ValueError, match="block must be"):
        run_block("l1", 2, -1)
