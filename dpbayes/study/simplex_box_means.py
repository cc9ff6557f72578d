"""An upper bound on the mean distance of lattice noise over all data of very many records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dpbayes import _validate
from dpbayes.divergences import affinity_by_step, distance_from_log_affinity
from dpbayes.laws.sum_zero import LatticeNoise
from dpbayes.study.simplex_boxes import Boxes, boxes
from dpbayes.study.simplex_windows import Array, Numbers

_NEGLECTED = 3e-4  # times e^-epsilon: probability of noise for which a distance of 1 is counted
_AT_ONCE = 100_000  # noisy rows gone through together


def box_mean(n: int, epsilon: float, k: int = 4, prior: float = 1.0, ratio: float = 1.2) -> float:
    """Return an upper bound on the mean distance over all data of lattice noise, nearest answer.

    Prior (a, …, a), each histogram with the same weight; of the nearest answers one is taken at
    random. Counts m … m `ratio` are gone through together. Book: `thm-simplex-boxes`.

    >>> round(box_mean(100, 5.0), 4)
    0.0114
    """
    size, parts = _validate.integer("n", n, minimum=2), _validate.integer("k", k, minimum=3)
    budget, a = _validate.positive("epsilon", epsilon), _validate.positive("prior", prior)
    reach = LatticeNoise(parts, budget).reach(_NEGLECTED * float(np.exp(-budget)))
    found = boxes(size, parts, ratio, reach if size >= parts * (reach + 1) else size)
    steps = LatticeNoise(parts, 1.0).points(reach)
    weights = np.exp(
        -budget * (np.abs(steps).sum(axis=1) // 2) - LatticeNoise(parts, budget).log_normaliser
    )
    means = np.full(len(found.rows), LatticeNoise(parts, budget).outside(reach))
    logs, average = _tables(found, reach, a)
    for start in range(0, len(means), 128):
        at = slice(start, start + 128)
        block = _Block(found, at, reach, logs, average)
        for some in _parts(len(steps), max(_AT_ONCE // 128, 1)):
            means[at] += weights[some] @ block.distances(steps[some])
    return found.mean(means)


def _parts(size: int, step: int) -> Iterator[slice]:
    for start in range(0, size, step):
        yield slice(start, start + step)


def _tables(found: Boxes, reach: int, prior: float) -> tuple[Array, Array]:
    # -ln BC of the counts m and m + z, (3 reach + 1, n + 1), and its mean over the m of each level.
    counts, moves = np.arange(found.n + 1), np.arange(-2 * reach, reach + 1)[:, None]
    logs = -affinity_by_step(prior + counts, np.maximum(moves, -counts).astype(np.float64))
    means = np.add.reduceat(logs, found.starts, axis=1) / (found.ends - found.starts + 1)
    return np.asarray(logs), np.asarray(means)


class _Block:
    # Some boxes, with tables of -ln BC of one category, one row for each move of the count.
    def __init__(self, found: Boxes, at: slice, reach: int, logs: Array, average: Array) -> None:
        self.low, self.reach, self.n = found.low[at], reach, found.n
        high = found.high[at]
        # -ln BC falls in the count: these are the largest of each box.
        self.corner = [logs[:, low] for low in self.low.T]
        # Where all combinations of the levels leave the largest count above them, they are equally
        # frequent. -ln BC is convex in the count: for the largest count the mean where each of the
        # others stands at either end of its level.
        whole = high[:, -2] < found.n - high[:, :-1].sum(axis=1)
        ends = list(product(*zip(self.low[:, :-1].T, high[:, :-1].T, strict=True)))
        last = sum(logs[:, np.maximum(found.n - sum(some), 0)] for some in ends) / len(ends)
        means = [average[:, level] for level in found.levels[at].T] + [last]
        self.mean = [
            np.where(whole, mean, corner) for mean, corner in zip(means, self.corner, strict=True)
        ]

    def distances(self, steps: Numbers) -> Array:
        logs = np.asarray(
            sum(mean[z + 2 * self.reach] for mean, z in zip(self.mean, steps.T, strict=True))
        )
        if self.low.min() < self.reach:
            short = sum(
                np.maximum(-z[:, None] - low, 0) for z, low in zip(steps.T, self.low.T, strict=True)
            )
            step, box = np.nonzero(short)
            logs[step, box] = self._projected(steps[step], box, np.asarray(short)[step, box])
        return distance_from_log_affinity(-logs)

    def _projected(self, steps: Numbers, box: Numbers, short: Numbers) -> Array:
        # Counts below 0 become 0. If all others can pay an equal part of what that adds, each does,
        # and some drawn at random pay one record more; else none pays more than all of it.
        noisy = [low[box] + z for low, z in zip(self.low.T, steps.T, strict=True)]
        payers = sum((one >= 0).astype(np.int64) for one in noisy)
        equal = np.all([(one < 0) | (one * payers >= short) for one in noisy], axis=0)
        least = np.where(equal, short // payers, 0)
        most = np.where(equal, -(-short // payers), short)
        chance = (short % payers) / payers
        total, middle = np.zeros(len(box)), 2 * self.reach
        for corner, mean, z in zip(self.corner, self.mean, steps.T, strict=True):
            ends = [mean[z - paid + middle, box] for paid in (least, most)]
            total += np.where(
                equal,
                (1.0 - chance) * ends[0] + chance * ends[1],
                np.maximum(corner[z - least + middle, box], corner[z - most + middle, box]),
            )
        return total
