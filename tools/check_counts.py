"""Compare the shipped counts of self-rated health with those in statsmodels.

Run it in an environment that has statsmodels: python tools/check_counts.py
"""

from __future__ import annotations

from statsmodels.datasets import randhie

from dpbayes.study import datasets


def main() -> int:
    """Print both sets of counts and return 1 if they differ."""
    table = randhie.load_pandas().data
    good, fair, poor = (int(table[name].sum()) for name in ("hlthg", "hlthf", "hlthp"))
    source = [len(table) - good - fair - poor, good, fair, poor]
    shipped = datasets.load("self-rated-health").counts.tolist()
    print(f"statsmodels {source}, shipped {shipped}, licence: {randhie.COPYRIGHT}")
    return int(source != shipped)


if __name__ == "__main__":
    raise SystemExit(main())
