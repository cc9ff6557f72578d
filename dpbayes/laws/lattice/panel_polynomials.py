"""Polynomials on a panel of whole numbers: values of f, running sums, and what oscillates with w.

A panel has 25 numbers at most, or is a polynomial through values at 25 Chebyshev places. Running
sums are known at 26 places.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import bernoulli, factorial

from dpbayes import _validate

_MOST_ROOTS, _FEW = 1 << 18, 4  # where roots of one are looked up

NODES = 25
"""Values of f in a panel."""

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def phases(steps: Whole, turns: Whole, whole: int) -> NDArray[Any]:
    """Return w^steps for each node, (steps, turns), with turns reduced as whole numbers."""
    if whole == 1:
        return np.ones((steps.size, turns.size))
    places = np.outer(steps, turns)
    places %= whole
    if whole > min(_MOST_ROOTS, _FEW * places.size):
        return np.asarray(np.exp(2j * np.pi / whole * places))
    return np.asarray(_roots(whole).take(places))


@lru_cache(maxsize=4)
def _roots(whole: int) -> NDArray[np.complex128]:
    return _validate.frozen(np.exp(2j * np.pi / whole * np.arange(whole)))


@lru_cache(maxsize=4)
def _points(size: int) -> Floats:
    return _validate.frozen(-np.cos(np.pi * np.arange(size) / (size - 1)))


@lru_cache(maxsize=128)
def places_in_panel(length: int) -> Floats:
    """Return how far from its start the values of f in a panel are; short ones repeat the last."""
    if length <= NODES:
        return _validate.frozen(np.minimum(np.arange(float(NODES)), length - 1.0))
    return _validate.frozen(0.5 * length * (1.0 + _points(NODES)))


def interpolation(moved: Whole, lengths: Whole) -> Floats:
    """Return weights (places, 26) of a panel's running sums at a place so far from its start."""
    nodes = _points(NODES + 1)
    signs = np.where(np.arange(NODES + 1) % 2 == 0, 1.0, -1.0)
    signs[[0, -1]] *= 0.5
    away = (2.0 * moved / lengths - 1.0)[:, None] - nodes
    at = away == 0.0
    rows = signs / np.where(at, 1.0, away)
    rows /= rows.sum(axis=1, keepdims=True)
    exact = at.any(axis=1)
    rows[exact] = at[exact]
    short = lengths <= NODES
    rows[short] = np.eye(NODES + 1)[np.minimum(moved[short], NODES)]
    return np.asarray(rows)


@lru_cache(maxsize=128)
def sums_matrix(length: int) -> Floats:
    """Return the running sums of a panel at 26 places from the values of f, (26, 25)."""
    if length <= NODES:
        return _validate.frozen(np.tri(NODES + 1, NODES, -1) * (np.arange(NODES) < length))
    basis, nodes, step = np.eye(NODES), _points(NODES + 1), 2.0 / length
    whole = chebyshev.chebint(basis, lbnd=-1)
    sums = chebyshev.chebval(nodes, whole) / step
    values = chebyshev.chebval(nodes, basis)
    sums -= 0.5 * (values - values[:, :1])
    numbers = bernoulli(NODES)
    for i in range(2, NODES, 2):
        slopes = chebyshev.chebval(nodes, chebyshev.chebder(basis, i - 1))
        sums += numbers[i] / factorial(i) * step ** (i - 1) * (slopes - slopes[:, :1])
    return _validate.frozen(np.linalg.solve(_vander().T, sums).T)


@lru_cache(maxsize=1)
def _vander() -> Floats:
    return _validate.frozen(chebyshev.chebvander(_points(NODES), NODES - 1))


@lru_cache(maxsize=128)
def _steps_matrix(length: int) -> Floats:
    """Return the coefficients of T_n(x + 2 / length) - T_n(x), one column for each n."""
    basis, found = np.eye(NODES), np.zeros((NODES, NODES))
    for i in range(1, NODES):
        slopes = chebyshev.chebder(basis, i)
        found[: NODES - i] += slopes * ((2.0 / length) ** i / factorial(i))
    return _validate.frozen(found)


def solved(length: int, angles: NDArray[Any], terms: NDArray[Any]) -> NDArray[Any]:
    """Return g at 26 places of each panel where w g(p + 1) - g(p) = f(p), w = e^(i angle).

    A step lowers the degree, so that coefficients follow one by one from the highest.
    """
    w, steps = np.exp(1j * angles), _steps_matrix(length)
    known = np.linalg.solve(_vander(), terms[:, :, 0])[:, :, None] / (w - 1.0)
    size, share = known[0].shape, w / (w - 1.0)
    for n in range(NODES - 2, -1, -1):
        higher = times(steps[n : n + 1, n + 1 :], known[n + 1 :].reshape(NODES - 1 - n, -1))
        known[n] -= share * higher.reshape(size)
    at = chebyshev.chebvander(_points(NODES + 1), NODES - 1)
    found = times(at, known.reshape(NODES, -1))
    return found.reshape(NODES + 1, *size).transpose(1, 0, 2)


def times(matrix: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return the product of real matrices with real or complex ones, which numpy makes complex."""
    if values.dtype != np.complex128:
        return np.asarray(matrix @ values)
    parts = np.ascontiguousarray(values).view(np.float64)
    return np.asarray((matrix @ parts).view(np.complex128))
