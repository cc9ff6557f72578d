"""The pictures of the first ideas draw what they are given, and say it in words."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import RegularPolygon
from scipy.stats import beta

import dpbayes as dp
from dpbayes.figures.language import LOOKS
from dpbayes.figures.pictures import hexagons, laws_side_by_side, learning, overlap, two_laws
from dpbayes.figures.theme import svg_bytes
from tests.figures.reading_svg import off_the_language

X = np.linspace(0.0, 1.0, 201)


def test_learning_names_each_curve_at_its_peak() -> None:
    curves = {"few": beta(4, 8).pdf(X), "many": beta(31, 71).pdf(X)}
    figure, alt = learning(X, curves)
    (axes,) = figure.axes
    peaks = [(X[np.argmax(y)], y.max()) for y in curves.values()]
    assert [text.xy for text in axes.texts] == [pytest.approx(one) for one in peaks]
    assert "many: highest at 0.3 with density" in alt
    inks = [np.mean(line.get_color()) for line in axes.get_lines()]
    assert inks[0] > inks[1]
    with pytest.raises(ValueError, match="shape"):
        learning(X, {"short": [1.0]})


def test_a_density_without_a_peak_is_called_flat() -> None:
    _, alt = learning(X, {"none": np.ones(X.size), "some": beta(4, 8).pdf(X)})
    assert "none: flat at 1." in alt


def test_all_outputs_that_are_likeliest_are_named() -> None:
    x = np.arange(5.0)
    laws = {"lapMech": [0.1, 0.35, 0.35, 0.1, 0.1], "expMech": [0.2] * 5}
    _, alt = laws_side_by_side(x, laws, 2.0, "released count")
    assert "lapMech: highest at 1 and 2 with 0.35." in alt
    assert "expMech: highest at 5 outputs from 0 to 4 with 0.2." in alt


def test_the_shaded_area_is_the_affinity() -> None:
    a, b = np.array([13.0, 9.0]), np.array([10.0, 12.0])
    distance = float(dp.hellinger(a, b))
    figure, alt = overlap(X, beta(*a).pdf(X), {"3 moved": beta(*b).pdf(X)}, [distance])
    outline = figure.axes[0].collections[0].get_paths()[0].vertices
    x, y = outline[:, 0], outline[:, 1]
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    assert area == pytest.approx(1 - distance**2, abs=1e-3)
    assert f"the area is {1 - distance**2:.3f}" in alt
    with pytest.raises(ValueError, match="one for each"):
        overlap(X, X, {"a": X}, [])


def test_the_band_of_a_promise_holds_the_second_law_exactly_when_it_is_kept() -> None:
    rows = np.column_stack([np.arange(11), 10 - np.arange(11)])
    laws = [dp.mechanism("geometric", 1.0).law([c, 10 - c], [1, 1]) for c in (5, 4)]
    p, q = (law.probability(rows) for law in laws)
    for epsilon, inside in ((1.0, True), (0.9, False)):
        figure, alt = two_laws(rows[:, 0], p, q, epsilon, ("here", "there"))
        bars = figure.axes[0].patches
        low = np.array([bar.get_y() for bar in bars])
        high = low + [bar.get_height() for bar in bars]
        kept = np.all((q >= low * (1 - 1e-9)) & (q <= high * (1 + 1e-9)))
        assert bool(kept) == inside
    assert "a log ratio of 1." in alt
    with pytest.raises(ValueError, match="positive"):
        two_laws([0, 1], [1.0, 0.0], [0.5, 0.5], 1.0, ("a", "b"))


def test_laws_stand_side_by_side_in_their_mechanisms_colours() -> None:
    rows = np.column_stack([np.arange(7), 6 - np.arange(7)])
    names = ["lapMech", "geometric", "expMech", "expMech-smooth"]
    laws = {m: dp.mechanism(m, 1.0).law([3, 3], [1, 1]).probability(rows) for m in names}
    figure, alt = laws_side_by_side(rows[:, 0], laws, 3.0, "released count")
    for name, axes in zip(names, figure.axes, strict=False):
        assert to_hex(axes.patches[0].get_facecolor()).upper() == LOOKS[name].color
        assert [bar.get_height() for bar in axes.patches] == pytest.approx(laws[name].tolist())
        assert axes.get_ylim()[1] >= max(p.max() for p in laws.values())
    assert [axes.axison for axes in figure.axes] == [True] * 4 + [False] * 2
    assert "geometric: highest at 3 with 0.462." in alt
    assert off_the_language(svg_bytes(figure, "x")) == (set(names), [])


def test_a_honeycomb_has_a_cell_for_each_change_and_neighbours_touch() -> None:
    steps = range(-2, 3)
    grid = np.array([[a, b, -a - b] for a in steps for b in steps if abs(a + b) <= 2])
    moved = np.abs(grid).sum(axis=1) // 2
    figure, alt = hexagons(grid, 0.5**moved / 4)
    cells = [one for one in figure.axes[0].patches if isinstance(one, RegularPolygon)]
    assert len(cells) == 19
    centre = cells[[not row.any() for row in grid].index(True)]
    apart = [np.hypot(*np.subtract(cell.xy, centre.xy)) for cell in cells]
    assert sorted(apart)[1:7] == pytest.approx([1.0] * 6)
    assert np.argsort(apart)[:7].tolist() != list(range(7))
    assert all(moved[place] == 1 for place in np.argsort(apart)[1:7])
    assert "A honeycomb of 19 cells" in alt
    with pytest.raises(ValueError, match="sum to 0"):
        hexagons([[1, 0, 0]], [1.0])
