"""Rows of categories at blocks of heights, against plain products block by block."""

from itertools import pairwise

import numpy as np
import pytest

from dpbayes.laws.lattice import chains
from dpbayes.laws.lattice.chains import Link, rows

WINDOWS = [(0, 3), (2, 6), (5, 6), (8, 12), (2, 6), (14, 15)]  # blocks in which each has heights
BLOCKS, NODES = 17, 3
LEVEL, OWED = (np.array([0.7, 1.3, 0.2])[:, None, None, None] * scale for scale in (1.0, 0.6))


def link(rng, window):
    """Return a link that is the same in all blocks below its window, and in all above it."""
    low, high = window
    parts = rng.uniform(0.1, 1.0, (4, 1, BLOCKS, NODES))
    parts[:, :, :low] = parts[:, :, low - 1 : low]
    parts[:, :, high:] = parts[:, :, high : high + 1]
    zero, short = rng.uniform(0.1, 1.0, (1, 1, NODES)), rng.uniform(0.1, 1.0, 3)
    return Link(zero, short, *parts)


@pytest.fixture
def links():
    rng = np.random.default_rng(11)
    found = [link(rng, window) for window in WINDOWS]
    found[4] = found[1]  # the same category at two places
    return found


def groups():
    met = np.array([[low <= block < high for low, high in WINDOWS] for block in range(BLOCKS)])
    ends = [0, *(np.flatnonzero((met[1:] != met[:-1]).any(axis=1)) + 1).tolist(), BLOCKS]
    return [(slice(a, b), met[a].tolist()) for a, b in pairwise(ends)]


COPIES = [1, 2, 1, 3, 2, 1]


def test_factors_of_others_are_those_of_each_block(links):
    found = rows(groups(), links, COPIES)
    assert [row.blocks.start for row in found] == [0, 2, 3, 5, 8, 14]
    for row in found:
        for block in range(row.blocks.start, row.blocks.stop):
            expected = np.ones((3, 1, 1, NODES))
            for one, copies, (low, high) in zip(links, COPIES, WINDOWS, strict=True):
                if not low <= block < high:
                    alone = one.at(slice(block, block + 1))
                    expected = expected * alone.factor(LEVEL, OWED, slice(None)) ** copies
            np.testing.assert_allclose(row.constant(LEVEL, OWED), expected, rtol=1e-14)


def test_each_factor_is_computed_once_for_all_rows(links, monkeypatch):
    asked, through = [], Link.factor

    def counted(self, *rest):
        asked.append(id(self))
        return through(self, *rest)

    monkeypatch.setattr(chains.Link, "factor", counted)
    for row in rows(groups(), links, COPIES):
        row.constant(LEVEL, OWED)
    assert len(asked) == len(set(asked)) <= 2 * (len(links) - 1)


def test_a_category_known_near_its_window_is_the_same_beyond(links):
    for (low, high), whole in zip(WINDOWS, links, strict=True):
        first, stop = max(low - 1, 0), min(high + 1, BLOCKS)
        parts = (whole.below, whole.above, whole.keep, whole.pay)
        short = Link(whole.zero, whole.short, *(part[:, first:stop] for part in parts), first=first)
        for blocks in (slice(0, BLOCKS), slice(low, high), slice(BLOCKS - 1, BLOCKS), slice(0, 1)):
            one, other = short.at(blocks), whole.at(blocks)
            for name in ("below", "above", "keep", "pay"):
                assert np.array_equal(getattr(one, name), getattr(other, name))
