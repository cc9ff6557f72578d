"""Counts cut so that they sum up to n, against a direct loop over the noise's steps."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import pytest

import dpbayes as dp
from dpbayes.study.post_processing import SummingToN


def by_hand(counts: list[int], scale: float) -> dict[tuple[int, ...], float]:
    """Return the law by going through every whole noise that is not clamped, and the tails."""
    n = sum(counts)

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
        found[*released, left] += math.prod(m[r] for m, r in zip(marginals, noisy, strict=True))
    return found


@pytest.mark.parametrize("counts", [[3, 2], [2, 3, 1], [1, 2, 1, 2]])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_law_is_that_of_a_loop(counts: list[int], epsilon: float) -> None:
    law = SummingToN(dp.mechanism("ilapMech", epsilon)).law(counts, [1.0] * len(counts))
    expected = by_hand(counts, (1 if len(counts) == 2 else 2) / epsilon)
    for output, probability in zip(law.outputs.tolist(), law.probabilities, strict=True):
        assert probability == pytest.approx(expected.get(tuple(output), 0.0), abs=1e-13)
    assert float(law.probabilities.sum()) == pytest.approx(1.0, abs=1e-12)


def test_with_two_categories_it_is_the_clamping_of_the_mechanism_itself() -> None:
    base = dp.mechanism("lapMech", 0.7)
    cut, plain = SummingToN(base).law([4, 9], [1, 2]), base.law([4, 9], [1, 2])
    assert cut.mean_distance() == pytest.approx(plain.mean_distance(), rel=1e-12)


def test_every_output_has_n_records_which_the_mechanism_itself_does_not_promise() -> None:
    base = dp.mechanism("ilapMech", 0.2)
    cut, plain = SummingToN(base).law([1, 1, 1], [1] * 3), base.law([1, 1, 1], [1] * 3)
    assert set(cut.outputs.sum(axis=1)) == {3}
    assert int(plain.outputs.sum(axis=1).max()) > 3


def test_cutting_is_post_processing_and_keeps_the_promise() -> None:
    base = dp.mechanism("ilapMech", 0.8)
    assert dp.audit(SummingToN(base), 5, [1, 1, 1]).epsilon <= 0.8 + 1e-12
    assert SummingToN(base).name == "ilapMech, summing to n"
    assert SummingToN(base).epsilon == base.epsilon
