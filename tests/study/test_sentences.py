"""What the smaller sentences are held against, by slower and plainer roads."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw
from dpbayes.study import sentences
from dpbayes.study.printed import all_points


def test_readings_are_points_of_the_printed_figures() -> None:
    found = sentences.readings()
    known = [(point.x, point.y) for point in all_points()]
    assert len(found) == 22
    for value, place in found.values():
        assert (place, value) in known
    assert found["a1-660-ours"][0] < found["a1-660-lap"][0]


def test_medians_of_the_drawn_figure_fall_with_the_prior() -> None:
    even = sentences.drawn_medians("expMech-delta", "10/10/10", [20, 48, 76])
    assert even.shape == (3,)
    assert np.all(np.diff(even) < 0)


@pytest.mark.parametrize("prior", [[0.01, 0.01, 0.01], [0.5, 1.0, 2.0]])
def test_the_printed_smooth_sensitivity_by_plain_loops(prior: list[float]) -> None:
    n, epsilon = 4, 0.7
    rows = [x for x in itertools.product(range(n + 1), repeat=3) if sum(x) == n]

    def far(x: tuple[int, ...], y: tuple[int, ...]) -> float:
        first, second = (np.add(one, prior) for one in (x, y))
        return float(dp.hellinger(first, second))

    near = {x: [y for y in rows if sum(map(abs, np.subtract(x, y))) == 2] for x in rows}
    local = {x: max(far(x, y) for y in near[x]) for x in rows}
    inverse = {x: min(1 / local[x], *(1 / local[y] + 1 for y in near[x])) for x in rows}
    logs = {}
    for x in rows:
        weights = [math.exp(-epsilon * inverse[x] * far(x, r) / 4) for r in rows]
        logs[x] = [math.log(w / sum(weights)) for w in weights]
    pairs = [(x, y) for x in rows for y in near[x]]
    loss = max(abs(p - q) for x, y in pairs for p, q in zip(logs[x], logs[y]))  # noqa: B905
    change = max(abs(inverse[x] - inverse[y]) for x, y in pairs)
    assert sentences.adjacent_only(n, prior, epsilon) == pytest.approx((loss, change))


def test_the_mechanism_as_drawn_keeps_its_promise() -> None:
    sharp, gentle = (sentences.drawn_smooth_loss(30, 1.0, b) for b in (1.0, 0.01))
    assert 0 < gentle < sharp
    assert sentences.drawn_smooth_loss(30, 0.5, 0.01) < gentle <= 1


def test_what_does_not_add_up() -> None:
    one = dp.mechanism("lapMech", 1.0).law([1, 2, 1], [1.0] * 3)
    assert isinstance(one, FiniteLaw)
    off = sum(
        p
        for p, row in zip(one.probabilities, one.outputs, strict=True)
        if sum(row) != 4
    )
    assert sentences.off_total(one, 4) == pytest.approx(off)
    assert off > 0.01
    kept = dp.mechanism("lattice", 1.0).law([1, 2, 1], [1.0] * 3)
    assert isinstance(kept, FiniteLaw)
    assert sentences.off_total(kept, 4) == 0.0


@pytest.mark.parametrize("counts", [[3, 5], [0, 4]])
def test_exact_and_near_answers(counts: list[int]) -> None:
    one = dp.mechanism("expMech-smooth", 1.5)
    exact, near, mean = sentences.exactness(one, counts)
    law = one.law(counts, [1.0, 1.0])
    steps = np.abs(law.outputs[:, 0] - counts[0])
    assert exact == pytest.approx(law.probabilities[steps == 0].sum())
    assert near == pytest.approx(law.probabilities[steps <= 1].sum())
    assert mean == float(law.mean_distance())


def test_all_steps_have_probability_one() -> None:
    sizes = [6, 10]
    steps = sum(sentences.step_probabilities(1.0, sizes, t) for t in range(1, 6))
    smooth = dp.mechanism("expMech-smooth", 1.0)
    exact = [sentences.exactness(smooth, [n // 2] * 2)[0] for n in sizes]
    np.testing.assert_allclose(steps + np.array(exact), 1.0)
