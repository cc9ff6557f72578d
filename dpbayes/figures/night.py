"""The colours of a figure at night: as far from the dark page as they are from white by
day.

The contrast ratio of two colours is (Y₁ + 0.05) / (Y₂ + 0.05) with the relative
luminances Y of WCAG 2.2. The map Y + 0.05 ↦ K / (Y + 0.05) with K = 1.05 (Y_night +
0.05) takes white to the dark page and keeps every ratio between two colours.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

PAGE = "#121212"  # the dark page of the book's theme
COLOR = re.compile(r"#[0-9a-fA-F]{6}(?![0-9a-fA-F])")
_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])


def luminance(color: str) -> float:
    """Return the relative luminance of a colour ``#rrggbb``: 0 for black, 1 for white.

    >>> round(luminance("#0072B2"), 4)
    0.1525
    """
    return float(_linear(color) @ _WEIGHTS)


def at_night(color: str) -> str:
    """Return the colour of the same hue whose contrast with the dark page is its own
    with white.

    White is mixed in only where the full colour is too dark. Nothing is lighter than
    white: black becomes white, a little less far from the page.

    >>> at_night("#FFFFFF") == PAGE.lower()
    True
    """
    light = _linear(color)
    now = float(light @ _WEIGHTS)
    page = luminance(PAGE)
    wanted = min(1.0, 1.05 * (page + 0.05) / (now + 0.05) - 0.05)
    if np.ptp(light) < 1e-9:
        return _hex(
            _linear(PAGE) if wanted <= page * (1 + 1e-9) else np.full(3, wanted)
        )
    bright = light / light.max()
    most = float(bright @ _WEIGHTS)
    if wanted <= most:
        return _hex(bright * wanted / most)
    return _hex(bright + (1.0 - bright) * (wanted - most) / (1.0 - most))


def _linear(color: str) -> NDArray[np.float64]:
    if not COLOR.fullmatch(color):
        raise ValueError(f"color must be '#' and six hexadecimal digits, got {color!r}")
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255.0
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _hex(linear: NDArray[np.float64]) -> str:
    high = (
        1.055 * np.power(linear, 1.0 / 2.4, where=linear > 0, out=np.zeros(3)) - 0.055
    )
    parts = np.where(linear <= 0.0031308, 12.92 * linear, high)
    return "#" + "".join(
        f"{round(float(part) * 255):02x}" for part in np.clip(parts, 0.0, 1.0)
    )
