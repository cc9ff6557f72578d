"""What is told about releases (outcomes, prices, what is left) is no function of the
data.

The same steps are taken with neighbouring tables and neighbouring later versions: what
a curator's tools print, less the draw itself, must be the same in both worlds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from dpbayes.tables.files import PlanError
from dpbayes.tables.keys import AccountError
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.table import TableError
from dpbayes.tables.units import RECORD, Unit
from tests.tables.clinic import OF_NOBODY, released

ENDS = (
    "", "prior = 2\n", 'records = "secret"\n', 'request = "spring"\n',
    'request = "spring"\nprior = 3\n', 'mechanism = "ilapMech"\n',
    'records = "secret"\nmissing = "drop"\n', 'options = {projection = "l1"}\n',
    'mechanism = "ilapMech"\noptions = {sensitivity = 0.01}\n',
)  # fmt: skip


def steps(rng: np.random.Generator) -> list[tuple[str, int]]:
    """Return a random script: releases of some plans, and accepted versions."""
    script = []
    for _ in range(int(rng.integers(4, 8))):
        accepts = rng.random() < 0.3
        script.append(
            ("accept" if accepts else "release", int(rng.integers(len(ENDS))))
        )
    return script


def played(
    folder: Path, script: list[tuple[str, int]], versions: list[str], unit: Unit
) -> list[Any]:
    """Return what is told while a script is played on a table and its versions."""
    folder.mkdir()
    alone = {"DPBAYES_KEYS": str(folder / "keys"), "HOME": str(folder)}
    with patch.dict(os.environ, alone):
        return _played(folder, script, versions, unit)


def _played(
    folder: Path, script: list[tuple[str, int]], versions: list[str], unit: Unit
) -> list[Any]:
    table, told, now = folder / "people.csv", [], 0
    table.write_text(versions[0])
    account = folder / "clinic.account"
    create_account(account, "clinic", "2.4", table, unit)
    whom = f'person = "id"\nkeep = {unit.keep}\n'
    whom = 'unit = "record"\n' if unit == RECORD else whom
    for kind, which in script:
        if kind == "put back":
            table.write_text(versions[which])
            continue
        if kind == "accept":
            now = min(now + 1, len(versions) - 1)
            table.write_text(versions[now])
            open_account(account).accept(table)
            told.append("accepted")
            continue
        try:
            paid = released(folder, OF_NOBODY + whom + ENDS[which])
            record = paid.record()
            told.append((paid.cost, paid.balance, paid.repeated, record["guarantee"]))
        except (PlanError, AccountError, TableError) as error:
            told.append((type(error), str(error).replace(str(folder), "")))
    return told


def text_of(answers: list[str]) -> str:
    rows = [f"{i // 2},{answer}" for i, answer in enumerate(answers)]
    return "\n".join(["id,health", *rows]) + "\n"


def compare(folder: Path, seed: int) -> int:
    """Play one script in two neighbouring worlds; return how many steps it has."""
    rng = np.random.default_rng(seed)
    unit = RECORD if rng.random() < 0.5 else Unit("id", int(rng.integers(1, 3)))
    here = [list(rng.choice(["good", "fair", "poor"], 8)) for _ in range(2)]
    if rng.random() < 0.6:
        here[1] = list(here[0])  # the later version is the same file
    there = [list(answers) for answers in here]
    for answers in there[int(rng.integers(2)) :]:
        answers[int(rng.integers(2))] = str(rng.choice(["good", "fair", "poor"]))
    script = steps(rng)
    worlds = [
        played(folder / f"w{seed}{i}", script, [text_of(one) for one in answers], unit)
        for i, answers in enumerate((here, there))
    ]
    assert worlds[0] == worlds[1], (seed, script)
    return len(script)


def test_no_outcome_or_price_of_a_release_tells_anything(tmp_path):
    assert sum(compare(tmp_path, seed) for seed in range(4)) > 12


@pytest.mark.slow
def test_no_outcome_or_price_of_many_releases_tells_anything(tmp_path):
    assert sum(compare(tmp_path, seed) for seed in range(4, 300)) > 1000


def test_a_version_that_did_not_change_is_paid_like_one_that_did(tmp_path):
    """Free, it would tell that nobody's record changed."""
    script = [("release", 0), ("accept", 0), ("release", 0), ("release", 3)]
    same, other = text_of(["good"] * 8), text_of(["good"] * 7 + ["poor"])
    worlds = [
        played(tmp_path / name, script, [same, later], RECORD)
        for name, later in (("a", same), ("b", other))
    ]
    assert worlds[0] == worlds[1]
    assert [step[2] for step in worlds[0] if step != "accepted"] == [False] * 3


def test_an_older_version_that_is_put_back_is_refused_whatever_changed(tmp_path):
    """Its release would be had again at no cost where a record changed, not where
    only the order of the rows did.
    """
    script = [("release", 0), ("accept", 0), ("put back", 0), ("release", 0)]
    first = text_of(["good"] * 7 + ["poor"])
    moved, other = text_of(["poor"] + ["good"] * 7), text_of(["good"] * 7 + ["fair"])
    worlds = [
        played(tmp_path / name, script, [first, later], RECORD)
        for name, later in (("a", moved), ("b", other))
    ]
    assert [told[-1][0] for told in worlds] == [AccountError] * 2
    assert "put that back" in worlds[0][-1][1]


def test_a_named_request_on_a_version_that_did_not_change_is_refused(tmp_path):
    script = [("release", 3), ("accept", 0), ("release", 3)]
    same = text_of(["good"] * 8)
    told = played(tmp_path / "a", script, [same, same], RECORD)
    assert "on another version of the table" in told[-1][1]
