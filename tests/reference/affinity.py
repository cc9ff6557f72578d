"""Deliberately simple high-precision versions of the delicate formulas; do not make them clever.

Run `python -m tests.reference.affinity` to write affinity.json anew (mpmath, 60 digits).
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath as mp
import numpy as np

FILE = Path(__file__).with_name("affinity.json")
DIGITS = 60


def log_beta(parameters):
    return sum(mp.loggamma(a) for a in parameters) - mp.loggamma(sum(parameters))


def hellinger(a, b):
    with mp.workdps(DIGITS):
        first, second = [mp.mpf(float(v)) for v in a], [mp.mpf(float(v)) for v in b]
        middle = [(u + v) / 2 for u, v in zip(first, second, strict=True)]
        log_bc = log_beta(middle) - (log_beta(first) + log_beta(second)) / 2
        return mp.sqrt(-mp.expm1(log_bc))


def slipped_log_beta(parameters):
    return sum(mp.loggamma(a) for a in parameters) / mp.log(sum(parameters))


def hellinger_published(a, b):
    with mp.workdps(DIGITS):
        first, second = [mp.mpf(float(v)) for v in a], [mp.mpf(float(v)) for v in b]
        middle = [(u + v) / 2 for u, v in zip(first, second, strict=True)]
        log_bc = slipped_log_beta(middle) - (slipped_log_beta(first) + slipped_log_beta(second)) / 2
        return mp.sqrt(-mp.expm1(log_bc))


def cases():
    """Neighbours and strangers from 10 to 10^12 records, balanced, skewed, fractional, tiny."""
    for exponent in range(1, 13):
        n = 10**exponent
        for prior in (1.0, 0.5, 0.001, 37.25):
            yield [n // 2 + prior, n // 2 + prior], [n // 2 + 1 + prior, n // 2 - 1 + prior]
            yield [n + prior, prior], [n - 1 + prior, 1 + prior]
            yield (
                [n // 3 + prior, prior, n // 3 + prior],
                [n // 3 - 1 + prior, 1 + prior, n // 3 + prior],
            )
            step = int(np.sqrt(n))
            yield [n // 2 + prior, n // 2 + prior], [n // 2 + step + prior, n // 2 - step + prior]


def main():
    rows = [{"a": a, "b": b, "hellinger": mp.nstr(hellinger(a, b), 30)} for a, b in cases()]
    FILE.write_text(json.dumps({"digits": DIGITS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
