"""Points read by eye off the published figures; drawn as markers, never put into a computation."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate


@dataclass(frozen=True)
class Readings:
    """Readings of one published curve: values (m,) at sizes (m,), each within `errors` (m,)."""

    figure: str
    curve: str
    sizes: NDArray[np.int64]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("sizes", "values", "errors"):
            object.__setattr__(self, name, _validate.frozen(getattr(self, name)))


@lru_cache(maxsize=1)
def _rows() -> tuple[dict[str, str], ...]:
    text = files("dpbayes").joinpath("data/published.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def published_figures() -> tuple[str, ...]:
    """Return the names of the figures that readings exist for.

    >>> "D-F5" in published_figures()
    True
    """
    return tuple(dict.fromkeys(row["figure"] for row in _rows()))


def published_curves(figure: str) -> tuple[str, ...]:
    """Return the names of the curves of one figure that readings exist for.

    >>> published_curves("D-F5")
    ('expMech', 'ilapMech', 'lapMech')
    """
    _validate.choice("figure", figure, published_figures())
    return tuple(dict.fromkeys(row["curve"] for row in _rows() if row["figure"] == figure))


def published(figure: str, curve: str) -> Readings:
    """Return the readings of one curve of a published figure, such as ("D-F5", "expMech").

    Raises ValueError, with the names that exist, for a figure or curve without readings.
    Book: `published-readings`.

    >>> published("D-F5", "expMech").values[:2]
    array([0.194, 0.12 ])
    """
    _validate.choice("curve", curve, published_curves(figure))
    rows = [row for row in _rows() if row["figure"] == figure and row["curve"] == curve]
    return Readings(
        figure,
        curve,
        np.array([int(row["n"]) for row in rows], dtype=np.int64),
        np.array([float(row["value"]) for row in rows]),
        np.array([float(row["reading_error"]) for row in rows]),
    )
