"""Document C, the notes: Figures 1 to 3. Its captions state no settings at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from numpy.typing import ArrayLike

from dpbayes.study.reproduction.drawing import Drawing, Series, releases, values
from dpbayes.study.reproduction.noise import RepairedLaplace
from dpbayes.study.reproduction.programs import notes_program
from dpbayes.study.score_changes import score_changes

PRIOR, DELTA, RUNS = (7.0, 4.0), 0.8, 200
KINDS = ("global", "Laplace", "local", "smooth")
# Data set and epsilon of each panel; those of Figure 3 are the ones that fit its boxes best.
PANELS: dict[tuple[str, str], tuple[tuple[int, int], float]] = {
    ("2", "a"): ((110, 190), 0.5),
    ("2", "b"): ((79, 121), 0.8),
    ("3", "a"): ((261, 39), 0.5),
    ("3", "b"): ((90, 410), 0.8),
}
CAUSE = "the program: prior (7, 4), δ = 0.8, exponent without the factor 2, one-sided neighbours"
FITTED = CAUSE + "; the data were drawn at random and are fitted here"


def change_of(counts: ArrayLike, prior: ArrayLike) -> Callable[[str], float]:
    """Return the largest one-sided change of the score as a function of a label "31/12/7"."""
    table: dict[tuple[int, ...], float] = {}

    def value(x: str) -> float:
        if not table:
            outputs, changes = score_changes(counts, prior, one_sided=True)
            rows = (tuple(map(int, row)) for row in outputs)
            table.update(zip(rows, map(float, changes), strict=True))
        return table[tuple(int(count) for count in x.split("/"))]

    return value


def _panel(figure: str, panel: str) -> list[Series]:
    counts, epsilon = PANELS[figure, panel]
    words = f"x = {counts}, ε = {epsilon}, prior (7, 4), δ = 0.8, 200 runs"
    noise = RepairedLaplace(epsilon)
    drawn = {
        kind: releases(
            words, notes_program(kind, epsilon, DELTA), lambda x: (counts, PRIOR), runs=RUNS
        )
        for kind in KINDS
        if kind != "Laplace"
    }
    drawn["Laplace"] = Drawing(
        words, lru_cache(maxsize=None)(lambda x: noise.distances(counts, PRIOR)), RUNS
    )
    cause, commit = (CAUSE, "82b04c2") if figure == "2" else (FITTED, "c13aac0")
    return [Series("C", figure, panel, kind, None, drawn[kind], cause, commit) for kind in KINDS]


def notes_series() -> tuple[Series, ...]:
    """Return the series of C's figures."""
    words = "x = (31, 10, 9), prior (7, 4, 5), neighbours x + e_i - e_j with i < j only"
    change = values(words, change_of((31, 10, 9), (7.0, 4.0, 5.0)))
    cause = "no settings are stated; half of the neighbours are tried"
    first = Series("C", "1", "", "max score change", None, change, cause, "c13aac0")
    return (first, *(series for key in PANELS for series in _panel(*key)))
