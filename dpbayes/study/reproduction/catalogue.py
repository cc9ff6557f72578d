"""All series of points, by document and figure."""

from __future__ import annotations

from functools import lru_cache

from dpbayes import _validate
from dpbayes.study.reproduction.abstract import abstract_series
from dpbayes.study.reproduction.draft import draft_series
from dpbayes.study.reproduction.drawing import Series
from dpbayes.study.reproduction.fit import Published, judge
from dpbayes.study.reproduction.notes import notes_series
from dpbayes.study.reproduction.paper import paper_series


@lru_cache(maxsize=1)
def catalogue() -> tuple[Series, ...]:
    """Return every series that points were read for, documents in the order D, A, B, C."""
    return (*paper_series(), *abstract_series(), *draft_series(), *notes_series())


def figure_series(document: str, figure: str, panel: str | None = None) -> dict[str, Series]:
    """Return the series of one figure, or of one of its panels, by the names of their curves.

    Without `panel` the figure must have one panel only.

    >>> list(figure_series("D", "5"))
    ['lapMech', 'ilapMech', 'expMech-delta']
    """
    _validate.choice("document", document, ("A", "B", "C", "D"))
    found = [s for s in catalogue() if (s.document, s.figure) == (document, figure)]
    panels = tuple(dict.fromkeys(series.panel for series in found))
    _validate.choice(
        "figure", figure, tuple({s.figure: 0 for s in catalogue() if s.document == document})
    )
    if panel is not None or len(panels) > 1:
        _validate.choice("panel", panel or "", panels)
    return {s.curve: s for s in found if panel is None or s.panel == panel}


@lru_cache(maxsize=64)
def published(document: str, figure: str, *panels: str) -> Published:
    """Return the curves of one printed figure, or of some of its panels, with their fits."""
    chosen = [figure_series(document, figure, panel) for panel in panels or (None,)]
    drawn = {s.panel for s in catalogue() if (s.document, s.figure) == (document, figure)}
    part = ""
    if len(panels) == 1 < len(drawn):
        part = f"({panels[0]})" if len(panels[0]) == 1 else f", {panels[0]}"
    curves = tuple(judge(series) for one in chosen for series in one.values())
    return Published(f"{document}'s Figure {figure}{part}", curves)
