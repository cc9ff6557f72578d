"""D's figures as drawn: the data, mechanisms and laws behind them, by hand and by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln

import dpbayes as dp
from dpbayes.divergences import hellinger_published
from dpbayes.study import full_paper as paper
from dpbayes.study.printed import raw_means
from dpbayes.study.programs import SequentialLaplace


def published(a: np.ndarray, b: np.ndarray) -> float:
    """Return the distance that the programs computed for two Beta posteriors, from scratch."""
    affinity = np.exp(betaln(*((a + b) / 2)) - (betaln(*a) + betaln(*b)) / 2)
    return float(np.sqrt(max(0.0, 1.0 - affinity ** (1.0 / np.log(a.sum())))))


def test_shares_of_three_tenths_lose_a_tenth_of_the_records() -> None:
    counts, prior = paper.ninety_percent("100")
    assert (list(counts), list(prior)) == ([30, 30, 30], [1.0] * 3)
    assert list(paper.quarters("102")[0]) == [25] * 4


@pytest.mark.parametrize("counts", [[3, 5], [4, 4], [0, 6]])
def test_probabilities_of_distances_are_sums_over_candidates(counts: list[int]) -> None:
    n, mechanism = sum(counts), dp.mechanism("lapMech", 1.0)
    law = mechanism.law(counts, [1.0, 1.0])
    truth = np.add(counts, [1.0, 1.0])
    sums: dict[float, float] = {}
    for first in range(n + 1):
        candidate = np.array([first + 1.0, n - first + 1.0])
        c = round(float(hellinger_published(truth, candidate)), 12)
        sums[c] = sums.get(c, 0.0) + float(law.probability([first, n - first]))
    distances, masses = paper.probabilities_of_distances(mechanism, counts, hellinger_published)
    np.testing.assert_allclose(distances, sorted(sums), atol=1e-11)
    np.testing.assert_allclose(masses, [sums[c] for c in sorted(sums)], atol=1e-13)
    value = paper.mass_at(mechanism, counts)
    assert value(str(distances[1] + 1e-9)) == pytest.approx(masses[1])


def test_six_mechanisms_are_those_of_the_paper_or_of_its_program() -> None:
    drawn = paper.six_mechanisms(1.0, 3)
    assert list(drawn) == list(paper.SIX)
    assert drawn["lapMech"] == SequentialLaplace(1.0, 3.0)
    assert drawn["ilapMech"] == SequentialLaplace(1.0, 2.0)
    assert paper.six_mechanisms(1.0, 2)["ilapMech"] == SequentialLaplace(1.0, 1.0)
    # Without the factor 2, the weight of a candidate is the square of the defined one.
    law, twice = (
        dp.mechanism("expMech-local", epsilon, metric="published").law([3, 3], [1, 1])
        for epsilon in (1.0, 2.0)
    )
    slipped = paper.six_mechanisms(1.0, 2)["expMech-local"].law([3, 3], [1, 1])
    assert slipped.mean_distance() == pytest.approx(twice.mean_distance(), abs=1e-13)
    assert abs(slipped.mean_distance() - law.mean_distance()) > 1e-3


def test_the_nearest_distances_of_a_panel_come_first() -> None:
    shown = paper.probabilities_as_drawn("3", "a", 5)
    for distances, masses in shown.values():
        assert distances.shape == masses.shape == (5,)
        assert distances[0] == 0.0
        assert np.all(np.diff(distances) > 0)
    # D, Figure 3a: the circle of lapMech at zero is one whole step of noise of scale 2.
    assert shown["lapMech"][1][0] == pytest.approx((1 - np.exp(-0.5)) / 2, abs=1e-12)


@pytest.mark.parametrize("divisor", [None, 2.0])
def test_losses_next_to_the_corners_by_enumeration(divisor: float | None) -> None:
    n, largest = 12, 0.0
    gamma = dp.mechanism("expMech-smooth", 1.0, metric="published").calibration.gamma
    posteriors = [np.array([x + 1.0, n - x + 1.0]) for x in range(n + 1)]
    distance = np.array([[published(a, b) for b in posteriors] for a in posteriors])
    local = [max(distance[x][y] for y in (x - 1, x + 1) if 0 <= y <= n) for x in range(n + 1)]
    smooth = [
        1 / min(1 / local[y] + gamma * abs(x - y) for y in range(n + 1)) for x in range(n + 1)
    ]
    weight = 2 * (1 + gamma) if divisor is None else divisor
    scores = [np.exp(-distance[x] / (weight * smooth[x])) for x in range(n + 1)]
    laws = [score / score.sum() for score in scores]
    for x in (0, 1, 2, 3, n - 4, n - 3, n - 2, n - 1):
        largest = max(largest, float(np.abs(np.log(laws[x] / laws[x + 1])).max()))
    found = paper.loss_next_to_the_corners(divisor, "published")(str(n))
    assert found == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("name", ["lapMech", "ilapMech", "expMech-delta"])
def test_raw_runs_have_the_noise_and_the_data_of_their_figure(name: str) -> None:
    raw = next(one for one in raw_means() if (one.k, one.mechanism) == (2, name))
    mechanism = {
        "lapMech": dp.mechanism("lapMech", 1.0),
        "ilapMech": dp.mechanism("ilapMech", 1.0),
        "expMech-delta": paper.slipped_delta(1.0),
    }[name]
    half = raw.n // 2
    distances, masses = paper.probabilities_of_distances(
        mechanism, [half, half], hellinger_published
    )
    expected = paper.raw_drawing(raw).expected(str(raw.n)).value
    assert expected == pytest.approx(float(distances @ masses), abs=1e-11)
