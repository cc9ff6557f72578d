"""Compute the lower bounds by boxes that the record lacks, one by one.

python tools/bound_boxes.py [record]: the record is written after every case, so the run can be
stopped and taken up again. All cases together take more than an hour on one idle core.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpbayes.study.records import write_rows
from dpbayes.study.simplex_box_record import (
    RATIOS,
    box_bounded,
    missing,
    read_record,
)

SHIPPED = Path(__file__).parents[1] / "dpbayes" / "data" / "box-bounds.csv"


def main() -> int:
    """Compute what is missing and say how far lattice noise is above it."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    found = read_record(path) if path.is_file() else []
    for k, n, epsilon in missing(found):
        found.append(box_bounded(n, epsilon, RATIOS[k, n, epsilon], k))
        write_rows(found, path)
        print(f"k = {k}, n = {n}, epsilon = {epsilon:g}: {found[-1].above:.4%}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
