"""The prices behind the lower bounds for many records, kept with the package.

A search found them (in commit f14be0f); `tools/check_prices.py` checks all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_check import PriceCheck

Case = tuple[int, int, float]
"""Categories, records and epsilon."""

CASES: tuple[Case, ...] = tuple((3, n, e) for n in (300, 1000) for e in (5.0, 2.0, 1.0, 0.5))
"""The cases whose prices are kept."""


@dataclass(frozen=True)
class Prices:
    """Prices `units` / 2^`bits` (M,), one for each class of data sets in the order of `simplex`."""

    units: NDArray[np.int64]
    bits: int

    def check(self, case: Case) -> PriceCheck:
        """Return the check of these prices; flat prior."""
        k, n, epsilon = case
        return PriceCheck(simplex(n, k), epsilon, self.units, self.bits)

    @property
    def values(self) -> NDArray[np.float64]:
        """The prices as floating-point numbers, exactly."""
        return np.asarray(self.units / 2.0**self.bits)


def read_prices(path: Path | None = None) -> dict[Case, Prices]:
    """Return the prices that ship with the package, or those of the file `path`."""
    source = files("dpbayes").joinpath("data", "simplex-prices.npz") if path is None else path
    found = {}
    with as_file(source) as name, np.load(name) as arrays:
        for key in arrays.files:
            k, n, epsilon, bits = key.split(" ")
            # Second differences are small numbers, and pack well.
            units = np.cumsum(np.cumsum(arrays[key].astype(np.int64)))
            found[int(k), int(n), float(epsilon)] = Prices(units, int(bits))
    return found
