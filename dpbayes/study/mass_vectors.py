"""Mass vectors of the combined noise of an estimate, and intervals off them.

A mass vector holds the probabilities of the unit cells (k - 1/2, k + 1/2] for k = -r ..
r (E, Definition 4.1): estimated from draws (Algorithm 1), by convolution (Algorithm 2),
or exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike
from scipy.signal import convolve

from dpbayes import _validate as check
from dpbayes.tables.inference import Array, shaped
from dpbayes.tables.noise_law import NoiseLaw

_LONGEST = 1 << 26  # cells of a side: 512 MB
_NEGLIGIBLE = 41.5  # e-folds, 1e-18


@dataclass(frozen=True)
class MassVector:
    """Probabilities `masses` of the cells -half_length .. half_length, and what was cut
    off.
    """

    masses: Array
    lost: float

    def __post_init__(self) -> None:
        array = shaped("masses", self.masses, "cells")
        if array.size % 2 == 0:
            raise ValueError(f"masses must have odd length, got {array.size}")
        check.non_negative("masses", float(array.min()))
        object.__setattr__(self, "masses", array)

    @property
    def half_length(self) -> int:
        """The number r of cells on each side of the middle one."""
        return self.masses.size // 2

    @property
    def total(self) -> float:
        """The mass inside the vector."""
        return math.fsum(self.masses)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the cell index under the normalised masses."""
        cells, weights = np.arange(self.masses.size), self.masses / self.total
        return math.sqrt(float(weights @ (cells - weights @ cells) ** 2))

    def resized(self, half_length: int) -> Array:
        """Return the masses of the cells -half_length .. half_length, 0 where there are
        none.
        """
        extra = check.integer("half_length", half_length, 0) - self.half_length
        return (
            np.pad(self.masses, extra)
            if extra >= 0
            else self.masses[-extra:extra].copy()
        )


def pmf_monte_carlo(
    weights: ArrayLike, samples: int, rng: np.random.Generator
) -> MassVector:
    """Return the histogram of rounded draws of sum w_i X_i (E, Algorithm 1;
    `alg-monte-carlo`).

    >>> round(pmf_monte_carlo([1.0], 10_000, np.random.default_rng(1)).total, 12)
    1.0
    """
    draws = np.rint(NoiseLaw(weights).sample(rng, check.integer("samples", samples, 1)))
    r = _not_too_long(float(np.abs(draws).max()))
    histogram = np.bincount((draws + r).astype(np.int64), minlength=2 * r + 1)
    return MassVector(histogram / draws.size, 0.0)


def pmf_probability_calculation(
    weights: ArrayLike, gamma: float, method: str = "tree"
) -> MassVector:
    """Return the convolution of the truncated mass vectors of all w_i X_i (E, Algorithm
    2).

    Each has half-length s = ceil(w ln(1/gamma)), v_0 = 1 - exp(-1/2w) and v_k = exp(-(k
    - 1/2)/w) (1 - exp(-1/w)) / 2; lost is exp(-(s + 1/2)/w) (E, Lemmas 4.2, 4.3).
    `method` "shortest-first" is E's order with direct sums, "tree" takes pairs. For
    weights below 1 this law of a sum of *rounded* terms is too narrow. Book:
    `alg-probability-calculation`.

    >>> vector = pmf_probability_calculation([5.0], 0.01)
    >>> vector.half_length, float(vector.masses[24].round(10)), round(vector.lost, 10)
    (24, 0.095162582, 0.0074465831)
    """
    sizes = np.sort(NoiseLaw(weights).weights)
    check.choice("method", method, ("tree", "shortest-first"))
    halves = np.ceil(sizes * -math.log(check.open_unit("gamma", gamma)))
    _not_too_long(float(halves.sum()))
    arrays, lost = list[Array](), 0.0
    for w, half in zip(sizes[sizes > 0.0], halves[sizes > 0.0], strict=True):
        side = -0.5 * math.expm1(-1.0 / w) * np.exp(-(np.arange(half) + 0.5) / w)
        arrays.append(np.concatenate([side[::-1], [-math.expm1(-0.5 / w)], side]))
        lost += math.log1p(
            -math.exp(-(half + 0.5) / w)
        )  # what is kept multiplies (E, Lemma 4.3)
    while method == "tree" and len(arrays) > 1:
        pairs = zip(arrays[::2], arrays[1::2], strict=False)
        joined = [np.maximum(convolve(a, b), 0.0) for a, b in pairs]
        arrays = joined + arrays[len(arrays) // 2 * 2 :]
    return MassVector(reduce(np.convolve, arrays), -math.expm1(lost))


def convolution_work(half_lengths: ArrayLike) -> int:
    """Return the multiplications of direct convolution in this order, exactly (E,
    Theorem 4.6).

    >>> convolution_work([1, 1, 2])
    34
    """
    halves = check.count_array("half_lengths", half_lengths).tolist()
    if not halves:
        raise ValueError("half_lengths must have at least 1 entry, got none")
    return sum(
        (2 * half + 1) * (2 * sum(halves[:i]) + 1) for i, half in enumerate(halves) if i
    )


def exact_masses(law: NoiseLaw, half_length: int | None = None) -> MassVector:
    """Return the exact probabilities of the cells (k - 1/2, k + 1/2], to about 1e-16.

    The characteristic function of Z plus a uniform variable on one cell, folded onto
    one period, by one Fourier transform (E, equations 20 to 22; `thm-exact-masses`), or
    differences of tails for one or two weights that matter. By default all but 1e-12 of
    the mass is inside.

    >>> vector = exact_masses(NoiseLaw([5.0]), 24)  # a MassVector
    >>> vector.masses[24:26].round(10).tolist()
    [0.095162582, 0.0820095987]
    """
    check.instance("law", law, NoiseLaw)
    r = math.ceil(law.half_width(1e-12)) if half_length is None else half_length
    r = _not_too_long(float(check.integer("half_length", r, 0)))
    # Where 64 periods of the characteristic function do not suffice, tails are quicker.
    ends = 2.0 * math.pi * (np.arange(1, 65) - 0.5)
    fallen = np.log1p((law.weights[:, None] * ends) ** 2).sum(axis=0) + np.log(
        ends / 2.0
    )
    if fallen[-1] <= _NEGLIGIBLE:
        tails = np.array([law.tail(k + 0.5) for k in range(r + 1)])
        side = np.concatenate([[1.0 - 2.0 * tails[0]], tails[:-1] - tails[1:]])
    else:
        periods = 1 + int(np.argmax(fallen > _NEGLIGIBLE))
        longest = _not_too_long(max(r, law.half_width(1e-17)))
        points = int(scipy.fft.next_fast_len(2 * longest + 2, real=True))
        folded = np.zeros(points // 2 + 1)
        for period in range(-periods, periods + 1):
            t = 2.0 * math.pi * (np.arange(folded.size) / points + period)
            exponent = sum(np.log1p((w * t) ** 2) for w in law.weights)
            folded += np.sinc(t / (2.0 * math.pi)) * np.exp(-exponent)
        side = np.maximum(scipy.fft.irfft(folded, points)[: r + 1], 0.0)
    return MassVector(np.concatenate([side[:0:-1], side]), 2.0 * law.tail(r + 0.5))


def _not_too_long(half_length: float) -> int:
    if half_length > _LONGEST:
        limit = f"{2 * _LONGEST + 1} cells; choose smaller weights, in a wider unit"
        raise ValueError(f"the mass vector must have at most {limit}")
    return math.ceil(half_length)


class CellInterval(NamedTuple):
    """An interval of 2i + 1 whole cells, `steps` i on each side of the middle one: its
    `mass`.
    """

    steps: int
    mass: float

    @property
    def half_width(self) -> float:
        """Half the length on the real line, i + 1/2: the outermost cells reach half a
        unit on.
        """
        return self.steps + 0.5


def credible_interval(pmf: MassVector | ArrayLike, delta: float) -> CellInterval:
    """Return the shortest centred run of cells with mass at least 1 - delta (E,
    Algorithm 3).

    ValueError where `pmf`, a `MassVector` or its masses, holds less: E's loop, whose
    body is lost and derived here, would never end. Book: `alg-credible-interval`.

    >>> credible_interval([0.1, 0.2, 0.4, 0.2, 0.1], 0.25)
    CellInterval(steps=1, mass=0.8)
    """
    level = 1.0 - check.open_unit("delta", delta)
    found = (
        pmf
        if isinstance(pmf, MassVector)
        else MassVector(shaped("pmf", pmf, "cells"), 0.0)
    )
    masses, middle = found.masses, found.half_length
    pairs = masses[middle + 1 :] + masses[:middle][::-1]
    reached = np.cumsum(np.append(masses[middle], pairs))
    enough = np.flatnonzero(reached >= level)
    if enough.size == 0:
        raise ValueError(
            "delta must be at least the mass missing from the vector, got delta ="
            f" {delta!r} but only {reached[-1]:.10g} of the mass is there; use a"
            " smaller gamma or the exact law"
        )
    return CellInterval(int(enough[0]), float(reached[enough[0]]))
