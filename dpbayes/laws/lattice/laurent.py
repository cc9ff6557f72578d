"""Sums over the nodes of the shortfall where every payer's factor has three powers of it.

Where the true count x is at or above the level t, what a category gives is, with v = 1 / zeta,
(rho v + rho^2)^t times above v + (below + rho above + zero) + rho zero / v. So a product of such
factors is a short Laurent polynomial in v, whose coefficients do not depend on zeta, and all other
categories are summed over zeta once for each power instead of once for each height.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes.laws.lattice.chains import InRow, Link, Row

_FEWEST = 4
"""So few nodes of the shortfall are summed one by one."""

Coefficients = list[NDArray[Any]]


@dataclass(frozen=True)
class _Polynomials(InRow):
    """Coefficients in rising powers of v, as `chains.Chain`: before, after, and as the pivot."""

    before: Coefficients
    after: Coefficients
    paid: Coefficients

    def then(self, other: _Polynomials) -> _Polynomials:
        paid = _sum(_product(self.paid, other.after), _product(self.before, other.paid))
        before = _product(self.before, other.before)
        return _Polynomials(before, _product(self.after, other.after), paid)


def _product(one: Coefficients, other: Coefficients) -> Coefficients:
    """Return the coefficients of a product; `other` has the right shape to be added to.

    >>> [float(c) for c in _product([np.array(1.0), np.array(2.0)], [np.array(3.0), np.array(4.0)])]
    [3.0, 10.0, 8.0]
    """
    found: Coefficients = [one[0] * b for b in other]
    for i, a in enumerate(one[1:], start=1):
        for j, b in enumerate(other[:-1]):
            found[i + j] = found[i + j] + a * b
        found.append(a * other[-1])
    return found


def _sum(one: Coefficients, other: Coefficients) -> Coefficients:
    return [a + b for a, b in zip(one, other, strict=True)]


def few_powers(row: Row, zeta: NDArray[Any]) -> bool:
    """Say whether the payers of this row have so few powers that it is sooner summed that way."""
    if len(zeta) < _FEWEST or not all(link.lifted for link, _ in row.payers):
        return False
    powers = sum(copies * (2 if link.zero.any() else 1) for link, copies in row.payers)
    return powers * powers <= len(zeta)


def sums(
    row: Row,
    weights: NDArray[Any],
    level: NDArray[Any],
    owed: NDArray[Any],
    rho: float,
    zeta: NDArray[Any],
) -> NDArray[Any]:
    """Return what `Row.sums` does, where all payers are `lifted`."""
    whole, poles, copies = None, 0, 0
    for link, times in row.payers:
        bottom = bool(link.zero.any())
        one = _polynomials(link, rho, bottom).repeated(times)
        whole = one if whole is None else whole.then(one)
        copies, poles = copies + times, poles + times * bottom
    assert whole is not None
    constant = weights * row.constant(level, owed) * level**copies * owed
    return _read(whole.paid, constant, 1.0 / zeta, poles)


def _read(
    coefficients: Coefficients, constant: NDArray[Any], inverse: NDArray[Any], poles: int
) -> NDArray[Any]:
    powers = inverse[None, :] ** np.arange(-poles, len(coefficients) - poles)[:, None]
    each = np.tensordot(powers, constant, axes=1)
    total = coefficients[0] * each[0]
    for coefficient, one in zip(coefficients[1:], each[1:], strict=True):
        total = total + coefficient * one
    return np.asarray(total)


def _polynomials(link: Link, rho: float, bottom: bool) -> _Polynomials:
    over = link.above + link.pay
    before, after = link.below + rho * over, link.below + link.keep + rho * link.above
    if not bottom:
        return _Polynomials([before, over], [after, link.above], [link.pay])
    least = rho * link.zero
    spread = np.broadcast_to(least, before.shape)
    return _Polynomials(
        [spread, before + link.zero, over],
        [spread, after + link.zero, link.above],
        [np.zeros_like(link.pay), link.pay],
    )
