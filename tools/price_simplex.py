"""Compute the prices behind lower bounds for three categories that are not kept yet, one by one.

python tools/price_simplex.py [file]: the file is written after every case, so the run can be
stopped and taken up again. All cases together take about six minutes on one idle core.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpbayes.study.simplex import simplex
from dpbayes.study.simplex_prices import CASES, read_prices, rounded, write_prices
from dpbayes.study.simplex_record import best_bound, rounds_of

SHIPPED = Path(__file__).parents[1] / "dpbayes" / "data" / "simplex-prices.npz"


def main() -> int:
    """Compute what is missing and print each bound."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    found = read_prices(path) if path.is_file() else {}
    for case in CASES:
        if case in found:
            continue
        k, n, epsilon = case
        prices = best_bound(n, epsilon, rounds_of(k, n, epsilon), k).prices
        found[case] = rounded(simplex(n, k), prices)
        write_prices(found, path)
        lower = found[case].check(case).lower
        print(f"k = {k}, n = {n}, epsilon = {epsilon:g}: {lower!r}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
