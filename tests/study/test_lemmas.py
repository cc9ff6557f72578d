"""The lemmas' readings against direct evaluation, the proved guarantee against exact
audits.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.study.lemmas import (
    dilation,
    loss_parts,
    proved_guarantee,
    score_law,
    sliding,
)


def delta(epsilon: float = 0.8, **options: object) -> dp.Mechanism:
    return dp.mechanism("expMech-delta", epsilon, **options)


def test_scores_list_every_output_once() -> None:
    law = delta().law([4, 3, 2], [1.0, 0.5, 2.0])
    scores = score_law(delta(), [4, 3, 2], [1.0, 0.5, 2.0])
    assert scores.outputs.sum() == len(law.outputs)
    assert scores.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert scores.formula(scores.distances) * scores.outputs == pytest.approx(
        scores.probabilities, rel=1e-9
    )


cases = st.tuples(
    st.integers(1, 12),
    st.floats(0.0, 1.0),
    st.floats(1e-4, 20.0),
    st.floats(0.05, 20.0),
    st.floats(1e-10, 0.4),
)


@pytest.mark.slow
@given(case=cases)
@settings(max_examples=40, deadline=None)
def test_lemmas_hold_as_formulas(case: tuple[int, float, float, float, float]) -> None:
    n, share, prior, epsilon, failure = case
    x = round(share * n)
    scores = score_law(delta(epsilon, delta=failure), [x, n - x], [prior, 1.0])
    assert sliding(scores, "formula").holds
    assert dilation(scores, "formula").holds
    if scores.outputs.max() == 1:
        assert sliding(scores, "attained").holds
    # For two categories the tail is what the proof says it is.
    assert scores.tail <= 0.5 * failure + 1e-15


def test_two_outputs_with_one_score_break_the_attained_reading() -> None:
    scores = score_law(delta(0.5, delta=1e-6), [10, 10], [1.0, 1.0])
    check = sliding(scores, "attained")
    p = scores.probabilities
    assert not check.holds
    assert check.left == pytest.approx(p[1])
    assert check.right == pytest.approx(np.exp(0.25) * p[0] + 5e-7)


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["hamming", "l1"])
@pytest.mark.parametrize(
    ("n", "prior"), [(6, [1.0, 1.0]), (25, [1e-6, 1e-6]), (12, [1e-3, 80.0])]
)
def test_proved_guarantee_holds_in_exact_audits(
    distance: str, n: int, prior: list[float]
) -> None:
    for epsilon, failure in ((0.8, 1e-8), (5.0, 1e-3), (20.0, 1e-8)):
        mechanism = delta(epsilon, delta=failure, distance=distance)
        proved = proved_guarantee(mechanism, n, 2)
        assert dp.audit(mechanism, n, prior).delta(proved.epsilon) <= proved.delta


@pytest.mark.parametrize(("k", "times"), [(2, 0.5), (3, 13.0), (4, 229.66666666666666)])
def test_the_proved_delta_grows_with_the_candidates(k: int, times: float) -> None:
    # theorem, paper, mechanisms, claims: |R| delta / (2 (n + 1)), not delta.
    proved = proved_guarantee(delta(1.0, delta=1e-6), 50, k)
    assert (proved.epsilon, proved.delta) == (
        1.5,
        pytest.approx(times * 1e-6, rel=1e-9),
    )
    assert times == pytest.approx(dp.number_of_candidates(50, k) / (2.0 * 51.0))


def test_parts_add_up_to_the_loss() -> None:
    mechanism, prior = delta(), [1.0, 1.0]
    for output in ([0, 20], [7, 13], [20, 0]):
        parts = loss_parts(mechanism, [3, 17], [4, 16], output, prior)
        p, q = (mechanism.law(x, prior).probability(output) for x in ([3, 17], [4, 16]))
        assert sum(parts) == pytest.approx(np.log(p / q), abs=1e-12)
