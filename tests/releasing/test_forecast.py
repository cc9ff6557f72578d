"""What `dpbayes plan` says beforehand: errors, widths, and which mechanism over which data."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.cli import main
from dpbayes.commands.plan import advice, own_error, width
from dpbayes.releasing.forecast import (
    DRAWS,
    SIMULATED,
    SIMULATED_DRAWS,
    WIDTH,
    compared,
    forecast,
    made_up,
    parts_of,
)

REQUEST = {
    "name": "ilapMech", "options": {}, "epsilon": "1/2", "prior": [1.0, 1.0], "records": 12,
    "secret": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return {name: compute() for name, compute in parts_of(REQUEST).items()} | {
        "late": forecast(REQUEST, seconds=0.01)
    }


def test_errors_are_those_of_the_laws(found):
    for name, options in (("ilapMech", {}), ("lattice", {"remap": True}), ("lapMech", {})):
        chosen = dp.mechanism(name, 0.5, **options)
        label = next(k for k, v in compared(REQUEST).items() if v == (name, options))
        assert found[label]["even"] == chosen.law([6, 6], [1, 1]).mean_distance()
        every = [chosen.law([x, 12 - x], [1, 1]).mean_distance() for x in range(13)]
        assert found[label]["all"] == pytest.approx(np.mean(every), rel=1e-12)


def test_the_width_is_that_of_releases(found):
    chosen = dp.mechanism("ilapMech", 0.5)
    rng_free = [np.diff(dp.release(chosen, [6, 6], [1, 1]).interval()).mean() for _ in range(64)]
    apart = abs(found[WIDTH]["aware"] - np.mean(rng_free))
    assert apart < 6 * (found[WIDTH]["error"] + np.std(rng_free) / 8) + 1e-9
    assert found[WIDTH]["aware"] > found[WIDTH]["plain"]
    assert found[WIDTH]["draws"] <= DRAWS
    assert f"mean of {found[WIDTH]['draws']} made-up releases" in width(found[WIDTH])


def test_simulated_errors_are_those_of_the_laws_within_their_own_error(found):
    for label in ("ilapMech", "lapMech", "lattice"):
        made_up_ones = found[label + SIMULATED]
        for kind in ("even", "halving"):
            apart = abs(made_up_ones[kind] - found[label][kind])
            assert apart < 5 * made_up_ones[f"{kind}_error"]
            assert 0 < made_up_ones[f"{kind}_error"] < 0.2 * made_up_ones[kind]
        assert made_up_ones["draws"] == SIMULATED_DRAWS
    again = parts_of(REQUEST)["lattice" + SIMULATED]()
    assert again == found["lattice" + SIMULATED]


def test_an_error_that_takes_too_long_is_simulated_instead(monkeypatch):
    def bounded(module, request, parts, seconds):
        late = {part: {"missing": "late"} for part in parts}
        return {**late, "ilapMech" + SIMULATED: {"even": 0.3, "even_error": 0.01, "draws": 9}}

    monkeypatch.setattr("dpbayes.releasing.forecast.bounded", bounded)
    found = forecast(REQUEST)
    assert found["ilapMech"] == {"even": 0.3, "even_error": 0.01, "draws": 9}
    assert found["lattice"] == {"missing": "late"}
    assert found.keys() == {*compared(REQUEST), WIDTH}


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


def test_what_takes_too_long_is_left_out(found):
    assert found["late"]["ilapMech"] == {"missing": "not finished within 0.01 seconds"}
    assert found["late"].keys() == {*compared(REQUEST), WIDTH}


def test_made_up_counts_keep_the_number_of_records():
    for k, n in ((2, 1), (7, 50), (3, 10**12)):
        for counts in made_up(k, n):
            assert int(counts.sum()) == n
            assert (counts >= 0).all()


def test_the_command_compares_and_touches_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    (tmp_path / "plan.toml").write_text(
        'dataset = "a"\naccount = "a"\ncolumn = "x"\ncategories = ["y", "n"]\nepsilon = "1"\n'
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
