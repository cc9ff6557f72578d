"""Hypothesis strategies shared by all tests: counts, priors, budgets, small cases."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

epsilons = st.floats(0.01, 10.0)
prior_values = st.one_of(
    st.sampled_from([0.1, 0.5, 1.0, 2.0, 30.0]),
    st.floats(1e-3, 100.0, allow_subnormal=False),
)


def priors(k: int) -> st.SearchStrategy[np.ndarray]:
    """A prior of k parameters, often with repeated values."""
    return st.one_of(
        prior_values.map(lambda value: np.full(k, value)),
        st.lists(prior_values, min_size=k, max_size=k).map(np.array),
    )


@st.composite
def histograms(draw, k: int, largest: int, smallest: int = 1) -> np.ndarray:
    """Counts over k categories with a total between smallest and largest, zeros
    likely."""
    n = draw(st.integers(smallest, largest))
    cuts = sorted(draw(st.lists(st.integers(0, n), min_size=k - 1, max_size=k - 1)))
    return np.diff(np.array([0, *cuts, n]))


@st.composite
def small_cases(
    draw,
    categories: tuple[int, ...] = (2, 3, 4),
    largest: tuple[int, ...] = (30, 12, 7),
) -> tuple[np.ndarray, np.ndarray]:
    """(counts, prior) small enough to enumerate every neighbour of every histogram."""
    i = draw(st.integers(0, len(categories) - 1))
    return draw(histograms(categories[i], largest[i])), draw(priors(categories[i]))
