"""Compute a line of the record of bounds by boxes again and check answers of it in whole numbers.

python tools/check_boxes.py CATEGORIES RECORDS EPSILON [ANSWERS]: so many answers, by default 100,
in boxes drawn at random. Fails where one undercuts the prices, or where they prove less than the
record says by a ten-thousandth. A line takes as long as `tools/bound_boxes.py`, an answer a second.
"""

from __future__ import annotations

import sys

import numpy as np

from dpbayes.study.simplex_box_bound import box_bound
from dpbayes.study.simplex_box_check import BoxCheck
from dpbayes.study.simplex_box_record import FALL, ROUNDS, read_record


def main() -> int:
    """Say what the prices prove and how little is left over at an answer."""
    k, n, epsilon = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    answers = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    kept = next(one for one in read_record() if (one.k, one.n, one.epsilon) == (k, n, epsilon))
    check = BoxCheck(box_bound(n, epsilon, k, ratio=kept.ratio, rounds=ROUNDS, fall=FALL))
    least = check.least_of_some(answers, np.random.default_rng(0))
    print(
        f"k = {k}, n = {n}, epsilon = {epsilon:g}: {check.lower!r} against {kept.lower!r} in the "
        f"record; of {answers} answers the least leaves {least:.3e}"
    )
    return int(least < 0.0 or check.lower < (1.0 - 1e-4) * kept.lower)


if __name__ == "__main__":
    raise SystemExit(main())
