"""Each check accepts what it should and refuses the rest: by name, value and what is
allowed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpbayes as dp
from dpbayes import _validate


def test_a_sum_of_counts_does_not_wrap_around() -> None:
    # In int64 these five counts sum to 7.
    counts = [2**62] * 4 + [7]
    assert int(np.array(counts, dtype=np.int64).sum()) == 7
    with pytest.raises(
        ValueError, match=r"counts must have a sum of at most 2\^62, got"
    ):
        dp.posterior(counts, np.ones(5))
    assert int(_validate.counts("counts", [2**62 - 5, 5]).sum()) == 2**62


@pytest.mark.parametrize("huge", [10**400, -(10**5000)], ids=["1e400", "-1e5000"])
def test_whole_numbers_beyond_the_range_of_floats_are_refused(huge: int) -> None:
    with pytest.raises(
        ValueError, match=r"epsilon must be finite, got a whole number of \d+ bits"
    ):
        dp.mechanism("geometric", epsilon=huge)
    with pytest.raises(ValueError, match=r"n must be an integer of at (least|most)"):
        dp.audit(dp.mechanism("geometric", 1.0), huge, [1, 1])
    with pytest.raises(
        TypeError, match=r"counts must be .* whole numbers, at most 2\^62 and of a"
    ):
        dp.posterior([huge, 1], [1, 1])


def test_long_values_are_cut_in_a_message() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert _validate.shown(Silent()) == "an object of type Silent"
    assert len(_validate.shown("x" * 10_000)) < 120
    assert _validate.shown(np.zeros((3, 40))) == "an array of shape (3, 40)"


class Labelled(list):  # type: ignore[type-arg]
    """What pandas calls a Series, as far as labels go."""

    def __init__(self, values: Any, labels: str) -> None:
        super().__init__(values)
        self.index = list(labels)  # type: ignore[assignment]


X, ALPHA = Labelled([3, 1], "ba"), Labelled([100.0, 1.0], "ab")
GEOMETRIC, SMOOTH = dp.mechanism("geometric", 1.0), dp.mechanism("expMech-smooth", 1.0)
TWO_LABELLED = {
    "posterior": lambda: dp.posterior(X, ALPHA),
    "hellinger": lambda: dp.hellinger(X, ALPHA),
    "hellinger_published": lambda: dp.hellinger_published(X, ALPHA),
    "log_affinity": lambda: dp.log_affinity(X, ALPHA),
    "local_sensitivity": lambda: dp.local_sensitivity(X, ALPHA),
    "smooth_sensitivity": lambda: dp.smooth_sensitivity(X, ALPHA),
    "law": lambda: GEOMETRIC.law(X, ALPHA),
    "law of scores": lambda: SMOOTH.law(X, ALPHA),
    "audit_pair": lambda: dp.audit_pair(
        GEOMETRIC, [3, 1], Labelled([2, 2], "ba"), ALPHA
    ),
    "counts": lambda: dp.audit_pair(GEOMETRIC, X, Labelled([2, 2], "ab"), [1, 1]),
    "mean_distances": lambda: dp.mean_distances(
        GEOMETRIC, Labelled([0.5, 0.5], "ab"), Labelled([1, 2], "ba"), [4]
    ),
    "crossover": lambda: dp.crossover(
        GEOMETRIC, SMOOTH, Labelled([0.5, 0.5], "ab"), Labelled([1, 2], "ba"), [4]
    ),
    "records_needed": lambda: dp.records_needed(
        dp.mechanism("lattice", 1.0),
        Labelled([0.3, 0.7], "ab"),
        Labelled([1, 2], "ba"),
        0.1,
    ),
}


@pytest.mark.parametrize(
    "kind", [np.float16, np.float32, np.longdouble, np.int8, np.uint8, np.uint64, float]
)
def test_counts_and_priors_of_every_kind_of_number_are_the_same(kind: Any) -> None:
    x, prior = np.array([50, 70], dtype=kind), np.array([1, 2], dtype=kind)
    assert dp.posterior(x, prior) == dp.posterior([50, 70], [1, 2])
    law = GEOMETRIC.law(x, prior)
    assert law.mean_distance() == GEOMETRIC.law([50, 70], [1, 2]).mean_distance()
    assert dp.hellinger(x, prior) == dp.hellinger([50, 70], [1, 2])


def test_a_number_that_is_too_large_for_a_float_is_not_finite() -> None:
    for call in (lambda x: dp.posterior(x, [1, 1]), lambda x: dp.hellinger(x, [1, 1])):
        with pytest.raises(ValueError, match="must be finite"):
            call(np.array([1, np.longdouble("1e4000")]))


@pytest.mark.parametrize(
    "metric", [dp.hellinger, dp.hellinger_published, dp.log_affinity]
)
def test_two_vectors_give_a_float_and_rows_an_array(metric: Any) -> None:
    assert type(metric([1, 2], [3, 4])) is float
    assert type(metric([[1, 2]], [3, 4])) is np.ndarray
    assert metric([[1, 2]], [3, 4]).tolist() == [metric([1, 2], [3, 4])]


@pytest.mark.parametrize("call", TWO_LABELLED.values(), ids=TWO_LABELLED)
def test_labels_in_another_order_are_refused(call: Any) -> None:
    with pytest.raises(
        ValueError, match=r"must have the labels of \w+ in their order, got"
    ):
        call()


def test_equal_labels_and_numbers_without_labels_are_taken() -> None:
    pandas = pytest.importorskip("pandas")
    counts, prior = (
        pandas.Series({"b": 3, "a": 1}),
        pandas.Series({"b": 1.0, "a": 100.0}),
    )
    assert dp.posterior(counts, prior).concentration.tolist() == [4.0, 101.0]
    assert dp.posterior(counts, [1, 1]).concentration.tolist() == [4.0, 2.0]
    assert dp.posterior([3, 1], prior).concentration.tolist() == [4.0, 101.0]
    masked = np.ma.array([3, 1], mask=False)
    assert dp.posterior(masked, [1, 1]).concentration.tolist() == [4.0, 2.0]
    for other in (
        prior.sort_index(),
        prior.reset_index(drop=True),
        prior.rename({"a": "c"}),
    ):
        with pytest.raises(
            ValueError, match="prior must have the labels of counts in their order"
        ):
            dp.posterior(counts, other)
    rows = pandas.DataFrame([[1.0, 2.0]], columns=["a", "b"])
    with pytest.raises(ValueError, match="b must have the labels of a in their order"):
        dp.hellinger(rows, rows[["b", "a"]])
    with pytest.raises(TypeError, match="counts must be"):
        dp.posterior({"b": 3, "a": 1}, {"a": 1.0, "b": 1.0})


@pytest.mark.parametrize("value", [[3, 4.0], ["3", "4"], [3, None], [[3, 4]]])
@pytest.mark.parametrize(
    "check", [_validate.counts, _validate.prior, _validate.real_vector]
)
def test_arrays_of_objects_are_refused_for_their_kind(value: Any, check: Any) -> None:
    with pytest.raises(TypeError, match="of a numeric dtype, got"):
        check("value", np.array(value, dtype=object))
