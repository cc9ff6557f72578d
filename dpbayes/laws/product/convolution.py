"""Distributions of sums of independent steps, each weighted by a power of its affinity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import fft

UNSEEN = 46.0
"""Sums of steps are left out where all of them together have probability 2 e^-UNSEEN."""

_LONG = 1 << 18  # places: of more, the next power of two may take far more memory


@dataclass(frozen=True)
class Factor:
    """One category's steps first, first + 1, … with ln of probabilities and of affinities.

    `copies` independent categories have this factor.
    """

    first: int
    log_probabilities: NDArray[np.float64]
    log_affinity: NDArray[np.float64]
    copies: int = 1

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each step: of millions they are not kept."""
        return np.asarray(np.exp(self.log_probabilities))

    def again(self) -> Factor:
        """Return this factor with one more copy."""
        return replace(self, copies=self.copies + 1)

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps listed."""
        return self.first + np.arange(self.log_probabilities.size)


def wrap_length(factors: Sequence[Factor]) -> tuple[int, int]:
    """Return how far below and above 0 the sum of steps reaches, but for probability 2 e^-46.

    P(sum >= L) <= E exp(eta sum) exp(-eta L) for each eta (Chernoff), and never more than the
    sum of all ranges.
    """
    reaches = []
    for sign in (-1, 1):
        ends = [max(int((sign * f.steps[[0, -1]]).max()), 0) * f.copies for f in factors]
        total = sum(ends)
        widest = max(float(np.abs(f.steps[[0, -1]]).max()) for f in factors)
        etas = np.geomspace(0.5, 600.0, 30) / max(widest, 1.0)
        bounds = (_log_growth(factors, sign * etas) + UNSEEN) / etas
        reaches.append(int(min(np.ceil(max(float(bounds.min()), 0.0)), total)))
    return reaches[0], reaches[1]


def _log_growth(factors: Sequence[Factor], etas: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.zeros(etas.size)
    for factor in factors:
        probabilities, steps = factor.probabilities, factor.steps
        sums = [probabilities @ np.exp(eta * steps) for eta in etas.tolist()]
        found += np.log(sums) * factor.copies
    return found


def convolve(
    factors: Sequence[Factor], powers: NDArray[np.float64], down: int, up: int
) -> NDArray[np.float64]:
    """Return sum over steps that add up to s of the product of P exp(power psi), s = -down … up.

    Shape (m, down + up + 1) for m powers. The transform is cyclic: a sum that leaves the range
    wraps around, with the probability that the range was chosen for.
    """
    least = float(powers.min())
    ranges = [_kept(factor, least) for factor in factors]
    # The circle holds the sums in range, or all sums of steps that are kept if these are fewer.
    lowest = sum(f.copies * (f.first + low) for f, (low, _) in zip(factors, ranges, strict=True))
    highest = sum(f.copies * (f.first + high) for f, (_, high) in zip(factors, ranges, strict=True))
    highest -= sum(f.copies for f in factors)
    below, above = max(-down, lowest), min(up, highest)
    found = np.zeros((powers.size, down + up + 1))
    if above < below:
        return found
    # No factor is longer than the circle, so none of them overlaps itself.
    widest = max(high - low for low, high in ranges)
    length = _length(int(max(min(down + up, highest - lowest), widest)) + 1)
    # At millions of steps these arrays are the memory of a mean: as few as possible live at once.
    product = np.ones((1, 1), dtype=np.complex128)
    for factor, (low, high) in zip(factors, ranges, strict=True):
        masses = powers[:, None] * factor.log_affinity[low:high]
        np.exp(masses, out=masses)
        masses *= np.exp(factor.log_probabilities[low:high])
        wrapped = np.zeros((powers.size, length))
        for ours, theirs in _around(factor.first + low, high - low, length):
            wrapped[:, theirs] = masses[:, ours]
        del masses
        spectrum = np.fft.rfft(wrapped, axis=1)
        del wrapped
        if factor.copies > 1:
            spectrum **= factor.copies
        product = np.multiply(spectrum, product, out=spectrum)
        del spectrum
    sums = np.fft.irfft(product, length, axis=1)
    del product
    inside = found[:, below + down : above + down + 1]
    for ours, theirs in _around(below, above - below + 1, length):
        np.maximum(sums[:, theirs], 0.0, out=inside[:, ours])
    return found


def _length(least: int) -> int:
    """Return a length of a circle that takes so many places and is transformed fast.

    >>> _length(3), _length(1025), _length(1 << 20), _length((1 << 20) + 1)
    (4, 2048, 1048576, 1049760)
    """
    if least <= _LONG:
        return 1 << (least - 1).bit_length()
    return int(fft.next_fast_len(least, real=True))


def _around(first: int, size: int, length: int) -> list[tuple[slice, slice]]:
    """Return where `size` <= length places from `first` on lie on a circle, as slices of both.

    >>> _around(-2, 5, 10)
    [(slice(0, 2, None), slice(8, 10, None)), (slice(2, 5, None), slice(0, 3, None))]
    """
    start = first % length
    here = min(size, length - start)
    pieces = [(slice(0, here), slice(start, start + here))]
    return pieces if here == size else [*pieces, (slice(here, size), slice(0, size - here))]


def _kept(factor: Factor, power: float) -> tuple[int, int]:
    """Return from where to where the steps lie that this or a higher power leaves."""
    kept = factor.log_affinity * power > -2.0 * UNSEEN
    return int(np.argmax(kept)), kept.size - int(np.argmax(kept[::-1]))
