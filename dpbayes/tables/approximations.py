"""Probability mass vectors of the combined noise: by simulation, by convolution, and exactly.

A mass vector holds the probabilities of the unit cells (k - 1/2, k + 1/2] for k = -r .. r
(E, Definition 4.1). Algorithm 1 estimates it from draws, Algorithm 2 convolves one truncated vector
an answer; the exact one is an inverse Fourier transform of the characteristic function. Algorithm 3
reads an interval off a vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray
from scipy.signal import fftconvolve

from dpbayes._validate import choice, count_array, generator, instance, integer, open_unit, positive
from dpbayes.tables.noise_law import NoiseLaw
from dpbayes.tables.workload import Array, vector

_LONGEST = 1 << 26  # cells of a side: 512 MB
_PERIODS = 64  # of the characteristic function: where more matter, tails are quicker
_NEGLIGIBLE = 41.5  # e-folds, 1e-18


@dataclass(frozen=True)
class MassVector:
    """Probabilities of the cells -half_length .. half_length, and how much mass lies in none.

    `masses` has odd length; its middle entry belongs to the cell around 0. `lost` is the
    probability that was cut off, 0 for a histogram.

    >>> vector = MassVector([0.25, 0.5, 0.2], 0.05)
    >>> vector.half_length, round(vector.total, 12)
    (1, 0.95)
    """

    masses: Array
    lost: float

    def __post_init__(self) -> None:
        array = vector("masses", self.masses)
        if array.size % 2 == 0:
            raise ValueError(f"masses must have odd length, got {array.size}")
        if np.any(array < 0.0):
            raise ValueError(f"masses must be at least 0, got {float(array.min())!r}")
        object.__setattr__(self, "masses", array)

    @property
    def half_length(self) -> int:
        """The largest cell index r."""
        return self.masses.size // 2

    @property
    def cells(self) -> NDArray[np.int64]:
        """The cell indices -r .. r."""
        return np.arange(-self.half_length, self.half_length + 1)

    @property
    def total(self) -> float:
        """The mass inside the vector."""
        return math.fsum(self.masses)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the cell index under the normalised masses."""
        weights = self.masses / self.total
        mean = float(weights @ self.cells)
        return math.sqrt(float(weights @ (self.cells - mean) ** 2))

    def resized(self, half_length: int) -> Array:
        """Return the masses of the cells -half_length .. half_length, 0 where there are none."""
        extra = integer("half_length", half_length, 0) - self.half_length
        return np.pad(self.masses, extra) if extra >= 0 else self.masses[-extra:extra].copy()


def pmf_monte_carlo(weights: ArrayLike, samples: int, rng: np.random.Generator) -> MassVector:
    """Return the histogram of `samples` rounded draws of sum w_i X_i (E, Algorithm 1).

    The expected squared error is `expected_squared_error`. In the book: `alg-monte-carlo`.

    Parameters: `weights` (m,); `samples` at least 1; `rng` a numpy generator, for experiments.

    >>> vector = pmf_monte_carlo([1.0], 10_000, np.random.default_rng(1))
    >>> abs(float(vector.masses[vector.half_length]) - (1.0 - math.exp(-0.5))) < 0.02
    True
    """
    draws = np.rint(NoiseLaw(weights).sample(generator("rng", rng), integer("samples", samples, 1)))
    r = _not_too_long(float(np.abs(draws).max()))
    histogram = np.bincount((draws + r).astype(np.int64), minlength=2 * r + 1)
    return MassVector(histogram / draws.size, 0.0)


def expected_squared_error(masses: ArrayLike, samples: int) -> float:
    """Return (1 - sum p_k^2) / samples, the expected sum of squared errors of Algorithm 1.

    Each histogram entry is a binomial share with variance p_k (1 - p_k) / samples.

    Source: E, Corollary 4.1. In the book: `cor-monte-carlo-error`.

    >>> expected_squared_error([0.25, 0.5, 0.25], 100)
    0.00625
    """
    p = vector("masses", masses)
    return float((1.0 - p @ p) / integer("samples", samples, 1))


def laplace_masses(scale: float, gamma: float) -> MassVector:
    """Return the truncated masses of one Laplace variable, half-length ceil(scale ln(1/gamma)).

    v_0 = 1 - exp(-1/2b), v_k = exp(-(k - 1/2)/b) (1 - exp(-1/b)) / 2; lost exp(-(s + 1/2)/b).

    Source: E, section 4.3 and Algorithm 2, step 1.

    >>> vector = laplace_masses(5.0, 0.01)
    >>> vector.half_length, float(vector.masses[24].round(10)), round(vector.lost, 10)
    (24, 0.095162582, 0.0074465831)
    """
    b = positive("scale", scale)
    half = _not_too_long(b * -math.log(open_unit("gamma", gamma)))
    first = -0.5 * math.expm1(-1.0 / b) * math.exp(-0.5 / b)
    side = first * np.exp(np.arange(half) * (-1.0 / b))
    masses = np.concatenate([side[::-1], [-math.expm1(-0.5 / b)], side])
    return MassVector(masses, math.exp(-(half + 0.5) / b))


def pmf_probability_calculation(
    weights: ArrayLike, gamma: float, method: str = "tree"
) -> MassVector:
    """Return the convolution of the truncated mass vectors of all w_i X_i (E, Algorithm 2).

    `method` "tree" convolves pairs with the fast Fourier transform; "shortest-first" is E's order
    with direct sums. Both give the same vector. It is the law of the sum of *rounded* terms, which
    is not the law of the rounded sum: when weights are below about 1 it reports too little noise.
    Zero weights are left out.

    Parameters: `weights` (m,); `gamma` in (0, 1), the share cut off each vector.

    Source: E, Algorithm 2, Lemmas 4.2 and 4.3. In the book: `alg-probability-calculation`.

    >>> vector = pmf_probability_calculation([5.0, 5.0], 0.01)
    >>> vector.masses.size, round(vector.total + vector.lost, 12)
    (97, 1.0)
    """
    sizes = NoiseLaw(weights).weights
    sizes = sizes[sizes > 0.0]
    choice("method", method, ("tree", "shortest-first"))
    _not_too_long(float(np.ceil(sizes * -math.log(open_unit("gamma", gamma))).sum()))
    parts = [laplace_masses(float(w), gamma) for w in np.sort(sizes)]
    arrays = [part.masses for part in parts]
    masses = _tree(arrays) if method == "tree" else reduce(np.convolve, arrays)
    # What is kept of each part multiplies (E, Lemmas 4.2 and 4.3).
    return MassVector(masses, -math.expm1(math.fsum(math.log1p(-part.lost) for part in parts)))


def _tree(arrays: list[Array]) -> Array:
    level = arrays
    while len(level) > 1:
        pairs = [_convolved(a, b) for a, b in zip(level[0::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


def _convolved(a: Array, b: Array) -> Array:
    # Short vectors are added up directly, which is as fast and keeps small masses exact.
    if min(a.size, b.size) <= 256:
        return np.asarray(np.convolve(a, b))
    return np.asarray(np.maximum(fftconvolve(a, b), 0.0))


def convolution_work(half_lengths: ArrayLike) -> int:
    """Return the multiplications of direct convolution in the given order, sum_i len_i len_(<i).

    Source: E, Theorem 4.6, counted exactly.

    >>> convolution_work([1, 1, 2])
    34
    """
    halves = count_array("half_lengths", half_lengths).tolist()
    if not halves:
        raise ValueError("half_lengths must have at least 1 entry, got none")
    total, work = halves[0], 0
    for half in halves[1:]:
        work += (2 * half + 1) * (2 * total + 1)
        total += half
    return int(work)


def exact_masses(law: NoiseLaw, half_length: int | None = None, step: float = 1.0) -> MassVector:
    """Return the exact probabilities of the cells ((k - 1/2) step, (k + 1/2) step].

    The characteristic function of Z plus a uniform variable on one cell, folded onto one period and
    inverted by one fast Fourier transform; each mass has an absolute error of about 1e-16. With
    only one or two weights that matter the folding converges slowly and tails are subtracted.

    Parameters: `half_length` (default: all but 1e-12 of the mass); `step` > 0, the width of a cell.

    Source: E, equations 20 to 22, inverted numerically; ours. In the book: `thm-exact-masses`.

    >>> vector = exact_masses(NoiseLaw([5.0]), 24)
    >>> vector.masses[24:26].round(10).tolist()
    [0.095162582, 0.0820095987]
    """
    width = positive("step", step)
    scaled = NoiseLaw(instance("law", law, NoiseLaw).weights / width)
    r = math.ceil(scaled.half_width(1e-12)) if half_length is None else half_length
    r = _not_too_long(float(integer("half_length", r, 0)))
    # Beyond this many periods the characteristic function is negligible.
    needed = (j for j in range(1, _PERIODS + 1) if _fall(scaled, 2 * math.pi * (j - 0.5)))
    periods = next(needed, None)
    if periods is None:
        tails = np.array([scaled.tail(k + 0.5) for k in range(r + 1)])
        side = np.concatenate([[1.0 - 2.0 * tails[0]], tails[:-1] - tails[1:]])
    else:
        longest = _not_too_long(max(r, scaled.half_width(1e-17)))
        points = int(scipy.fft.next_fast_len(2 * longest + 2, real=True))
        t = 2.0 * math.pi * np.arange(points // 2 + 1) / points
        shifts = 2.0 * math.pi * np.arange(-periods, periods + 1)
        folded = np.sum([_transform(scaled.weights, t + shift) for shift in shifts], axis=0)
        side = np.maximum(scipy.fft.irfft(folded, points)[: r + 1], 0.0)
    masses = np.concatenate([side[:0:-1], side])
    return MassVector(masses, 2.0 * scaled.tail(r + 0.5))


def _fall(law: NoiseLaw, t: float) -> bool:
    fall = float(np.log1p((law.weights * t) ** 2).sum()) + math.log(t / 2.0)
    return fall > _NEGLIGIBLE


def _transform(weights: Array, t: Array) -> Array:
    """Return the characteristic function of Z plus a uniform variable on (-1/2, 1/2)."""
    exponent = np.zeros_like(t)
    for w in weights:
        exponent -= np.log1p((w * t) ** 2)
    return np.asarray(np.sinc(t / (2.0 * math.pi)) * np.exp(exponent))


def _not_too_long(half_length: float) -> int:
    if half_length > _LONGEST:
        raise ValueError(
            f"the mass vector would need {2 * half_length + 1:.0f} cells, but at most "
            f"{2 * _LONGEST + 1} are allowed; choose a wider step or smaller weights"
        )
    return math.ceil(half_length)


@dataclass(frozen=True)
class CellInterval:
    """An interval of whole cells around the middle one: `steps` i on each side, and its `mass`.

    >>> run = CellInterval(steps=3, mass=0.96)
    >>> run.cells, run.half_width
    (7, 3.5)
    """

    steps: int
    mass: float

    @property
    def cells(self) -> int:
        """The number of cells 2i + 1, which is also the interval's length on the real line."""
        return 2 * self.steps + 1

    @property
    def half_width(self) -> float:
        """Half the length on the real line, i + 1/2: the outermost cells reach half a unit on."""
        return self.steps + 0.5


def credible_interval(pmf: MassVector | ArrayLike, delta: float) -> CellInterval:
    """Return the shortest centred run of cells with mass at least 1 - delta (E, Algorithm 3).

    Start with the middle cell and add one cell on each side until the mass is reached. Both sides
    are added separately, so that a histogram, which is not symmetric, is served as well.

    Parameters: `pmf` a `MassVector` or its masses (odd length); `delta` in (0, 1). When the vector
    holds less mass than 1 - delta the loop of the original would never end; here it is an error.

    Source: E, Algorithm 3 (its body is lost; derived). In the book: `alg-credible-interval`.

    >>> credible_interval([0.1, 0.2, 0.4, 0.2, 0.1], 0.25)
    CellInterval(steps=1, mass=0.8)
    """
    level = 1.0 - open_unit("delta", delta)
    found = pmf if isinstance(pmf, MassVector) else MassVector(vector("pmf", pmf), 0.0)
    masses, middle = found.masses, found.half_length
    pairs = masses[middle + 1 :] + masses[:middle][::-1]
    reached = np.cumsum(np.concatenate([masses[middle : middle + 1], pairs]))
    enough = np.flatnonzero(reached >= level)
    if enough.size == 0:
        raise ValueError(
            f"delta must be at least the mass missing from the vector, got delta = {delta!r} but "
            f"only {reached[-1]:.10g} of the mass is there; use a smaller gamma or the exact law"
        )
    steps = int(enough[0])
    return CellInterval(steps, float(reached[steps]))
