"""Probability mass vectors of the combined noise: by simulation, by convolution, and exactly.

A mass vector holds the probabilities of the unit cells (k - 1/2, k + 1/2] for k = -r .. r
(E, Definition 4.1). Algorithm 1 estimates it from draws, Algorithm 2 convolves one truncated vector
an answer; the exact one is an inverse Fourier transform of the characteristic function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import choice, count_array, generator, instance, integer, open_unit, positive
from dpbayes.queries import _arrays
from dpbayes.queries.noise import NoiseLaw

_LONGEST = 1 << 26
_ALIASES = 64
_DIRECT_LENGTH = 256


@dataclass(frozen=True)
class MassVector:
    """Probabilities of the cells -half_length .. half_length, and how much mass lies in none.

    `masses` has odd length; its middle entry belongs to the cell around 0. `lost` is the
    probability that was cut off, 0 for a histogram.

    >>> vector = MassVector([0.25, 0.5, 0.2], 0.05)
    >>> vector.half_length, round(vector.total, 12)
    (1, 0.95)
    """

    masses: NDArray[np.float64]
    lost: float

    def __post_init__(self) -> None:
        array = _arrays.vector("masses", self.masses)
        if array.size % 2 == 0:
            raise ValueError(f"masses must have odd length, got {array.size}")
        if np.any(array < 0.0):
            raise ValueError(f"masses must be at least 0, got {array.min()!r}")
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

    def resized(self, half_length: int) -> NDArray[np.float64]:
        """Return the masses of the cells -half_length .. half_length, 0 where there are none."""
        r = integer("half_length", half_length, 0)
        extra = r - self.half_length
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
    r = int(np.abs(draws).max())
    _refuse_long(r)
    histogram = np.bincount((draws + r).astype(np.int64), minlength=2 * r + 1)
    return MassVector(histogram / draws.size, 0.0)


def expected_squared_error(masses: ArrayLike, samples: int) -> float:
    """Return (1 - sum p_k^2) / samples, the expected sum of squared errors of Algorithm 1.

    Each histogram entry is a binomial share with variance p_k (1 - p_k) / samples.

    Source: E, Corollary 4.1. In the book: `cor-monte-carlo-error`.

    >>> expected_squared_error([0.25, 0.5, 0.25], 100)
    0.00625
    """
    p = _arrays.vector("masses", masses)
    return float((1.0 - p @ p) / integer("samples", samples, 1))


def laplace_masses(scale: float, gamma: float) -> MassVector:
    """Return the truncated masses of one Laplace variable, half-length ceil(scale ln(1/gamma)).

    v_0 = 1 - exp(-1/2b), v_k = exp(-(k - 1/2)/b) (1 - exp(-1/b)) / 2; lost exp(-(s + 1/2)/b).

    Source: E, section 4.3 and Algorithm 2, step 1.

    >>> vector = laplace_masses(5.0, 0.01)
    >>> vector.half_length, float(vector.masses[24].round(10)), round(vector.lost, 10)
    (24, 0.095162582, 0.0074465831)
    """
    b, log_share = positive("scale", scale), -math.log(open_unit("gamma", gamma))
    half = math.ceil(b * log_share)
    _refuse_long(half)
    return MassVector(_laplace_array(b, half), math.exp(-(half + 0.5) / b))


def _laplace_array(b: float, half: int) -> NDArray[np.float64]:
    first = -0.5 * math.expm1(-1.0 / b) * math.exp(-0.5 / b)
    side = first * np.exp(np.arange(half) * (-1.0 / b))
    return np.concatenate([side[::-1], [-math.expm1(-0.5 / b)], side])


def pmf_probability_calculation(
    weights: ArrayLike, gamma: float, method: str = "tree"
) -> MassVector:
    """Return the convolution of the truncated mass vectors of all w_i X_i (E, Algorithm 2).

    `method` "tree" convolves pairs with the fast Fourier transform; "shortest-first" is E's order
    with direct sums; "as-given" leaves the order of the answers. All three give the same vector.
    It is the law of the sum of *rounded* terms, which is not the law of the rounded sum: when
    weights are below about 1 it reports too little noise. Zero weights are left out.

    Parameters: `weights` (m,); `gamma` in (0, 1), the share cut off each vector.

    Source: E, Algorithm 2, Lemmas 4.2 and 4.3. In the book: `alg-probability-calculation`.

    >>> vector = pmf_probability_calculation([5.0, 5.0], 0.01)
    >>> vector.masses.size, round(vector.total + vector.lost, 12)
    (97, 1.0)
    """
    sizes = NoiseLaw(weights).weights
    sizes = sizes[sizes > 0.0]
    choice("method", method, ("tree", "shortest-first", "as-given"))
    halves = np.ceil(sizes * -math.log(open_unit("gamma", gamma)))
    _refuse_long(float(halves.sum()))
    arrays = [_laplace_array(float(w), int(h)) for w, h in zip(sizes, halves, strict=True)]
    lost = combined_loss(np.exp(-(halves + 0.5) / sizes))
    if method != "as-given":
        arrays.sort(key=len)
    masses = _convolve_tree(arrays) if method == "tree" else _convolve_in_turn(arrays)
    return MassVector(masses, lost)


def combined_loss(losses: ArrayLike) -> float:
    """Return the mass that a convolution loses: 1 - prod(1 - loss_i) (E, Lemmas 4.2 and 4.3).

    >>> combined_loss([0.5, 0.5])
    0.75
    """
    parts = _arrays.vector("losses", losses)
    if np.any(parts < 0.0) or np.any(parts >= 1.0):
        raise ValueError(f"losses must lie in [0, 1), got {losses!r}")
    return -math.expm1(math.fsum(np.log1p(-parts)))


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
    return work


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
    instance("law", law, NoiseLaw)
    scaled = NoiseLaw(law.weights / width)
    if half_length is None:
        half_length = math.ceil(scaled.half_width(1e-12))
    r = integer("half_length", half_length, 0)
    _refuse_long(r)
    aliases = _aliases(scaled)
    side = _by_tails(scaled, r) if aliases > _ALIASES else _by_transform(scaled, r, aliases)
    masses = np.concatenate([side[:0:-1], side])
    return MassVector(masses, 2.0 * scaled.tail(r + 0.5))


def _by_tails(law: NoiseLaw, r: int) -> NDArray[np.float64]:
    tails = np.array([law.tail(k + 0.5) for k in range(r + 1)])
    return np.concatenate([[1.0 - 2.0 * tails[0]], tails[:-1] - tails[1:]])


def _by_transform(law: NoiseLaw, r: int, aliases: int) -> NDArray[np.float64]:
    longest = max(r, math.ceil(law.half_width(1e-17)))
    _refuse_long(longest)
    points = int(scipy.fft.next_fast_len(2 * longest + 2, real=True))
    t = 2.0 * math.pi * np.arange(points // 2 + 1) / points
    folded = _transform(law.weights, t)
    for j in range(1, aliases + 1):
        shift = 2.0 * math.pi * j
        folded += _transform(law.weights, t + shift) + _transform(law.weights, t - shift)
    return np.asarray(np.maximum(scipy.fft.irfft(folded, points)[: r + 1], 0.0))


def _transform(weights: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the characteristic function of Z plus a uniform variable on (-1/2, 1/2)."""
    squares = t * t
    exponent = np.zeros_like(t)
    for w in weights:
        exponent -= np.log1p((w * w) * squares)
    return np.asarray(np.sinc(t / (2.0 * math.pi)) * np.exp(exponent))


def _aliases(law: NoiseLaw) -> int:
    """Return how many periods matter: beyond them the characteristic function is below 1e-18."""
    j = 1
    while j <= _ALIASES:
        t = 2.0 * math.pi * (j - 0.5)
        if float(np.log1p((law.weights * t) ** 2).sum()) + math.log(t / 2.0) > 41.5:
            return j
        j += 1
    return j


def _convolve_in_turn(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    result = arrays[0]
    for array in arrays[1:]:
        result = np.convolve(result, array)
    return result


def _convolve_tree(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    level = arrays
    while len(level) > 1:
        pairs = [_convolve(a, b) for a, b in zip(level[0::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


def _convolve(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    if min(a.size, b.size) <= _DIRECT_LENGTH:
        return np.convolve(a, b)
    size = a.size + b.size - 1
    points = int(scipy.fft.next_fast_len(size, real=True))
    product = scipy.fft.rfft(a, points) * scipy.fft.rfft(b, points)
    return np.asarray(np.maximum(scipy.fft.irfft(product, points)[:size], 0.0))


def _refuse_long(half_length: float) -> None:
    if half_length > _LONGEST:
        raise ValueError(
            f"the mass vector would need {2 * half_length + 1:.0f} cells, but at most "
            f"{2 * _LONGEST + 1} are allowed; choose a wider step or smaller weights"
        )
