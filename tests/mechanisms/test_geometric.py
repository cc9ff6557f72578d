"""The truncated geometric mechanism."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.geometric import TruncatedGeometric
from tests.reference.laws import DIGITS, Reference, truncated_geometric


def test_geometric_noise_is_symmetric_and_truncated():
    law = dp.mechanism("geometric", epsilon=1.0).law([3, 7], [1, 1])
    ratio = np.exp(-1.0)
    inside = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(1, 10) - 3)
    assert law.probabilities[1:-1] == pytest.approx(inside, rel=1e-13)
    assert law.probabilities[0] == pytest.approx(ratio**3 / (1 + ratio), rel=1e-13)
    assert dp.mechanism("geometric", epsilon=1.0).law([0, 0], [1, 1]).probabilities.tolist() == [1]


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 12.0])
def test_every_probability_is_that_of_the_definition(epsilon):
    with mp.workdps(DIGITS):
        for first in range(7):
            law = TruncatedGeometric(epsilon).law([first, 6 - first], [0.3, 2.0])
            exact = truncated_geometric((first, 6 - first), mp.mpf(epsilon))
            assert {tuple(r) for r in law.outputs.tolist()} == exact.keys()
            for output, found in zip(law.outputs.tolist(), law.probabilities, strict=True):
                assert float(found) == pytest.approx(float(exact[tuple(output)]), rel=1e-13)


def best_by_hand(prior, n, epsilon, noisy):
    """The answer with the least weighted distance over all data; the closest of equally good."""
    exact = Reference(prior, n)

    def loss(s):
        return mp.fsum(
            mp.exp(-epsilon * abs(x - noisy)) * exact.distance((x, n - x), (s, n - s))
            for x in range(n + 1)
        )

    losses = {s: loss(s) for s in range(n + 1)}
    least = min(losses.values())
    tied = [s for s, value in losses.items() if value <= least * (1 + mp.mpf(10) ** -12)]
    return min(tied, key=lambda s: abs(s - noisy))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.05, 3.0)])
def test_a_remapped_release_is_the_best_guess_of_each_noisy_count(epsilon, prior):
    n = 7
    with mp.workdps(30):
        answers = [best_by_hand(prior, n, mp.mpf(epsilon), noisy) for noisy in range(n + 1)]
    for first in range(n + 1):
        plain = TruncatedGeometric(epsilon).law([first, n - first], prior)
        expected = np.bincount(answers, plain.probabilities, n + 1)
        remapped = TruncatedGeometric(epsilon, remap=True).law([first, n - first], prior)
        assert remapped.outputs[:, 0].tolist() == list(range(n + 1))
        assert remapped.probabilities == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("remap", [False, True])
def test_without_records_there_is_one_release(remap):
    law = TruncatedGeometric(1.0, remap).law([0, 0], [1.0, 2.0])
    assert (law.outputs.tolist(), law.probabilities.tolist()) == ([[0, 0]], [1.0])
    assert law.mass_outside == 0.0


def test_far_more_records_than_are_listed_leave_out_what_the_law_says():
    n, epsilon = 10_000_000, 0.01
    law = TruncatedGeometric(epsilon).law([n // 2, n // 2], [1, 1])
    reach = 4600
    assert law.outputs[[0, -1], 0].tolist() == [n // 2 - reach, n // 2 + reach]
    beyond = 2.0 * np.exp(-epsilon * (reach + 1)) / (1.0 + np.exp(-epsilon))
    assert 0.0 < beyond <= law.mass_outside < 1e-19
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    # Beside the truth the steps are those of the noise, as if nothing were clamped.
    near = law.probabilities[reach - 3 : reach + 4]
    assert near / near[3] == pytest.approx(np.exp(-epsilon * np.abs(np.arange(-3, 4))), rel=1e-13)


def test_what_it_cannot_do_is_said():
    with pytest.raises(ValueError, match="counts must have 2 categories for geometric, got 3"):
        TruncatedGeometric(1.0).law([1, 1, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="n = 100000000 records are too many"):
        TruncatedGeometric(1e-6).law([50_000_000, 50_000_000], [1, 1])
    stated = TruncatedGeometric(1.0).guarantee(3)
    assert stated.bound is None
    assert "2 categories, not 3" in stated.sentence
