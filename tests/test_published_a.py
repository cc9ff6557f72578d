"""The readings of A's figures are met by the exact means of the settings that were identified."""

from __future__ import annotations

import pytest

import dpbayes as dp
from dpbayes.study.readings import published

TENTH = [0.1, 0.9]
SLIPPED = {"distance": "l1", "metric": "published"}
MECHANISMS = {
    "expMech": dp.mechanism("expMech-delta", 0.8, delta=1e-8, **SLIPPED),
    "lapMech": dp.mechanism("lapMech", 0.8),
}


@pytest.mark.parametrize("curve", ["expMech", "lapMech"])
@pytest.mark.parametrize(("figure", "within"), [("A-F1a", 0.002), ("A-F1b", 0.0005)])
def test_figure_1(figure: str, within: float, curve: str) -> None:
    read = published(figure, curve)
    means = dp.mean_distances(
        MECHANISMS[curve], TENTH, [1, 1], read.sizes.tolist(), dp.hellinger_published
    )
    assert means == pytest.approx(read.values, abs=within)
    assert within <= read.errors.min()


def test_figure_1_is_not_met_by_the_true_distance() -> None:
    read = published("A-F1a", "expMech")
    true = dp.mechanism("expMech-delta", 0.8, delta=1e-8, distance="l1")
    means = dp.mean_distances(true, TENTH, [1, 1], read.sizes.tolist())
    assert abs(means - read.values).min() > 10 * read.errors.max()


@pytest.mark.parametrize(("word", "q"), [("lower quartile", 0.25), ("median", 0.5),
                                         ("upper quartile", 0.75)])  # fmt: skip
def test_figure_3_first_box(word: str, q: float) -> None:
    read = published("A-F3", f"expMech {word} at prior 1")
    law = dp.mechanism("expMech-delta", 0.8, delta=1e-8, distance="l1").law([5, 5, 5], [1] * 3)
    assert law.quantile(q) == pytest.approx(read.values[0], abs=read.errors[0])
