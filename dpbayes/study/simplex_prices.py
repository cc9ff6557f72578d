"""The prices behind the lower bounds for many records, kept with the package.

`tools/price_simplex.py` computes them, `tools/check_prices.py` checks all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpbayes.study.simplex import Simplex, simplex
from dpbayes.study.simplex_check import PriceCheck

Case = tuple[int, int, float]
"""Categories, records and epsilon."""

CASES: tuple[Case, ...] = tuple((3, n, e) for n in (300, 1000) for e in (5.0, 2.0, 1.0, 0.5))
"""The cases whose prices are kept."""

_FINE = 1e-6  # prices are kept in units of at most this part of their mean


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


def rounded(space: Simplex, prices: NDArray[np.float64]) -> Prices:
    """Return prices rounded down to whole units; what was proved of higher prices holds for them.

    >>> rounded(simplex(2), np.array([0.3, 0.5])).bits
    22
    """
    bits = int(np.ceil(-np.log2(_FINE * space.mean(prices))))
    return Prices(np.floor(prices * 2.0**bits).astype(np.int64), bits)


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


def write_prices(found: Mapping[Case, Prices], path: Path) -> None:
    """Write prices to `path`, in the order of their cases."""
    arrays = {}
    for (k, n, epsilon), one in sorted(found.items()):
        bent = np.diff(one.units, n=2, prepend=[0, 0])
        arrays[f"{k} {n} {epsilon:g} {one.bits}"] = bent.astype(np.int32)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
