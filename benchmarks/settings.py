"""Mean distances of forty settings far apart, with their errors and processor seconds.

    python benchmarks/settings.py > settings.json

One JSON object a line; two versions of the package are compared by running it with
each.
"""

from __future__ import annotations

import json
import time

import numpy as np

from dpbayes.mechanisms import mechanism


def counts(kind: str, k: int, n: int) -> list[int]:
    """Return n records, split evenly, geometrically, or with empty categories."""
    if kind == "even":
        shares = np.ones(k)
    elif kind == "falling":
        shares = 0.7 ** np.arange(k)
    elif kind == "rising":
        shares = 0.7 ** np.arange(k)[::-1]
    else:
        shares = np.where(np.arange(k) % 3 == 2, 0.0, 0.8 ** np.arange(k))
    whole = np.floor(n * shares / shares.sum()).astype(int)
    whole[int(np.argmax(shares))] += n - int(whole.sum())
    return whole.tolist()


SETTINGS = [
    ("lattice", 1.0, "even", 3, 300, 1.0),
    ("lattice", 0.05, "even", 3, 15, 1.0),
    ("lattice", 0.2, "even", 4, 1000, 0.5),
    ("lattice", 1.0, "even", 4, 1_000_000, 1.0),
    ("lattice", 1.0, "falling", 5, 1000, 1.0),
    ("lattice", 0.5, "empty", 6, 10_000, 1.0),
    ("lattice", 1.0, "falling", 10, 10_000, 0.01),
    ("lattice", 0.05, "even", 10, 1_000_000, 20.0),
    ("lattice", 10.0, "falling", 25, 1_000_000, 1.0),
    ("lattice", 1.0, "even", 25, 1_000_000, 0.01),
    ("lattice", 0.3, "empty", 50, 100_000, 0.5),
    ("lattice", 2.0, "falling", 50, 1_000_000, 1.0),
    ("lattice", 5.0, "even", 50, 1000, 1.0),
    ("lattice", 0.1, "falling", 4, 3000, 3.0),
    ("ilapMech", 0.5, "falling", 3, 1000, 1.0),
    ("ilapMech", 0.05, "even", 3, 300, 1.0),
    ("ilapMech", 1.0, "even", 4, 1_000_000, 1.0),
    ("ilapMech", 1.0, "rising", 5, 100_000, 0.5),
    ("ilapMech", 0.5, "empty", 5, 1000, 1.0),
    ("lapMech", 0.05, "even", 10, 1_000_000, 1.0),
    ("ilapMech", 10.0, "falling", 25, 1_000_000, 20.0),
    ("ilapMech", 0.2, "even", 50, 1_000_000, 0.01),
    ("ilapMech", 1.0, "falling", 50, 10_000, 1.0),
    ("expMech-smooth", 1.0, "even", 3, 10_000, 1.0),
    ("expMech-smooth", 10.0, "even", 3, 1_000_000, 1.0),
    ("expMech-smooth", 0.05, "falling", 4, 100_000, 1.0),
    ("expMech-smooth", 1.0, "falling", 10, 100_000, 0.01),
    ("expMech-smooth", 5.0, "even", 10, 1_000_000, 20.0),
    ("expMech-smooth", 10.0, "falling", 50, 1_000_000, 1.0),
    ("expMech-local", 2.0, "even", 25, 100_000, 1.0),
    ("expMech", 1.0, "even", 3, 100_000, 1.0),
    ("expMech", 10.0, "falling", 10, 10_000, 1.0),
    ("expMech-delta", 1.0, "even", 5, 10_000, 1.0),
    ("expMech-delta", 0.5, "falling", 4, 1_000_000, 0.5),
    ("expMech-smooth", 1.0, "even", 2, 1_000_000, 1.0),
    ("expMech", 0.1, "even", 2, 1_000_000, 1.0),
    ("geometric", 0.05, "falling", 2, 1_000_000, 0.01),
    ("ilapMech", 0.05, "even", 2, 1_000_000, 20.0),
    ("discrete-gaussian", 1.0, "even", 4, 10_000, 1.0),
    ("discrete-gaussian", 0.5, "falling", 10, 100_000, 1.0),
    ("discrete-gaussian", 1.0, "even", 3, 60, 1.0),
]


def main() -> None:
    """Print a line for each setting."""
    import scipy.optimize

    assert scipy.optimize  # imported before the clock starts
    for name, epsilon, kind, k, n, prior in SETTINGS:
        start = time.process_time()
        x = counts(kind, k, n)
        try:
            law = mechanism(name, epsilon).law(x, [prior] * k)
            mean = law.mean_distance()
            found = [float(mean), float(mean.error), mean.how]
        except Exception as error:
            found = [
                float("nan"),
                float("nan"),
                f"{type(error).__name__}: {error}"[:90],
            ]
        row = [name, epsilon, kind, k, n, prior, *found, time.process_time() - start]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
