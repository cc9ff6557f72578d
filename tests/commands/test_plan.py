"""``dpbayes plan``: its price, its comparison, and that it touches nothing."""

from __future__ import annotations

import re

import pytest

import dpbayes as dp
from dpbayes.cli import main
from dpbayes.commands.plan import advice, needed, own_error
from dpbayes.tables.forecast import compared, parts_of
from dpbayes.tables.plan import read_plan
from tests.tables.clinic import PLAN
from tests.tables.test_forecast import REQUEST


@pytest.fixture(scope="module")
def found():
    parts = parts_of(REQUEST)
    return {label: parts[label]() for label in compared(REQUEST)}


def test_the_plan_command_prices_without_touching_the_account(clinic, capsys):
    before = (clinic / "clinic.account").read_bytes()
    assert main(["plan", "plan.toml", "--records", "70"]) == 0
    printed = capsys.readouterr().out
    assert "0.5 of the 1.2 left" in printed
    balanced = dp.mechanism("lattice", 0.5).law([24, 23, 23], [1, 1, 1]).mean_distance()
    # On a busy machine the exact error may not be there in time, and a simulated one stands in.
    error = re.search(r"error +([0-9.]+)(?: ± ([0-9.e-]+))? mean Hellinger distance", printed)
    assert error is not None
    apart = abs(float(error[1]) - balanced)
    assert apart < (5 * float(error[2]) if error[2] else 6e-4)
    assert "for balanced counts of 70 records" in printed
    assert (clinic / "clinic.account").read_bytes() == before


def test_one_record_is_one(clinic, capsys):
    assert main(["plan", "plan.toml", "--records", "1"]) == 0
    printed = capsys.readouterr().out
    assert "balanced counts of 1 record," in printed
    assert "1 records" not in printed


def test_the_smallest_error_is_recommended_and_its_class_named(found):
    rivals = {label: found[label] for label in compared(REQUEST)}
    text = "\n".join(advice(rivals, "ilapMech", 12, 2))
    best = min((part["all"], label) for label, part in rivals.items())[1]
    assert best in ("lattice (remap=True)", "geometric (remap=True)")
    assert "recommended  lattice (remap=True) (as small: geometric (remap=True)):" in text
    assert "for the mean over all data sets of 12 records in 2 categories" in text
    assert f"the plan has ilapMech, whose error there is {rivals['ilapMech']['all']:.3g}" in text


def test_where_one_cannot_be_summed_over_all_data_the_class_is_evenly_spread_counts():
    rivals = {"a": {"even": 0.3, "halving": 0.1}, "b": {"even": 0.2, "all": 0.9}}
    assert "recommended  b: " in (text := "\n".join(advice(rivals, "a", 50, 3)))
    assert "for evenly spread counts of 50 records in 3 categories" in text
    missing = {"a": {"missing": "x"}, "b": {"even": 0.2}}
    assert "not computed or not possible here: a" in advice(missing, "a", 5, 3)[0]
    assert "nothing" in advice({"a": {"missing": "x"}}, "a", 5, 3)[0]


def test_what_is_simulated_is_called_so_and_a_tie_within_its_error_is_one():
    rivals = {
        "a": {"even": 0.31, "even_error": 0.01, "halving": 0.5, "halving_error": 0.02, "draws": 9},
        "b": {"even": 0.3, "halving": 0.4},
        "c": {"even": 0.35, "halving": 0.4},
    }
    text = "\n".join(advice(rivals, "a", 50, 3))
    assert "compared   b 0.3, a 0.31 ± 0.01, c 0.35" in text
    assert "recommended  a (as small: b): the smallest mean error (± simulated) of these 3" in text
    assert "the plan has c, whose error there is 0.35" in "\n".join(advice(rivals, "c", 50, 3))
    said = own_error(rivals["a"], 50)
    assert said.startswith("0.31 ± 0.01 mean Hellinger distance for balanced counts of 50 records")
    assert said.endswith("(simulated, 9 made-up releases each)")


def test_the_command_compares_and_touches_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    (tmp_path / "plan.toml").write_text(
        'dataset = "a"\naccount = "a"\nunit = "record"\ncolumn = "x"\ncategories = ["y", "n"]\nepsilon = "1"\n'
        'records = "secret"\n'
    )
    assert main(["plan", "plan.toml", "--records", "20"]) == 0
    printed = capsys.readouterr().out
    assert "recommended  independent: the only mechanism here whose promise" in printed
    assert main(["plan", "plan.toml"]) == 0
    assert "give --records N" in capsys.readouterr().out
    assert main(["plan", "plan.toml", "--records", "0"]) == 2
    assert "--records must be at least 1, got 0" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


def test_the_records_needed_are_those_of_the_package(clinic):
    (clinic / "plan.toml").write_text(PLAN + 'person = "health"\nkeep = 2\n')
    said = needed(read_plan(clinic / "plan.toml"))
    for error in (0.1, 0.05, 0.02):
        enough = dp.records_needed(error, 0.25, [1 / 3] * 3, [1.0, 1.0, 1.0]).records
        assert f"{enough:,} for {error:g}" in said


def test_one_record_is_not_several(capsys):
    assert own_error({"even": 0.3, "halving": 0.5}, 1).startswith(
        "0.3 mean Hellinger distance for balanced counts of 1 record, 0.5 where"
    )
    text = "\n".join(advice({"a": {"even": 0.3}, "b": {"even": 0.2}}, "a", 1, 3))
    assert "for evenly spread counts of 1 record in 3 categories" in text
    assert main(["audit", "geometric", "--epsilon", "1", "--n", "1"]) == 0
    assert "for data sets of 1 record that differ" in capsys.readouterr().out
