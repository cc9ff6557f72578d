"""Compute a line of the record of bounds by boxes again and check answers of it in whole numbers.

python tools/check_boxes.py CATEGORIES RECORDS EPSILON [ANSWERS]: so many answers, by default 100,
in boxes drawn at random. Fails where one undercuts the prices, or where they prove less than the
record says by a ten-thousandth. Where conditions are asked at corners of boxes, the bound is also
held against the mean of the prices of histograms drawn at random. A line takes as long as
`tools/bound_boxes.py`, an answer a second.
"""

from __future__ import annotations

import sys

import numpy as np

from dpbayes.study.simplex_box_check import BoxCheck, CornerCheck
from dpbayes.study.simplex_box_record import found_bound, read_record
from dpbayes.study.simplex_corner_bound import CornerBound

DRAWN = 200_000
"""Histograms whose prices are averaged, where the mean of all of them is only bounded."""


def main() -> int:
    """Say what the prices prove and how little is left over at an answer."""
    k, n, epsilon = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    answers = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    kept = next(one for one in read_record() if (one.k, one.n, one.epsilon) == (k, n, epsilon))
    found, random = found_bound(n, epsilon, kept.ratio, k), np.random.default_rng(0)
    check = CornerCheck(found) if isinstance(found, CornerBound) else BoxCheck(found)
    least = check.least_of_some(answers, random)
    print(
        f"k = {k}, n = {n}, epsilon = {epsilon:g}: {check.lower!r} against {kept.lower!r} in the "
        f"record; of {answers} answers the least leaves {least:.3e}"
    )
    short = least < 0.0 or check.lower < (1.0 - 1e-4) * kept.lower
    if isinstance(check, CornerCheck):
        mean, error = check.mean_of_some(DRAWN, random)
        print(f"the mean price of {DRAWN:,d} histograms drawn at random is {mean!r} ± {error:.1e}")
        short = short or mean + 5.0 * error < check.lower
    return int(short)


if __name__ == "__main__":
    raise SystemExit(main())
