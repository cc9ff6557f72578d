"""Where sum-zero noise lands that leaves the histograms, summed without listing it.

Noise z on counts x gives y = x + z with the same total n, and `project` brings y back.
Both projections look at the positive entries of y only, and what they pay:

* "l2": let t be the largest level at which v = max(y - t, 0) has a sum of at least n.
  Then y lands where v does: on v, less one record for each of its e = sum(v) - n
  largest entries, where e is less than the number of positive ones. For given v with
  positive entries S the level is free: y_i = v_i + t in S, and elsewhere y_j <= t with
  sum -e - |S| t.
* "l1": y lands where v = max(y, 0) does, and there is no level: t = 0, and any excess
  e = sum(v) - n.

So all noise that lands outside is listed by its v, of which there are about as many as
histograms (times the excesses, for "l1"), and the probability of each is

    sum over t of [product over S of w(v_i + t - x_i)] W(t),

W(t) the total weight of what the other entries may be. Book: `thm-lattice-landing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Protocol

import numpy as np

from dpbayes._validate import Floats, Whole
from dpbayes.laws.sum_zero import project
from dpbayes.posteriors import compositions, row_of

# Sums over levels end where a term is so small a part of the sum so far.
_LAST = 2.0**-58
_KEPT = 8_000_000  # numbers that are kept for data sets in another order, 64 MB


class Noise(Protocol):
    """What of `LatticeNoise` and `GaussianNoise` is used here.

    P(Z = z) over the whole vectors z (k,) with sum 0 is proportional to the product of
    w(z_i) = e^(-fall(z_i)): one weight for every category.
    """

    k: int

    def fall(self, steps: Whole) -> Floats:
        """Return minus ln of the weight w(z) of a step of one category, any shape; even
        in z.
        """
        ...

    def scaled(self, total: int, centres: Whole) -> tuple[float, list[Floats]]:
        """Return ln of a factor f and rows r_j with prod_j w(u_j - c_j) = f prod_j
        r_j(u_j) for all u >= 0 of this total; the largest products are of order one.
        """
        ...


@dataclass(frozen=True)
class Face:
    """All vectors v with the same number s of positive entries.

    `places` (C, s) are the categories of the positive entries, `others` (C, k - s) the
    rest. Each of the rows `values` (P, s), of the excess `excess` (P,), stands in each
    of the places.
    """

    places: Whole
    others: Whole
    values: Whole
    excess: Whole

    def vectors(self) -> Whole:
        """Return y at level 0, (C P, k): v, with minus the excess at the first
        other.
        """
        shape = len(self.places), len(self.values), self.places.shape[1]
        result = np.zeros((*shape[:2], shape[2] + self.others.shape[1]), dtype=np.int64)
        places = np.broadcast_to(self.places[:, None], shape)
        np.put_along_axis(result, places, np.broadcast_to(self.values, shape), axis=2)
        first = np.broadcast_to(self.others[:, None, :1], (*shape[:2], 1))
        np.put_along_axis(result, first, -self.excess[:, None], axis=2)
        return result.reshape(-1, result.shape[2])


def excesses(n: int, size: int, projection: str, depth: int) -> range:
    """Return the excesses e = sum(v) - n of v with `size` positive entries.

    "l2" pays one record for each of the e largest entries, so e < size; "l1" drains any
    excess, here up to `depth`. e is at least size - n, for each positive entry holds a
    record.
    """
    last = size - 1 if projection == "l2" else depth
    return range(max(0, size - n), last + 1)


def number_of_vectors(n: int, k: int, projection: str, depth: int) -> int:
    """Return how many vectors v there are, those of all `faces` together.

    Of s positive entries in C(k, s) sets of places, with sum n + e, there are C(n + e -
    1, s - 1).
    """
    return sum(
        comb(k, size) * comb(n + excess - 1, size - 1)
        for size in range(1, k)
        for excess in excesses(n, size, projection, depth)
    )


def faces(n: int, k: int, projection: str, depth: int) -> Iterator[Face]:
    """Yield all v of n records over k categories that have an empty category.

    One `Face` for each number s = 1 … k - 1 of positive entries: noisy counts without
    an entry below 1 land on themselves.
    """
    everything = np.arange(k)
    for size in range(1, k):
        places = np.array(list(combinations(range(k), size)))
        others = np.array([np.setdiff1d(everything, row) for row in places])
        parts = [
            (_positive(n + excess, size), excess)
            for excess in excesses(n, size, projection, depth)
        ]
        if parts:
            values = np.concatenate([rows for rows, _ in parts])
            excess = np.repeat([e for _, e in parts], [len(rows) for rows, _ in parts])
            yield Face(places, others, values, excess)


def _positive(total: int, size: int) -> Whole:
    # All ways to write the total as an ordered sum of so many numbers of at least 1.
    if size == 1:
        return np.array([[total]], dtype=np.int64)
    return compositions(total - size, size) + 1


def log_rest(noise: Noise, counts: Whole, level: int, total: int) -> float:
    """Return ln of the weight of all y <= level with sum -total, y - counts the noise.

    With u = level - y >= 0 this is a convolution of the weights of u - (level -
    counts), read where u adds up to b level + total, b the number of counts.
    """
    if counts.size == 1:
        return -float(noise.fall(-total - counts)[0])
    whole = counts.size * level + total
    log_factor, rows = noise.scaled(whole, level - counts)
    sums = rows[0]
    for row in rows[1:-1]:
        sums = np.convolve(sums, row)[: whole + 1]
    return log_factor + float(np.log(sums @ rows[-1][::-1]))


class Landings:
    """Where the noise lands that leaves the histograms of n records, and how likely.

    One object serves all data sets of n records: where a vector lands does not depend
    on the counts, and its probability not on the order of the categories.
    """

    def __init__(self, n: int, noise: Noise, projection: str, depth: int) -> None:
        self.noise, self.levels = noise, projection == "l2"
        self.faces = list(faces(n, noise.k, projection, depth))
        vectors = np.concatenate([face.vectors() for face in self.faces])
        self.landed = row_of(project(vectors, projection))
        self._vectors = np.maximum(vectors, 0)
        self._names = _distinct(self._vectors)
        self._by_name = np.argsort(self._vectors @ self._names)
        self._kept: dict[tuple[int, ...], Floats] = {}
        self._places: dict[tuple[int, ...], Whole] = {}
        self._rests: dict[tuple[bytes, int, int], float] = {}

    def log_weights(self, counts: Whole) -> Floats:
        """Return ln of the weight of each vector (N,), in the order of `landed`.

        `counts` (k,) are the true ones. Weights are summed for the sorted counts once,
        and found again by a permutation of the categories for others.
        """
        order = np.argsort(counts, kind="stable")
        key = tuple(counts[order].tolist())
        if key not in self._kept:
            if (len(self._kept) + 1) * self.landed.size > _KEPT:
                self._kept.clear()
            self._kept[key] = self._ranked(counts[order])
        found = self._kept[key]
        return (
            found if np.array_equal(np.sort(order), order) else found[self._at(order)]
        )

    def _at(self, order: Whole) -> Whole:
        # The place of each vector with its categories in this order.
        key = tuple(order.tolist())
        if key not in self._places:
            if (len(self._places) + 1) * self.landed.size > _KEPT:
                self._places.clear()
            moved = np.argsort(self._vectors[:, order] @ self._names)
            place = np.empty(moved.size, dtype=np.int64)
            place[moved] = self._by_name
            self._places[key] = place
        return self._places[key]

    def _ranked(self, counts: Whole) -> Floats:
        return np.concatenate([self._of_face(face, counts) for face in self.faces])

    def _of_face(self, face: Face, counts: Whole) -> Floats:
        steps = [
            face.values[:, i] - counts[face.places[:, i]][:, None]
            for i in range(face.places.shape[1])
        ]
        rests, row = np.unique(counts[face.others], axis=0, return_inverse=True)
        first_excess = int(face.excess.min())
        columns = range(first_excess, int(face.excess.max()) + 1)
        where = row.ravel()[:, None], face.excess - first_excess

        def term(level: int) -> Floats:
            table = [
                [self._rest(one, level, e + len(steps) * level) for e in columns]
                for one in rests
            ]
            logs = np.array(table)[where]
            for step in steps:
                logs -= self.noise.fall(step + level)
            return logs

        first, level = term(0), 1
        if not self.levels:
            return first.ravel()
        total = np.ones(first.shape)
        while True:
            more = np.exp(term(level) - first)
            total += more
            if np.all(more <= _LAST * total):
                return np.asarray((first + np.log(total)).ravel())
            level += 1

    def _rest(self, counts: Whole, level: int, total: int) -> float:
        key = counts.tobytes(), level, total
        if key not in self._rests:
            self._rests[key] = log_rest(self.noise, counts, level, total)
        return self._rests[key]


def _distinct(vectors: Whole) -> Whole:
    """Return multipliers (k,) with which no two of the vectors have one sum, modulo
    2^64.
    """
    rng = np.random.default_rng(0)
    while True:
        names = rng.integers(2**62, size=vectors.shape[1])
        if np.unique(vectors @ names).size == len(vectors):
            return np.asarray(names)


@lru_cache(maxsize=2)
def landings(n: int, noise: Noise, projection: str, depth: int) -> Landings:
    """Return the vectors of n records; those of the last two settings are kept."""
    return Landings(n, noise, projection, depth)
