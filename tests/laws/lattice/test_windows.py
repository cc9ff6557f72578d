"""Windows of released counts that all others can make up for, against all outputs."""

import itertools

import numpy as np
import pytest

from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.lattice.prefixes import GONE, Category
from dpbayes.laws.lattice.windows import windows_of_all


@pytest.mark.parametrize("prior", [1e-6, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("counts", [(40, 0, 0, 0), (30, 9, 0, 0), (14, 13, 12, 1)])
@pytest.mark.parametrize("least", [0.0, 8.0, 64.0, 300.0])
def test_no_output_that_matters_is_outside(prior, counts, least):
    made = [Category(prior, count, 1000, least) for count in counts]
    windows = windows_of_all(made, [1] * len(counts))
    total = sum(counts)
    tables = [least * affinity_of_counts(prior, count, np.arange(total + 1)) for count in counts]
    matters = np.zeros((len(counts), total + 1), dtype=bool)
    for first in itertools.product(range(total + 1), repeat=len(counts) - 1):
        output = (*first, total - sum(first))
        if output[-1] < 0:
            continue
        if sum(float(t[r]) for t, r in zip(tables, output, strict=True)) >= -GONE:
            matters[range(len(counts)), output] = True
    for window, seen in zip(windows, matters, strict=True):
        released = np.flatnonzero(seen)
        assert window.first <= released[0]
        assert released[-1] <= window.last


def test_a_full_category_beside_empty_ones_hardly_moves():
    full, empty = Category(1.0, 10**6, 6000, 1.0), Category(1.0, 0, 6000, 1.0)
    one, other = windows_of_all([full, empty], [1, 49])
    assert 10**6 - 300 < one.first < one.last == 10**6
    assert (other.first, other.last) == (0, empty.last)
    two, _ = windows_of_all([full, empty], [2, 49])
    assert two.first < 10**6 - 6000
    assert two.last == full.last


def test_equal_categories_share_their_window():
    empty, full = Category(1.0, 0, 50, 1.0), Category(1.0, 30, 50, 1.0)
    found = windows_of_all([empty, full, empty], [1, 1, 2])
    assert found[0] is found[2]
