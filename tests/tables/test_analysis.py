"""The analysis after a release: its parts, its limits, and that it never fails with
one.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.tables.analysis import (
    COUNT,
    DOUBT,
    ERROR,
    PARTS,
    bounded_analysis,
    parts_of,
    report_parts,
)
from tests.tables.clinic import stored

RECORD = stored(["good", "fair", "poor"], counts=[12, 5, 3], noisy=[13, 6, 1])
TWO = stored(
    ["f, no", "f, yes", "m, no", "m, yes"],
    columns=["sex", "smokes"],
    counts=[40, 10, 25, 25],
    noisy=[40, 10, 25, 25],
)


def at(epsilon):
    return {"name": "lattice", "epsilon": epsilon, "options": {}}


@pytest.fixture(scope="module")
def found():
    return {name: compute() for name, compute in parts_of(RECORD).items()}


def test_the_parts_are_those_of_the_release(found):
    chosen = dp.mechanism("lattice", 0.5)
    private = dp.Release(
        chosen, np.ones(3), 20, np.array([13, 6, 1]), np.array([12, 5, 3])
    )
    assert tuple(found) == tuple(part for part in PARTS if part != "within")
    assert found["plain"]["intervals"] == private.posterior.interval(0.95).tolist()
    aware = found["noise_aware"]
    assert aware["intervals"] == [tuple(ends) for ends in private.interval().tolist()]
    of_table = private.shares().table_intervals().tolist()
    assert aware["table_intervals"] == [tuple(ends) for ends in of_table]
    assert aware["shares"] == [13 / 20, 6 / 20, 1 / 20]
    assert found["count_error"]["within"] == dp.count_error(chosen, [12, 5, 3]).within
    exact = chosen.law([12, 5, 3], [1, 1, 1]).mean_distance()
    assert found["expected_distance"]["value"] == pytest.approx(exact, rel=1e-12)


def test_shares_within_a_group_are_read_off_the_same_draw():
    """Of fifty women ten smoke: the share among the women, and not among all."""
    found = parts_of(TWO)["within"]()
    everybody = parts_of(TWO)["noise_aware"]()
    assert found["shares"] == [0.8, 0.2, 0.5, 0.5]
    for (low, high), (table_low, table_high), share in zip(
        found["intervals"], found["table_intervals"], found["shares"], strict=True
    ):
        assert low < share < high
        assert table_low < share < table_high
        assert table_high - table_low < high - low  # a sample says less of a population
    inside, outside = (part["intervals"][1] for part in (found, everybody))
    assert np.diff(inside) > np.diff(outside)


def test_shares_within_a_group_cover_what_they_say():
    """Tables of two columns from known shares; releases read as the report does."""
    rng, mechanism = np.random.default_rng(5), dp.mechanism("lattice", "0.5")
    truth, covered, runs = np.array([0.3, 0.2, 0.1, 0.4]), 0, 200
    for _ in range(runs):
        counts = rng.multinomial(300, truth)
        noisy = counts + mechanism.noise(rng, 4, 1)[0]
        shares = dp.Release(mechanism, np.ones(4), 300, noisy, counts).shares()
        low, high = shares.read([2], [2, 3]).interval()
        covered += low <= 0.2 <= high
    assert 0.90 * runs <= covered <= 0.99 * runs


def test_the_epsilon_of_one_record_is_the_mechanism_s():
    halved = parts_of({**RECORD, "mechanism": at("1/4")})["expected_distance"]()
    law = dp.mechanism("lattice", 0.25).law([12, 5, 3], [1, 1, 1])
    assert halved["value"] == pytest.approx(law.mean_distance(), rel=1e-12)


def test_a_part_that_fails_leaves_the_others(capsys):
    def failing():
        raise MemoryError

    report_parts({"a": failing, "c": lambda: {"value": 3}})
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found == [{"a": {"missing": "MemoryError"}}, {"c": {"value": 3}}]


def test_a_mistake_in_the_program_is_no_missing_part():
    with pytest.raises(KeyError):
        report_parts({"a": lambda: {}["b"]})


@pytest.mark.slow
def test_in_a_process_of_its_own_it_says_the_same(found):
    assert bounded_analysis(RECORD) == json.loads(json.dumps(found))


@pytest.mark.slow
def test_a_process_that_ends_early_leaves_reasons():
    broken = bounded_analysis({})
    assert {part["missing"] for part in broken.values()} == {
        "needs more memory than allowed"
    }


def test_a_forecast_agrees_with_the_law() -> None:
    request = {
        "name": "lattice", "options": {}, "epsilon": "1/2", "prior": [1.0, 1.0],
        "records": 20,
    }  # fmt: skip
    parts = parts_of(request)
    chosen = dp.mechanism("lattice", 0.5)
    even = chosen.law([10, 10], [1, 1]).mean_distance()
    assert parts[ERROR]()["even"] == {"value": pytest.approx(even, rel=1e-12)}
    of_count = parts[COUNT]()["even"]
    assert of_count["within"] == dp.count_error(chosen, [10, 10]).within
    assert of_count["sentence"].startswith("A count of 10 comes out within")
    hidden = {"noise": 2, "prior": 0}  # twenty records at this epsilon
    assert parts[DOUBT]() == {"even": hidden, "halving": hidden}
    wide = {"name": "independent", "options": {}, "prior": [1.0] * 3, "records": 3000}
    drawn = parts_of(request | wide)[ERROR]()["even"]  # too wide to be added up
    assert 0.0 < drawn["error"] < 0.01 * drawn["value"]
    late = bounded_analysis(request, seconds=0.01)
    assert late[COUNT] == late[ERROR] == {"missing": "not finished within 0.01 seconds"}


def test_a_prior_that_decides_is_told() -> None:
    """Fifty categories under a stated flat prior: the largest share is not expected."""
    noisy = [400, 220, 110] + [5] * 46 + [40]
    labels = [f"c{i}" for i in range(50)]
    record = stored(labels, counts=noisy, noisy=noisy, mechanism=at("1/10"))
    free = parts_of(record)["noise_aware"]()
    assert free["doubts"] == [""] * 50
    assert "intervals_without_prior" not in free
    stated = parts_of(record | {"prior_stated": True})["noise_aware"]()
    assert stated["doubts"][0] == "prior"
    assert stated["intervals_without_prior"] == free["intervals"]


def test_noise_that_hides_the_shares_is_told() -> None:
    noisy = [50, -40, 10]
    record = RECORD | {"mechanism": at("1/100"), "counts": [20, 0, 0], "noisy": noisy}
    assert parts_of(record)["noise_aware"]()["doubts"] == ["noise"] * 3


def test_records_of_one_person_widen_the_interval_of_the_population_alone() -> None:
    alone, three = (
        parts_of(RECORD | {"design_effect": effect})["noise_aware"]()
        for effect in (1.0, 3.0)
    )
    assert alone["table_intervals"] == three["table_intervals"]
    pairs = zip(alone["intervals"], three["intervals"], strict=True)
    assert all(b[1] - b[0] > a[1] - a[0] for a, b in pairs)
