"""The computations behind the chapter's experiments on laws, intervals and posteriors.

E's own experiments (its section 6) are lost; these designs are ours. Each function takes numbers or
a seeded generator and returns arrays, so that a notebook only has to name its values and draw.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

from dpbayes._validate import generator, integer, open_unit, positive
from dpbayes.queries import _arrays
from dpbayes.queries.blue import blue, chebyshev_half_width
from dpbayes.queries.budget import budget, combine
from dpbayes.queries.gibbs import posterior_draws
from dpbayes.queries.intervals import credible_interval, gaussian_half_width
from dpbayes.queries.masses import (
    MassVector,
    exact_masses,
    laplace_masses,
    pmf_monte_carlo,
    pmf_probability_calculation,
)
from dpbayes.queries.noise import NoiseLaw
from dpbayes.queries.workload import random_ranges, range_query

Array = NDArray[np.float64]
_LOST = 1e-200  # a mass below it may have lost its digits


def squared_error(approximation: MassVector, law: NoiseLaw) -> float:
    """Return sum_k (u_k - p_k)^2 against the exact masses, cells outside both vectors left out.

    >>> squared_error(exact_masses(NoiseLaw([3.0])), NoiseLaw([3.0]))
    0.0
    """
    half = max(approximation.half_length, math.ceil(law.half_width(1e-12)))
    difference = approximation.resized(half) - exact_masses(law, half).masses
    return float(difference @ difference)


def monte_carlo_errors(
    weights: ArrayLike, sizes: Sequence[int], repeats: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the mean squared error of Algorithm 1 at each sample size, and its standard error."""
    law, runs = NoiseLaw(weights), integer("repeats", repeats, 2)
    errors = np.array(
        [
            [squared_error(pmf_monte_carlo(weights, size, rng), law) for _ in range(runs)]
            for size in sizes
        ]
    )
    return errors.mean(axis=1), errors.std(axis=1, ddof=1) / math.sqrt(runs)


def probability_calculation_errors(weights: ArrayLike, gammas: ArrayLike) -> tuple[Array, Array]:
    """Return the squared error and the lost mass of Algorithm 2 at each gamma."""
    law = NoiseLaw(weights)
    vectors = [pmf_probability_calculation(weights, float(g)) for g in np.atleast_1d(gammas)]
    errors = np.array([squared_error(vector, law) for vector in vectors])
    return errors, np.array([vector.lost for vector in vectors])


def reported_noise(
    sizes: ArrayLike, answers: int, gamma: float, delta: float
) -> tuple[Array, Array]:
    """Return what Algorithm 2 reports for `answers` equal weights of each size.

    First the standard deviation it reports over the true one, then the probability that the
    interval which Algorithm 3 draws from it at level 1 - delta misses the truth.
    """
    count = integer("answers", answers, 1)
    ratios, missed = [], []
    for size in _arrays.positive_entries("sizes", sizes):
        weights = np.full(count, size)
        law, vector = NoiseLaw(weights), pmf_probability_calculation(weights, gamma)
        if vector.total < _LOST:
            vector = MassVector(_kept_masses(float(size), count, gamma), vector.lost)
        ratios.append(vector.standard_deviation / law.standard_deviation)
        interval = credible_interval(vector.masses / vector.total, delta)
        missed.append(2.0 * law.tail(interval.half_width))
    return np.array(ratios), np.array(missed)


def _kept_masses(size: float, count: int, gamma: float) -> Array:
    """Return the masses of Algorithm 2 for equal weights where nearly all of them is lost, over 1.

    Every vector is brought to the mass 1 before they are convolved, and not their convolution.
    """
    one = laplace_masses(size, gamma)
    length = 2 * one.half_length * count + 1
    points = int(scipy.fft.next_fast_len(length, real=True))
    # Around the cell 0 the vector is even, so its transform is real.
    around = np.roll(np.pad(one.masses, (0, points - one.masses.size)), -one.half_length)
    folded = scipy.fft.irfft(scipy.fft.rfft(around / one.total).real ** count, points)
    side = np.maximum(folded[: length // 2 + 1], 0.0)
    # Farther than forty deviations out is rounding only.
    side[math.ceil(40.0 * one.standard_deviation * math.sqrt(count)) :] = 0.0
    return np.concatenate([side[:0:-1], side])


def running_times(
    sizes: Sequence[int], samples: int, gamma: float, rng: np.random.Generator
) -> dict[str, Array]:
    """Return the seconds of one core that five ways to the law of m weights take.

    The weights are drawn between 1 and 10. Four give a whole mass vector; the last gives one tail
    probability. Quick ones are the best of three runs.
    """
    generator("rng", rng)
    columns: dict[str, list[float]] = {}
    for m in sizes:
        w = rng.uniform(1.0, 10.0, integer("sizes", m, 1))
        for name, work in _methods(w, samples, gamma, rng).items():
            columns.setdefault(name, []).append(_seconds(work))
    return {name: np.array(values) for name, values in columns.items()}


def recorded_times() -> dict[str, Array]:
    """Return the sizes and times that `make bench` last recorded, one array a column.

    >>> list(recorded_times())[0]
    'answers'
    """
    path = files("dpbayes") / "data" / "noise-law-times.csv"
    header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    table = np.array(rows, dtype=np.float64)
    return {name: table[:, i] for i, name in enumerate(header)}


def _methods(
    w: Array, samples: int, gamma: float, rng: np.random.Generator
) -> dict[str, Callable[[], object]]:
    return {
        "Algorithm 1": lambda: pmf_monte_carlo(w, samples, rng),
        "Algorithm 2": lambda: pmf_probability_calculation(w, gamma, "shortest-first"),
        "Algorithm 2, tree": lambda: pmf_probability_calculation(w, gamma),
        "exact, transform": lambda: exact_masses(NoiseLaw(w)),
        "exact, one tail": lambda: NoiseLaw(w).tail(10.0 * math.sqrt(w.size)),
    }


def _seconds(work: Callable[[], object]) -> float:
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
        if best > 0.05:
            break
    return best


def coverages(law: NoiseLaw, confidences: ArrayLike) -> dict[str, Array]:
    """Return the true coverage of intervals made for each confidence, by three rules."""
    deltas = 1.0 - _arrays.vector("confidences", confidences)
    rules: dict[str, Callable[[float], float]] = {
        "exact": law.half_width,
        "Gaussian": lambda delta: gaussian_half_width(law.variance, delta),
        "Chebyshev": lambda delta: chebyshev_half_width(law.variance, delta),
    }
    return {
        name: np.array([1.0 - 2.0 * law.tail(rule(float(d))) for d in deltas])
        for name, rule in rules.items()
    }


def joined_miss(deltas: ArrayLike, ratio: float) -> Array:
    """Return the probability that history and fresh answer joined miss by more than L/2.

    The fresh answer is bought at the direct budget for (L, delta); the history is one answer whose
    noise is `ratio` times as large. A value above delta means that joining broke the promise.
    """
    factor = positive("ratio", ratio)
    miss = []
    for delta in _arrays.vector("deltas", deltas):
        scale = 1.0 / budget(1.0, 2.0, open_unit("deltas", float(delta)))
        joined = combine([factor * scale], scale)[1]
        miss.append(2.0 * NoiseLaw(joined).tail(1.0))
    return np.array(miss)


def largest_coverage(candidates: ArrayLike, delta: float) -> Array:
    """Return how often a 1 - delta interval around the largest of k noisy answers holds its truth.

    The k true answers are equal and the noise has one scale, so the largest answer has the largest
    noise: it stays within its half-width with probability (1 - delta/2)^k - (delta/2)^k.

    >>> largest_coverage([1.0, 50.0], 0.05).round(3)
    array([0.95 , 0.282])
    """
    k, half = _arrays.positive_entries("candidates", candidates), 0.5 * open_unit("delta", delta)
    return np.asarray((1.0 - half) ** k - half**k)


@dataclass(frozen=True)
class PosteriorGain:
    """Mean squared errors over simulated histories, one entry a number of answers."""

    blue: Array
    posterior: Array
    standard_error: Array

    @property
    def gain(self) -> Array:
        """The share by which the posterior mean cuts the mean squared error."""
        return np.asarray(1.0 - self.posterior / self.blue)


def posterior_gain(
    sizes: Sequence[int],
    cells: int,
    histories: int,
    batch: int,
    draws: int,
    rng: np.random.Generator,
) -> PosteriorGain:
    """Return the errors of BLUE and of the posterior mean for one range over range histories.

    A history holds the single cells, so that everything is estimable, and random ranges up to the
    wanted number of answers, all with noise of scale 1. Errors are averaged over `histories` such
    histories with `batch` data sets each.
    """
    side, rounds = integer("cells", cells, 2), integer("histories", histories, 1)
    integer("batch", batch, 2)
    q = range_query((side,), [side // 4], [side // 4 + max(1, side // 2)])
    rows = []
    for m in sizes:
        extra = integer("sizes", m, side + 1) - side
        pairs = [_squared_pairs(q, extra, batch, draws, rng) for _ in range(rounds)]
        plain, full = np.concatenate(pairs, axis=1)
        error = ((plain - full) / plain.mean()).std(ddof=1) / math.sqrt(plain.size)
        rows.append((plain.mean(), full.mean(), error))
    table = np.array(rows)
    return PosteriorGain(table[:, 0], table[:, 1], table[:, 2])


def _squared_pairs(q: Array, extra: int, batch: int, draws: int, rng: np.random.Generator) -> Array:
    """Return the squared errors (2, batch) of BLUE and posterior mean over one random history."""
    H = np.vstack([np.eye(q.size), random_ranges((q.size,), extra, rng)])
    ones = np.ones(q.size + extra)
    noise = rng.laplace(size=(batch, ones.size))
    plain = noise @ blue(H, ones, q).weights
    full = posterior_draws(H, ones, noise, q, draws, rng).mean
    return np.stack([plain, full]) ** 2
