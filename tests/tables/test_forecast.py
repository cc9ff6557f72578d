"""What `dpbayes plan` says beforehand: errors, widths, and which mechanism over which data."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.commands.plan import measured, width
from dpbayes.tables.forecast import (
    DRAWS,
    SIMULATED,
    SIMULATED_DRAWS,
    WIDTH,
    compared,
    forecast,
    made_up,
    parts_of,
)
from dpbayes.tables.prices import chosen_mechanism

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

    monkeypatch.setattr("dpbayes.tables.forecast.bounded", bounded)
    found = forecast(REQUEST)
    assert found["ilapMech"] == {"even": 0.3, "even_error": 0.01, "draws": 9}
    assert found["lattice"] == {"missing": "late"}
    assert found.keys() == {*compared(REQUEST), WIDTH}


def test_what_takes_too_long_is_left_out(found):
    assert found["late"]["ilapMech"] == {"missing": "not finished within 0.01 seconds"}
    assert found["late"].keys() == {*compared(REQUEST), WIDTH}


def test_made_up_counts_keep_the_number_of_records():
    for k, n in ((2, 1), (7, 50), (3, 10**12)):
        for counts in made_up(k, n):
            assert int(counts.sum()) == n
            assert (counts >= 0).all()


def test_an_error_averaged_over_draws_says_how_far_it_may_be_off():
    request = {**REQUEST, "name": "independent", "prior": [1.0] * 5, "records": 300, "secret": True}
    part = parts_of(request)["independent"]()
    law = chosen_mechanism("independent", Fraction(1, 2), {}).law([60] * 5, [1] * 5)
    assert law.mean_distance().how == "draws"
    assert part["even_error"] == law.mean_distance().error
    assert "±" in measured(part, "even")


def test_a_few_equal_widths_are_not_taken_for_steady(monkeypatch):
    widths = iter([0.5, 0.5, 0.5, *[0.7] * 40])

    def drawn(*_):
        ends = np.array([[0.0, next(widths)]] * 2)
        plain = SimpleNamespace(interval=lambda level: ends)
        return SimpleNamespace(interval=lambda level: ends, posterior=plain)

    monkeypatch.setattr("dpbayes.tables.drawn.release", drawn)
    found = parts_of(REQUEST)[WIDTH]()
    assert found["draws"] == DRAWS
    assert found["error"] > 0.0
