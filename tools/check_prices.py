"""Check kept prices at every answer, in whole numbers.

python tools/check_prices.py RECORDS EPSILON [STEP]: three categories; every STEP-th
class of answers, by default every one. Prints the answer at which least is left over,
and fails where that is negative. With 300 records it takes one to four minutes, with
1,000 up to an hour.
"""

from __future__ import annotations

import sys

from dpbayes.study.simplex_check import stored_check


def main() -> int:
    """Go through the answers and say which is the tightest."""
    case = int(sys.argv[1]), float(sys.argv[2])
    step = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    check = stored_check(*case)
    rows = check.space.rows
    left = {number: check.least(number) for number in range(0, len(rows), step)}
    tightest = min(left, key=lambda number: left[number])
    print(
        f"n = {case[0]}, epsilon = {case[1]:g}: proved {check.lower!r}; {len(left)} of"
        f" {len(rows)} classes of answers, the least {left[tightest]:.3e} at"
        f" {rows[tightest].tolist()}"
    )
    return int(left[tightest] < 0.0)


if __name__ == "__main__":
    raise SystemExit(main())
