"""Document C's two panels side by side: single runs of Figure 2, boxes of Figure 3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbayes.study.reproduction.catalogue import judged
from dpbayes.study.reproduction.fit import Judged, drawn_boxes
from dpbayes.study.reproduction.notes import PANELS

Run = tuple[str, NDArray[np.float64], float, tuple[float, float, float]]
Box = tuple[
    str, list[NDArray[np.float64]], list[list[float]], list[tuple[int, float, float, float]]
]
BOTH = ("a", "b")


def titles(figure: str) -> list[str]:
    """Return data and epsilon of both panels in words.

    >>> titles("2")
    ['x = (110, 190), ε = 0.5', 'x = (79, 121), ε = 0.8']
    """
    return [f"x = {x}, ε = {epsilon:g}" for x, epsilon in (PANELS[figure, one] for one in BOTH)]


def single_runs(panel: str, seed: int) -> list[Run]:
    """Return what a panel of Figure 2 needs: for each algorithm its name, as many simulated runs
    as the picture has, their exact mean, and the published mean as (value, error, z)."""
    found = []
    for one in judged("C", "2", panel):
        (point,) = one.series.points
        samples, _ = drawn_boxes(one.series, [point.x], seed)
        mean = one.series.drawn.expected(point.x, point.statistic).value
        found.append((one.series.curve, samples[0], mean, one.readings[0][1:]))
    return found


def boxes_of_both(seed: int) -> tuple[list[Box], list[Judged]]:
    """Return the boxes of Figure 3 as drawn, two for each algorithm, and the fits of both panels.

    A box is its algorithm's name, two samples, two rows of quartiles and the readings, whose first
    entry is the number of the panel.
    """
    fits = [judged("C", "3", panel) for panel in BOTH]
    found = []
    for pair in zip(*fits, strict=True):
        sizes = [one.series.points[0].x for one in pair]
        drawn = [drawn_boxes(one.series, [x], seed) for one, x in zip(pair, sizes, strict=True)]
        read = [
            (number, y, error, z)
            for number, (one, x) in enumerate(zip(pair, sizes, strict=True))
            for _, y, error, z in one.in_boxes([x])
        ]
        samples, quartiles = [box[0][0] for box in drawn], [box[1][0] for box in drawn]
        found.append((pair[0].series.curve, samples, quartiles, read))
    return found, [one for panel in fits for one in panel]
