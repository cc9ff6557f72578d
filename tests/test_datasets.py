"""Shipped counts: what they are, and that they agree with the cells of the same survey."""

from __future__ import annotations

import csv
from importlib import resources

import pytest

from dpbayes import datasets


@pytest.mark.parametrize("name", datasets.names())
def test_each_data_set_is_complete(name):
    data = datasets.load(name)
    assert len(data.categories) == data.counts.size >= 2
    assert len(set(data.categories)) == data.counts.size
    assert data.counts.min() > 0
    assert data.record.startswith("one ")
    with pytest.raises(ValueError, match="read-only"):
        data.counts[0] = 1


def test_sizes_of_the_sources():
    sizes = {name: datasets.load(name).n for name in datasets.names()}
    assert sizes["self-rated-health"] == 20_190
    assert sizes["cryotherapy"] == sizes["cryotherapy-types"] == 90
    assert sizes["immunotherapy"] == sizes["immunotherapy-types"] == 90
    assert sizes["badges"] == 294
    assert sizes["bike-days"] == sizes["bike-weather"] == 731


def test_health_counts_agree_with_the_cube_of_the_same_survey():
    data = datasets.load("self-rated-health")
    source = resources.files("dpbayes").joinpath("data/rand-hie-cells.csv")
    rows = list(csv.DictReader(source.read_text(encoding="utf-8").splitlines()))
    for category, count in zip(data.categories, data.counts, strict=True):
        assert sum(int(row["records"]) for row in rows if row["health"] == category) == count
