"""Boxes against dense matrices, and their estimates against the dense estimator."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.boxes import Boxes, blue_of_boxes


def random_boxes(rng: np.random.Generator, shape: tuple[int, ...], count: int) -> Boxes:
    ends = [
        [np.sort(rng.choice(side + 1, 2, replace=False)) for side in shape] for _ in range(count)
    ]
    low, high = np.array(ends).transpose(2, 0, 1)
    return Boxes(shape, low, high)


@pytest.mark.parametrize("shape", [(9,), (5, 4), (3, 2, 4)])
def test_sums_spreads_and_overlaps_are_those_of_the_dense_rows(shape):
    rng = np.random.default_rng(len(shape))
    boxes, other = random_boxes(rng, shape, 7), random_boxes(rng, shape, 5)
    dense, cells, weights = boxes.dense(), rng.normal(size=int(np.prod(shape))), rng.normal(size=7)
    rows = [queries.range_query(shape, a, b) for a, b in zip(boxes.low, boxes.high, strict=True)]
    assert np.array_equal(dense, rows)
    np.testing.assert_allclose(boxes.answers(cells), dense @ cells, atol=1e-12)
    np.testing.assert_allclose(boxes.spread(weights).reshape(-1), weights @ dense, atol=1e-12)
    assert np.array_equal(boxes.overlaps(other), dense @ other.dense().T)


@pytest.mark.parametrize(("shape", "count"), [((12,), 6), ((12,), 40), ((5, 6), 20), ((5, 6), 90),
                                              ((3, 3, 3), 60), ((1000,), 30)])  # fmt: skip
@pytest.mark.parametrize("spread", [1.0, 1e3])
def test_estimates_are_those_of_the_dense_estimator(shape, count, spread):
    rng = np.random.default_rng(count)
    history, targets = random_boxes(rng, shape, count), random_boxes(rng, shape, 8)
    again = [*range(count), *range(min(5, count))]
    history = Boxes(shape, history.low[again], history.high[again])
    targets = Boxes(
        shape,
        np.vstack([targets.low, history.low[:3]]),
        np.vstack([targets.high, history.high[:3]]),
    )
    b = spread ** rng.uniform(0.0, 1.0, len(history))
    found = blue_of_boxes(history, b, targets)
    expected = queries.blue(history.dense(), b, targets.dense())
    assert np.array_equal(found.blue.estimable, expected.estimable)
    assert found.blue.estimable[-3:].all()
    known = expected.estimable
    np.testing.assert_allclose(found.blue.variance[known], expected.variance[known], rtol=1e-9)
    ours, theirs = found.blue.weights[known] * b, expected.weights[known] * b
    assert np.abs(ours - theirs).max() <= 1e-7 * np.abs(theirs).max()
    missing = found.blue.weights[known] @ history.dense() - targets.dense()[known]
    np.testing.assert_allclose(np.abs(missing).max(axis=1), found.residuals[known], atol=1e-13)
    assert np.isnan(found.blue.weights[~known]).all()


def test_a_large_cube_needs_no_dense_matrix():
    rng = np.random.default_rng(3)
    shape = (10**5, 1000)
    history = random_boxes(rng, (10**5, 1000), 60)
    found = blue_of_boxes(
        history, rng.uniform(1.0, 9.0, 60), Boxes(shape, history.low[:2], history.high[:2])
    )
    assert found.blue.estimable.all()
    assert found.residuals.max() < 1e-12


BAD = [
    (((4,), [[0.5]], [[2]]), "low must be whole numbers, got"),
    (((4,), [[2]], [[2]]), "low and high must satisfy 0 <= low < high"),
    (((4,), [[0]], [[5]]), "low and high must satisfy 0 <= low < high"),
    (((4, 4), [[0]], [[5]]), "low must be whole numbers of shape"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_boxes_are_refused(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Boxes(*given)


def test_bad_histories_are_refused():
    boxes = Boxes((4,), [[0]], [[2]])
    with pytest.raises(ValueError, match="targets must be boxes of shape"):
        blue_of_boxes(boxes, [1.0], Boxes((5,), [[0]], [[2]]))
    with pytest.raises(ValueError, match="scales"):
        blue_of_boxes(boxes, [0.0], boxes)
    many = Boxes((4,), np.zeros((10_001, 1), dtype=int), np.ones((10_001, 1), dtype=int))
    with pytest.raises(ValueError, match="history must have at most 10000 boxes, got 10001"):
        blue_of_boxes(many, np.ones(10_001), boxes)
