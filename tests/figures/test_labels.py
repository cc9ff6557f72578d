"""Labels beside the ends of curves: in their order, apart, and dark enough to read."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import minimize

from dpbayes.figures._labels import label_ends, spread
from dpbayes.figures.language import SERIES


def axes(xscale: str = "linear", yscale: str = "linear") -> Axes:
    one = Figure(figsize=(4, 3)).subplots()
    one.set(xlim=(1, 100), ylim=(0.01, 1), xscale=xscale, yscale=yscale)
    return one


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.12))
def test_spread_labels_keep_order_and_distance(positions: list[float], gap: float) -> None:
    placed = np.array(spread(positions, gap))
    order = np.argsort(positions, kind="stable")
    assert np.all(np.diff(placed[order]) >= gap - 1e-9)
    assert placed.min() >= -1e-9
    assert placed.max() <= 1 + 1e-9


@given(st.lists(st.floats(0.2, 0.8), min_size=1, max_size=1))
def test_a_single_label_stays_at_its_curve(positions: list[float]) -> None:
    assert spread(positions, 0.1) == pytest.approx(positions, abs=1e-9)


@pytest.mark.parametrize("positions", [[0.2, 0.21, 0.8], [0.5, 0.5, 0.5], [0.9, 0.3, 0.35, 0.4]])
def test_labels_move_as_little_as_possible(positions: list[float]) -> None:
    gap, wanted = 0.1, np.array(positions)
    order = np.argsort(wanted, kind="stable")
    apart = [
        {"type": "ineq", "fun": lambda at, i=i, j=j: at[j] - at[i] - gap}
        for i, j in pairwise(order)
    ]
    best = minimize(lambda at: ((at - wanted) ** 2).sum(), wanted, constraints=apart, tol=1e-12)
    np.testing.assert_allclose(spread(positions, gap), best.x, atol=1e-5)


def test_what_leaves_the_axes_is_pushed_back() -> None:
    assert spread([1.0, 1.0, 0.98], 0.2) == [0.8, 1.0, 0.6]
    assert spread([], 0.1) == []


@pytest.mark.parametrize(("xscale", "yscale"), [("linear", "linear"), ("log", "log")])
def test_a_label_has_its_tie_at_the_end_of_its_curve(xscale: str, yscale: str) -> None:
    one = axes(xscale, yscale)
    label_ends(one, [(100.0, 0.1), (100.0, 1.0)], ["low", "high"], SERIES[:2], 3.0)
    ends = {text.get_text(): text.xy for text in one.texts}
    assert ends["high"] == (1.0, 1.0)
    expected = 0.5 if yscale == "log" else (0.1 - 0.01) / 0.99
    assert ends["low"] == pytest.approx((1.0, expected))
    assert all(text.arrow_patch is not None for text in one.texts)


def test_a_curve_that_ends_early_has_its_label_there_and_no_tie() -> None:
    one = axes()
    label_ends(one, [(50.5, 0.505), (100.0, 0.505)], ["early", "late"], SERIES[:2], 3.0)
    early, late = one.texts
    assert early.xy == pytest.approx((0.5, 0.5))
    assert early.arrow_patch is None
    assert late.xyann[0] > 1.0


@pytest.mark.parametrize("height", [0.06, 0.5, 0.95])
@pytest.mark.parametrize("between", [0.0, 0.02, 0.2])
def test_labels_of_curves_that_end_early_lie_on_none_of_each_other(
    height: float, between: float
) -> None:
    one = axes()
    ends = [(20.0 + 100 * between * i, height) for i in range(3)]
    label_ends(one, ends, ["3 categories", "4 categories", "5 categories"], SERIES[:3], 3.0)
    one.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in one.texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
