"""The look shared by all figures, and the bytes a figure becomes."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from dpbayes.figures.theme import (
    PNG_DPI,
    new_axes,
    new_panels,
    plain,
    plain_decades,
    png_bytes,
    svg_bytes,
)


def drawn() -> Figure:
    figure, axes = new_axes("records", "mean distance")
    axes.plot([1, 2, 3], [0.1, 0.3, 0.2], label="a")
    axes.legend()
    return figure


@pytest.mark.slow
def test_the_same_figure_gives_the_same_bytes_and_no_date() -> None:
    svg = svg_bytes(drawn(), "part/x")
    assert svg == svg_bytes(drawn(), "part/x")
    assert svg != svg_bytes(drawn(), "part/y")  # the salt is in the names of its parts
    assert b"<dc:date>" not in svg
    assert png_bytes(drawn()) == png_bytes(drawn())


@pytest.mark.slow
def test_saving_twice_moves_nothing() -> None:
    figure = drawn()
    first = svg_bytes(figure, "x")
    png_bytes(figure)
    assert svg_bytes(figure, "x") == first


@pytest.mark.slow
def test_no_global_state_is_left_behind() -> None:
    before = dict(mpl.rcParams)
    svg_bytes(drawn(), "x")
    assert dict(mpl.rcParams) == before


@pytest.mark.slow
def test_a_png_has_the_size_of_the_figure() -> None:
    header = png_bytes(new_panels(1, 2, 4.0, 2.0)[0])
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(header[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (4 * PNG_DPI, 2 * PNG_DPI)


def test_panels_are_rows_of_axes() -> None:
    figure, panels = new_panels(2, 3, sharex=True)
    assert [len(row) for row in panels] == [3, 3]
    assert [axes for row in panels for axes in row] == figure.axes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "decimals"), [(0.02, 0.9, True), (1e-6, 1.0, False), (1.0, 1e5, False)]
)
def test_short_logarithmic_axes_have_plain_labels(low: float, high: float, decimals: bool) -> None:
    figure, axes = new_axes("x", "y")
    axes.set(yscale="log", ylim=(low, high))
    plain_decades(axes)
    figure.draw_without_rendering()
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert any("10^{" in text for text in shown) != decimals
    if decimals:
        inside = [text for text in shown if text and low <= float(text) <= high]
        assert {"0.05", "0.1", "0.2", "0.5"} <= set(inside)


@pytest.mark.parametrize("value", [0.05, 1.0, 300.0, 20_000.0, 1_234_567.0])
def test_a_plain_number_reads_back(value: float) -> None:
    assert float(plain(value).replace("\u202f", "")) == pytest.approx(value)
    assert "e" not in plain(value)


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(100, 100_000), (90, 20_000), (200, 20_000), (1, 400)])
def test_labels_of_a_logarithmic_axis_do_not_touch(low: float, high: float) -> None:
    figure, axes = new_axes("n", "y", width=5.2)
    axes.set(xscale="log", xlim=(low, high))
    plain_decades(axes, "x")
    figure.draw_without_rendering()
    shown = [one for one in axes.get_xticklabels() if one.get_text()]
    boxes = [one.get_window_extent() for one in shown if low <= one.get_position()[0] <= high]
    assert len(boxes) >= 2
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
