"""Intervals of laws: they reach where the quantiles say, in the colour of their mechanism."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import dpbayes as dp
from dpbayes.figures.language import LOOKS
from dpbayes.figures.spreads import LEVELS, Spread, spreads
from dpbayes.figures.theme import svg_bytes
from tests.figures.reading_svg import off_the_language

GROUPS = ["4", "20"]


def spread_of(name: str) -> Spread:
    laws = [dp.mechanism(name, 1.0).law([n // 2, n // 2], [1, 1]) for n in (4, 20)]
    levels = [[law.quantile(q) for q in LEVELS] for law in laws]
    return Spread(name, levels, [law.mean_distance() for law in laws])


def test_bars_reach_from_quantile_to_quantile() -> None:
    one = spread_of("ilapMech")
    figure, alt = spreads("n", "distance", GROUPS, {"k = 2": [one]})
    thin, thick, gaps = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    wanted = np.asarray(one.quantiles)
    for bars, low, high in ((thin, 0, 4), (thick, 1, 3)):
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        assert ends == pytest.approx(wanted[:, [low, high]])
    assert [segment[0][1] for segment in gaps.get_segments()] == pytest.approx(wanted[:, 2])
    (means,) = figure.axes[0].get_lines()
    assert means.get_ydata() == pytest.approx(np.asarray(one.means))
    assert f"ilapMech: mean {np.asarray(one.means)[0]:.3g} at 4" in alt


def test_panels_share_their_scale_and_mechanisms_their_looks() -> None:
    names = ["lapMech", "expMech-smooth"]
    many = [spread_of(name) for name in names]
    figure, _ = spreads("n", "distance", GROUPS, {str(k): many for k in range(4)})
    shown = [axes for axes in figure.axes if axes.axison]
    assert len(shown) == 4
    assert len({axes.get_ylim() for axes in shown}) == 1
    markers = [line.get_marker() for line in shown[0].get_lines()]
    assert markers == [LOOKS[name].marker for name in names]
    assert off_the_language(svg_bytes(figure, "x")) == (set(names), [])


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        Spread("a", [[0.1, 0.2]], [0.1])
    with pytest.raises(ValueError, match="must not fall"):
        Spread("a", [[0.5, 0.4, 0.3, 0.2, 0.1]], [0.1])
    with pytest.raises(ValueError, match="3 groups"):
        spreads("n", "d", ["1", "2", "3"], {"a": [spread_of("lapMech")]})
    with pytest.raises(ValueError, match="groups"):
        spreads("n", "d", [], {})
