"""Run the blocks of the search for counterexamples that the record lacks, one after the other.

python tools/search_theorem.py [record]: the record is written after every block, so the run can be
stopped and taken up again. All blocks together take about a quarter of an hour on one idle core.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpbayes.study.records import write_rows
from dpbayes.study.theorem_record import missing, read_record, run_block

SHIPPED = Path(__file__).parents[1] / "dpbayes" / "data" / "theorem-search.csv"


def main() -> int:
    """Run what is missing and say what has been found so far."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    blocks = read_record(path) if path.is_file() else []
    for distance, k, number in missing(blocks):
        blocks.append(run_block(distance, k, number))
        write_rows(blocks, path)
        print(f"{distance} k={k} block {number}: {blocks[-1].violations} violations", flush=True)
    print(f"{sum(b.settings for b in blocks)} settings")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
