"""The RAND table person by person: counts of the plan against a plain loop and shipped counts."""

from __future__ import annotations

import csv
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpbayes import datasets
from dpbayes.study.rand_persons import RAND, kept, persons

pytest.importorskip("duckdb")
LABELS = ("excellent", "good", "fair", "poor")


def rows():
    with RAND.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_all_records_together_are_the_counts_of_the_data_card():
    counts = Counter(row["health"] for row in rows())
    assert [counts[label] for label in LABELS] == datasets.load("self-rated-health").counts.tolist()


def test_nobody_has_more_records_than_the_data_card_says():
    found = persons()
    assert found.most == datasets.LONGEST_STAY == 5
    assert Counter(found.records) == {5: 1584, 4: 70, 3: 3743, 2: 246, 1: 269}
    assert len({(row["person"], row["year"]) for row in rows()}) == len(rows()) == 20190


@pytest.mark.parametrize("keep", [1, 2, 3, 5])
def test_a_plan_counts_the_first_records_of_each_person(keep):
    seen, counts = Counter(), Counter()
    for row in rows():
        seen[row["person"]] += 1
        counts[row["health"]] += seen[row["person"]] <= keep
    made = kept("1", keep, "lattice", np.random.default_rng(keep))
    assert made.truth.tolist() == [counts[label] for label in LABELS]
    assert Fraction(made.private.mechanism.epsilon).limit_denominator(10) == Fraction(1, keep)
    assert made.private.n == sum(min(n, keep) for n in persons().records)
    assert "P[M(x) in S] <= e^1 P[M(x') in S]" in made.sentence
    assert made.error == made.private.mechanism.law(made.truth, [1] * 4).mean_distance()
