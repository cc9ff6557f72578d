"""Deliberately simple high-precision versions of the delicate formulas; do not make
them clever.
"""

from __future__ import annotations

import mpmath as mp

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
        log_bc = (
            slipped_log_beta(middle)
            - (slipped_log_beta(first) + slipped_log_beta(second)) / 2
        )
        return mp.sqrt(-mp.expm1(log_bc))
