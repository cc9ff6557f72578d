"""Document C's series: settings of its panels, and Figure 1 against a sum over neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from dpbayes.study.catalogue import NOTES_PANELS as PANELS
from dpbayes.study.catalogue import NOTES_PRIOR as PRIOR
from dpbayes.study.catalogue import NOTES_RUNS as RUNS
from dpbayes.study.catalogue import catalogue
from dpbayes.study.full_paper import change_of

COUNTS, ALPHA = (4, 2, 1), (7.0, 4.0, 5.0)


def distance(a, b):
    with mp.workdps(25):

        def log_beta(v):
            return mp.fsum(mp.loggamma(e) for e in v) - mp.loggamma(mp.fsum(v))

        middle = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
        return float(mp.sqrt(-mp.expm1(log_beta(middle) - (log_beta(a) + log_beta(b)) / 2)))


@pytest.mark.parametrize("output", [(4, 2, 1), (7, 0, 0), (0, 0, 7), (1, 5, 1)])
def test_the_change_is_the_largest_over_moves_to_an_earlier_category(output):
    prior = [mp.mpf(a) for a in ALPHA]
    out = [a + r for a, r in zip(prior, output, strict=True)]
    here = distance([a + x for a, x in zip(prior, COUNTS, strict=True)], out)
    changes = []
    for i in range(3):
        for j in range(i + 1, 3):
            moved = list(COUNTS)
            moved[i] += 1
            moved[j] -= 1
            if min(moved) >= 0:
                there = distance([a + x for a, x in zip(prior, moved, strict=True)], out)
                changes.append(abs(here - there))
    label = "/".join(map(str, output))
    assert change_of(COUNTS, ALPHA)(label) == pytest.approx(max(changes), rel=1e-9)


def test_series_are_those_of_three_figures_and_no_caption_states_a_setting():
    found = [series for series in catalogue() if series.document == "C"]
    assert len(found) == 1 + len(PANELS) * 4
    assert {series.document for series in found} == {"C"}
    assert all(series.caption is None for series in found)
    assert all(series.drawn.runs == RUNS for series in found[1:])
    keys = {(series.figure, series.panel) for series in found}
    assert keys == {("1", ""), *PANELS}
    for series in found[1:]:
        counts, epsilon = PANELS[series.figure, series.panel]
        assert f"x = {counts}, ε = {epsilon}" in series.drawn.settings
        assert np.shape(counts) == np.shape(PRIOR)


def test_an_output_with_another_number_of_records_is_no_label():
    with pytest.raises(KeyError):
        change_of(COUNTS, ALPHA)("1/1/1")
