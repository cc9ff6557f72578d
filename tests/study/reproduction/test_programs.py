"""The programs' exponential laws: equal to the papers' where they agree, different where named."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.study.programs import (
    GLOBAL_AS_DRAWN,
    drafted_delta,
    given_beta,
    given_global,
    neighbour_affinity,
    notes_program,
)
from dpbayes.study.scores import score_changes


def test_neighbours_agree_under_a_flat_prior_and_not_beyond() -> None:
    for x in ([0, 4, 3], [2, 2, 3], [7, 0, 0]):
        local = float(distance_from_log_affinity(neighbour_affinity(np.add(x, 1.0)))[0])
        assert local == pytest.approx(dp.local_sensitivity(x, [1, 1, 1]).value, abs=1e-12)
    strong = float(distance_from_log_affinity(neighbour_affinity([[3.0, 10.0, 9.0]]))[0])
    assert strong > dp.local_sensitivity([0, 7, 6], [3, 3, 3]).value


def test_one_sided_neighbours_are_fewer() -> None:
    both, one = neighbour_affinity([[2.0, 9.0]]), neighbour_affinity([[2.0, 9.0]], one_sided=True)
    assert one[0] > both[0]
    outputs, changes = score_changes([3, 2, 4], [1, 1, 1], one_sided=True)
    again, full = score_changes([3, 2, 4], [1, 1, 1])
    assert np.array_equal(outputs, again)
    assert np.all(changes <= full + 1e-12)
    assert np.any(changes < full - 1e-6)
    from_later = [[4, 1, 4], [4, 2, 3], [3, 3, 3]]  # a record given to an earlier category
    own, here = dp.hellinger([4, 3, 5], outputs + 1.0), np.zeros(len(outputs))
    for moved in from_later:
        here = np.maximum(here, np.abs(own - dp.hellinger(np.add(moved, 1.0), outputs + 1.0)))
    assert changes == pytest.approx(here, abs=1e-15)
    assert not score_changes([5, 0], [1, 1], one_sided=True)[1].any()


def test_bs_program_is_expmech_delta_with_l1_and_2n() -> None:
    options = {"delta": 5e-4, "distance": "l1", "failure_term": "2n"}
    expected = dp.mechanism("expMech-delta", 0.8, **options).law([5, 5, 5], [1, 1, 1])
    drawn = drafted_delta(0.8, 5e-4).law([5, 5, 5], [1, 1, 1])
    assert drawn.mean_distance() == pytest.approx(expected.mean_distance(), abs=1e-12)


def test_ninety_records_for_thirty() -> None:
    law = drafted_delta(0.8, 5e-4, records=90).law([10, 10, 10], [20.0, 20.0, 20.0])
    assert set(law.outputs.sum(axis=1)) == {90}
    assert law.probabilities.sum() == pytest.approx(1.0)
    assert law.distances.min() > 0


def test_the_number_given_for_the_global_sensitivity_is_that_of_one_record() -> None:
    assert dp.global_sensitivity(1, [1, 1]).value == pytest.approx(GLOBAL_AS_DRAWN, abs=1e-12)
    law = given_global(1.0).law([30, 30], [1, 1])
    log_ratio = np.diff(np.log(law.probabilities[30:32]))[0]
    distance = float(dp.hellinger_published([31, 31], [32, 30]))
    assert log_ratio == pytest.approx(-distance / (2 * GLOBAL_AS_DRAWN), abs=1e-9)


def test_a_large_beta_makes_the_sensitivity_local() -> None:
    local = dp.mechanism("expMech-local", 1.0, metric="published", divisor=4.0)
    drawn = given_beta(1.0, beta=50.0).law([30, 30], [1, 1])
    assert drawn.mean_distance() == pytest.approx(
        local.law([30, 30], [1, 1]).mean_distance(), abs=1e-12
    )


def test_cs_program_has_no_factor_2() -> None:
    x, prior = [110, 190], [7.0, 4.0]
    law = notes_program("global", 0.5, 0.8).law(x, prior)
    gs = float(dp.hellinger(prior, [8.0, 3.0]))
    ratio = np.log(law.probability([111, 189]) / law.probability(x))
    assert ratio == pytest.approx(-0.5 * float(dp.hellinger([117, 194], [118, 193])) / gs, abs=1e-9)
    smooth = notes_program("smooth", 0.5, 0.8).law(x, prior).mean_distance()
    local = notes_program("local", 0.5, 0.8).law(x, prior).mean_distance()
    assert smooth == pytest.approx(local, abs=1e-12)
    with pytest.raises(ValueError, match="kind must be one of"):
        notes_program("other", 0.5, 0.8)
