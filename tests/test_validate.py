"""Each check accepts what it should and refuses the rest: by name, value and what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpbayes as dp
from dpbayes import _validate
from dpbayes.auditing.composition import advanced_composition, basic_composition
from dpbayes.laws.continuous import ContinuousLaw
from dpbayes.mechanisms.laplace import LaplaceMechanism


def test_a_sum_of_counts_does_not_wrap_around() -> None:
    # In int64 these five counts sum to 7.
    counts = [2**62] * 4 + [7]
    assert int(np.array(counts, dtype=np.int64).sum()) == 7
    with pytest.raises(ValueError, match=r"counts must have a sum of at most 2\^62, got"):
        dp.posterior(counts, np.ones(5))
    assert int(_validate.counts("counts", [2**62 - 5, 5]).sum()) == 2**62


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**5000], ids=["1e400", "-1e400", "1e5000"])
def test_whole_numbers_beyond_the_range_of_floats_are_refused(huge: int) -> None:
    with pytest.raises(ValueError, match=r"epsilon must be finite, got a whole number of \d+ bits"):
        dp.mechanism("geometric", epsilon=huge)
    with pytest.raises(ValueError, match=r"n must be an integer of at (least|most)"):
        dp.audit(dp.mechanism("geometric", 1.0), huge, [1, 1])
    with pytest.raises(ValueError, match=r"counts must be .* of at most 2\^62, got a whole number"):
        dp.posterior([huge, 1], [1, 1])


@pytest.mark.parametrize(
    "counts",
    [
        np.ma.array([3, 4], mask=[False, True]),
        [np.ma.masked, 4],
        bytearray(b"ab"),
        memoryview(b"ab"),
        [[1], [2, 3]],
        [True, 4],
        range(10**15),
        {3: 4},
    ],
    ids=["masked", "masked entry", "bytearray", "memoryview", "ragged", "bool", "range", "dict"],
)
def test_what_is_not_a_vector_of_counts_is_refused(counts: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^counts must be a vector .* got "):
        dp.posterior(counts, [1, 1])


def test_a_masked_array_without_a_masked_entry_is_its_data() -> None:
    whole = dp.posterior(np.ma.array([3, 4], mask=False), [1, 1])
    assert whole.concentration.tolist() == [4.0, 5.0]


@pytest.mark.parametrize("bad", [(np.nan, 0.0), (2.0, np.inf), (0.0, 0.0), (1.0,), "ab", (1, -1)])
def test_by_dimension_is_a_positive_number_and_one_of_at_least_0(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="by_dimension must "):
        LaplaceMechanism(1.0, by_dimension=bad)


def test_a_continuous_law_checks_its_numbers() -> None:
    with pytest.raises(ValueError, match="scale must be finite, got nan"):
        ContinuousLaw(np.ones(2), np.array([3, 4]), np.nan)
    with pytest.raises(ValueError, match="prior must be finite, got nan"):
        ContinuousLaw(np.array([1.0, np.nan]), np.array([3, 4]), 1.0)


@pytest.mark.parametrize("bad", [[np.nan], [0], [1.5], [-1], None, "3"])
def test_numbers_of_releases_are_whole_and_at_least_1(bad: Any) -> None:
    for compose in (basic_composition, lambda e, m: advanced_composition(e, m, 1e-6)):
        with pytest.raises((ValueError, TypeError), match="releases must be "):
            compose(0.1, bad)


def test_long_values_are_cut_in_a_message() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert _validate.shown(10**5000) == "a whole number of 16610 bits"
    assert _validate.shown(Silent()).startswith("<Silent instance at")
    assert len(_validate.shown("x" * 10_000)) < 120
    assert _validate.shown(np.zeros((3, 40))) == "an array of shape (3, 40)"
