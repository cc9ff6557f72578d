"""The example of the release page: the same every time, made by the parts that real
ones use.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.study.example_table import NO_ANSWER, SeededBits, example, plan_text

pytest.importorskip("duckdb")


@pytest.mark.slow
def test_the_release_is_that_of_the_plan():
    made = example(2000, "0.25", "lattice", np.random.default_rng(1))
    assert made.truth.sum() == made.paid.private.counts.sum() == 2000
    assert made.truth[made.plan.labels.index(NO_ANSWER)] > 0
    assert "e^0.25" in made.record["guarantee"]
    assert made.intervals("table").shape == (7, 2)
    assert len(plan_text("1", "lattice").splitlines()) <= 10


def test_seeded_bits_are_uniform_below_a_power_of_two():
    bits = SeededBits(np.random.default_rng(0))
    drawn = [bits.bits(3) for _ in range(4000)]
    assert np.bincount(drawn, minlength=8).min() > 4000 / 8 - 6 * np.sqrt(4000 * 7 / 64)
    assert bits.bits(0) == 0
    assert max(drawn) == 7
