"""The programs behind the pictures: equal to the papers' mechanisms, or different where
named.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.special import gammaln

import dpbayes as dp
from dpbayes.divergences import distance_from_log_affinity, hellinger_published
from dpbayes.study.programs import (
    GLOBAL_AS_DRAWN,
    OlderLaplace,
    RepairedLaplace,
    SequentialLaplace,
    drafted_delta,
    given_beta,
    given_global,
    neighbour_affinity,
    notes_program,
)
from dpbayes.study.settings import mass_at

DRAWS = 40_000


def close(distances: np.ndarray, masses: np.ndarray, drawn: np.ndarray) -> bool:
    """Whether a sample agrees with a law at its nine deciles, within six standard
    errors.
    """
    cuts = np.quantile(drawn, np.linspace(0.1, 0.9, 9)) + 1e-9
    exact = np.array([masses[distances <= cut].sum() for cut in cuts])
    seen = np.array([(drawn <= cut).mean() for cut in cuts])
    return bool(np.all(np.abs(exact - seen) <= 6 * np.sqrt(0.25 / drawn.size)))


def by_hand(counts: list[int], n: int, scale: float) -> dict[tuple[int, ...], float]:
    """Return the law by going through every whole noise that is not clamped, and the
    tails.
    """

    def below(y: float) -> float:
        return 0.5 * math.exp(y / scale) if y < 0 else 1 - 0.5 * math.exp(-y / scale)

    def clamped(x: int) -> list[float]:
        masses = [below(r + 1 - x) - below(r - x) for r in range(n + 1)]
        return [below(1 - x), *masses[1:n], 1 - below(n - x)]

    found: dict[tuple[int, ...], float] = defaultdict(float)
    marginals = [clamped(x) for x in counts[:-1]]
    for noisy in itertools.product(range(n + 1), repeat=len(counts) - 1):
        left, released = n, []
        for r in noisy:
            released.append(min(r, left))
            left -= released[-1]
        found[*released, left] += math.prod(
            m[r] for m, r in zip(marginals, noisy, strict=True)
        )
    return found


@pytest.mark.parametrize(
    ("counts", "records"),
    [([3, 2], None), ([2, 3, 1], None), ([1, 2, 1, 2], None), ([2, 2, 1], 9)],
)
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_sequential_noise_is_that_of_a_loop(counts, records, epsilon) -> None:
    law = SequentialLaplace(epsilon, records=records).law(counts, [1.0] * len(counts))
    expected = by_hand(counts, records or sum(counts), 2 / epsilon)
    for output, probability in zip(
        law.outputs.tolist(), law.probabilities, strict=True
    ):
        assert probability == pytest.approx(expected.get(tuple(output), 0.0), abs=1e-13)


def test_cutting_to_n_is_post_processing_and_keeps_the_promise() -> None:
    assert dp.audit(SequentialLaplace(0.8), 5, [1, 1, 1]).epsilon <= 0.8 + 1e-12


def test_the_older_noise() -> None:
    """Parameters are cut off at 1; the last takes the rest, a factor not positive is
    left out.
    """
    start = np.array([8.0, 8.0, 8.0])
    noise = np.floor(np.random.default_rng(4).laplace(0, 2 / 0.8, (DRAWS, 2)))
    first = np.maximum(start[:2] + noise, 1.0)
    released = np.column_stack((first, start.sum() - first.sum(axis=1)))
    assert (released[:, 2] <= 0).mean() > 0.01

    def log_beta(v):
        return sum(gammaln(np.where(c > 0, c, 1.0)) for c in v.T) - gammaln(
            v.sum(axis=1)
        )

    whole = np.broadcast_to(start, released.shape)
    affinity = (
        log_beta((whole + released) / 2) - (log_beta(whole) + log_beta(released)) / 2
    )
    drawn = np.sqrt(np.clip(-np.expm1(affinity), 0.0, 1.0))
    law = OlderLaplace(0.8).distances([5, 5, 5], [3, 3, 3])
    assert law.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert close(law.values, law.masses, drawn)
    wrong = OlderLaplace(0.73).distances([5, 5, 5], [3, 3, 3])
    assert not close(wrong.values, wrong.masses, drawn)


def test_the_repaired_noise() -> None:
    start = np.array([9.0, 7.0])
    noise = np.round(np.random.default_rng(5).laplace(0, 2 / 0.5, DRAWS))
    second = start[1] + noise
    kept = (second > 0) & (second < start.sum())
    drawn = dp.hellinger(start, np.column_stack((start.sum() - second, second))[kept])
    law = RepairedLaplace(0.5).distances([2, 3], [7, 4])
    assert law.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert close(law.values, law.masses, drawn)
    wrong = RepairedLaplace(0.45).distances([2, 3], [7, 4])
    assert not close(wrong.values, wrong.masses, drawn)


def test_neighbours_of_the_programs() -> None:
    for x in ([0, 4, 3], [2, 2, 3], [7, 0, 0]):
        local = float(distance_from_log_affinity(neighbour_affinity(np.add(x, 1.0)))[0])
        assert local == pytest.approx(
            dp.local_sensitivity(x, [1, 1, 1]).value, abs=1e-12
        )
    strong = float(
        distance_from_log_affinity(neighbour_affinity([[3.0, 10.0, 9.0]]))[0]
    )
    assert strong > dp.local_sensitivity([0, 7, 6], [3, 3, 3]).value
    one_sided = neighbour_affinity([[2.0, 9.0]], one_sided=True)
    assert one_sided[0] > neighbour_affinity([[2.0, 9.0]])[0]


def test_bs_program_is_expmech_delta_with_l1_and_2n() -> None:
    options = {"delta": 5e-4, "distance": "l1", "failure_term": "2n"}
    expected = dp.mechanism("expMech-delta", 0.8, **options).law([5, 5, 5], [1, 1, 1])
    drawn = drafted_delta(0.8, 5e-4).law([5, 5, 5], [1, 1, 1])
    assert drawn.mean_distance() == pytest.approx(expected.mean_distance(), abs=1e-12)
    ninety = drafted_delta(0.8, 5e-4, records=90).law([10, 10, 10], [20.0, 20.0, 20.0])
    assert set(ninety.outputs.sum(axis=1)) == {90}
    assert ninety.distances.min() > 0


def test_sensitivities_given_as_numbers() -> None:
    assert dp.global_sensitivity(1, [1, 1]).value == pytest.approx(
        GLOBAL_AS_DRAWN, abs=1e-12
    )
    law = given_global(1.0).law([30, 30], [1, 1])
    distance = float(dp.hellinger_published([31, 31], [32, 30]))
    ratio = np.diff(np.log(law.probabilities[30:32]))[0]
    assert ratio == pytest.approx(-distance / (2 * GLOBAL_AS_DRAWN), abs=1e-9)
    # A large beta makes the sensitivity local.
    local = dp.mechanism("expMech-local", 1.0, metric="published", divisor=4.0)
    drawn = given_beta(1.0, beta=50.0).law([30, 30], [1, 1])
    expected = local.law([30, 30], [1, 1]).mean_distance()
    assert drawn.mean_distance() == pytest.approx(expected, abs=1e-12)


def test_cs_program_has_no_factor_2() -> None:
    x, prior = [110, 190], [7.0, 4.0]
    law = notes_program("global", 0.5, 0.8).law(x, prior)
    gs = float(dp.hellinger(prior, [8.0, 3.0]))
    ratio = np.log(law.probability([111, 189]) / law.probability(x))
    assert ratio == pytest.approx(
        -0.5 * float(dp.hellinger([117, 194], [118, 193])) / gs, abs=1e-9
    )
    smooth, local = (
        notes_program(kind, 0.5, 0.8).law(x, prior) for kind in ("smooth", "local")
    )
    assert smooth.mean_distance() == pytest.approx(local.mean_distance(), abs=1e-12)


def test_masses_of_distances_are_sums_over_candidates() -> None:
    counts, mechanism = [3, 5], dp.mechanism("lapMech", 1.0)
    law, sums = mechanism.law(counts, [1.0, 1.0]), defaultdict(float)
    for first in range(9):
        c = hellinger_published([4.0, 6.0], [first + 1.0, 9.0 - first])
        sums[round(float(c), 12)] += float(law.probability([first, 8 - first]))
    value = mass_at(mechanism, counts)
    assert [value(str(c + 1e-9)) for c in sorted(sums)] == pytest.approx(
        [sums[c] for c in sorted(sums)], abs=1e-13
    )
