"""Compute the lower bounds for three to five categories that the record lacks, one by one.

python tools/bound_simplex.py [record]: the record is written after every case, so the run can be
stopped and taken up again. All cases together take about half an hour on one idle core.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpbayes.study.records import write_rows
from dpbayes.study.simplex_record import bounded, missing, read_record, rounds_of

SHIPPED = Path(__file__).parents[1] / "dpbayes" / "data" / "simplex-bounds.csv"


def main() -> int:
    """Compute what is missing and say how far lattice noise is above it."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    found = read_record(path) if path.is_file() else []
    for k, n, epsilon in missing(found):
        found.append(bounded(n, epsilon, rounds_of(k, n, epsilon), k))
        write_rows(found, path)
        last = found[-1]
        print(
            f"k = {k}, n = {n}, epsilon = {epsilon:g}: {last.ratio:.5f}, {last.best:.5f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
