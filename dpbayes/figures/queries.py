"""Figures of mass vectors and of streams of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dpbayes.figures.language import REFERENCE, SERIES, styles
from dpbayes.figures.theme import HEIGHT, WIDTH, new_axes, new_panels


def mass_panels(
    exact: ArrayLike, approximations: Mapping[str, ArrayLike], xlabel: str, shown: int
) -> tuple[Figure, str]:
    """Draw each approximation as bars, one panel each, with the exact masses as a line.

    `exact` and each approximation have odd length with cell 0 in the middle; `shown` is the largest
    cell index drawn. Returns the figure and its alternative text.
    """
    if not approximations:
        raise ValueError("approximations must hold at least one mass vector")
    cells = np.arange(-shown, shown + 1)
    truth = _centred(exact, shown)
    rows = len(approximations)
    figure, panels = new_panels(rows, 1, WIDTH, HEIGHT * (0.4 + 0.5 * rows), sharex=True)
    gaps = []
    for (axes,), (title, masses) in zip(panels, approximations.items(), strict=True):
        bars = _centred(masses, shown)
        axes.bar(
            cells, bars, width=1.0, color=SERIES[2], alpha=0.5, linewidth=0, label="approximation"
        )
        axes.plot(cells, truth, color=SERIES[1], label="exact")
        axes.set(title=title, ylabel="probability")
        axes.legend(loc="upper right")
        gap = np.abs(bars - truth).max()
        gaps.append(f"The largest difference of {title} from it in a cell is {gap:.2g}")
    panels[-1][0].set_xlabel(xlabel)
    peak = f"The exact masses form a symmetric peak of {truth.max():.3g} at 0"
    return figure, f"{rows} panels of bars with a line. {peak}. {'. '.join(gaps)}."


def _centred(masses: ArrayLike, shown: int) -> np.ndarray:
    vector = np.asarray(masses, dtype=np.float64)
    if vector.ndim != 1 or vector.size % 2 == 0:
        raise ValueError(f"masses must be a vector of odd length, got shape {vector.shape}")
    half = vector.size // 2
    padded = np.pad(vector, max(0, shown - half))
    middle = padded.size // 2
    return np.asarray(padded[middle - shown : middle + shown + 1])


def stream_panels(
    answered: Mapping[str, ArrayLike], spent: Mapping[str, ArrayLike], bound: float
) -> tuple[Figure, str]:
    """Draw the share answered and the budget spent after each question, one line a rule.

    Both mappings have the same keys; values have one entry a question. Returns the figure and its
    alternative text.
    """
    if not answered or list(answered) != list(spent):
        raise ValueError("answered and spent must have the same rules, at least one")
    figure, panels = new_panels(2, 1, WIDTH, 1.5 * HEIGHT, sharex=True)
    above, below = panels[0][0], panels[1][0]
    looks = {rule: {**look, "marker": None} for rule, look in styles(answered).items()}
    for rule, look in looks.items():
        share, used = np.asarray(answered[rule]), np.asarray(spent[rule])
        asked = np.arange(1, share.size + 1)
        above.plot(asked, share, label=rule, **look)
        below.step(asked, used, where="post", label=rule, **look)
    below.axhline(bound, **REFERENCE)
    below.annotate("bound", (1, bound), xytext=(0, 3), textcoords="offset points", color="0.3")
    above.set(ylabel="share answered", ylim=(0.0, 1.05))
    below.set(xlabel="questions asked", ylabel="overall cost")
    handles, names = above.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=2, frameon=False)
    ends = [f"{rule} {float(np.asarray(share)[-1]):.0%}" for rule, share in answered.items()]
    text = f"Two panels over the questions asked. Shares answered at the end: {'; '.join(ends)}."
    return figure, f"{text} Below, the overall cost climbs in steps towards the bound of {bound:g}."


def probability_curves(
    x: ArrayLike, curves: Mapping[str, ArrayLike], xlabel: str, ylabel: str, marked: Sequence[float]
) -> tuple[Figure, str]:
    """Draw probabilities between 0 and 1 over one axis, with vertical marks.

    `x` (m,), each curve (m,); `marked` places on the axis. Returns the figure and its alternative
    text.
    """
    if not curves:
        raise ValueError("curves must hold at least one curve")
    points = np.asarray(x, dtype=np.float64)
    figure, axes = new_axes(xlabel, ylabel)
    texts = []
    looks = styles(curves)
    for label, values in curves.items():
        heights = np.asarray(values, dtype=np.float64)
        axes.plot(points, heights, label=label, **{**looks[label], "marker": None})
        texts.append(f"{label} goes from {heights[0]:.3g} to {heights[-1]:.3g}")
    for place in marked:
        axes.axvline(place, **REFERENCE)
    axes.set_ylim(-0.02, 1.02)
    axes.legend(loc="best")
    return figure, f"Curves of {ylabel} against {xlabel}: {'; '.join(texts)}."
