"""Shares within a group: a panel each, against enumeration over all histograms."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from scipy.special import betainc, gammaln

import dpbayes as dp
from dpbayes.mechanisms.independent import IndependentNoise
from dpbayes.tables.analysis import panels
from dpbayes.tables.reading import noise_aware
from dpbayes.tables.report import csv_text, html_text, rows_of

PRIOR = np.array([1.0, 0.5, 2.0, 1.0])
NAMES = {"labels": ["f", "m"], "within": ["good", "poor"]}


def weighted(histograms, logs):
    logs = logs + sum(gammaln(a + histograms[:, i]) - gammaln(histograms[:, i] + 1.0)
                      for i, a in enumerate(PRIOR))  # fmt: skip
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def known(name):
    """Return a posterior for six records, and all histograms with their probabilities."""
    mechanism, n = dp.mechanism(name, 1.0), 6
    histograms = dp.compositions(n, 4)
    noisy = np.array([3, 1, 2, 0]) if name in ("lattice", "expMech") else np.array([3, 1, 2])
    aware = noise_aware(mechanism, noisy, n, PRIOR)
    if name == "expMech":
        laws = [mechanism.law(x, PRIOR).probability(noisy) for x in histograms]
        return aware, histograms, weighted(histograms, np.log(laws))
    parts = mechanism.log_likelihoods(noisy, n, 4)
    return (
        aware,
        histograms,
        weighted(histograms, sum(part[histograms[:, i]] for i, part in enumerate(parts))),
    )


def secret():
    noisy = np.array([2, 0, 3, -1])
    histograms = np.array(list(itertools.product(range(19), repeat=4)))
    n, whole = histograms.sum(axis=1), PRIOR.sum()
    logs = -2.5 * np.abs(noisy - histograms).sum(axis=1) + gammaln(n + 1.0) - gammaln(whole + n)
    aware = noise_aware(IndependentNoise(2.5), noisy, 0, PRIOR)
    return aware, histograms, weighted(histograms, logs)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["lattice", "ilapMech", "expMech", "secret"])
@pytest.mark.parametrize("cells", [(0, 1), (2, 3), (3, 0, 1)])
def test_shares_within_a_group_agree_with_enumeration(case, cells):
    aware, histograms, weights = secret() if case == "secret" else known(case)
    inside, places = aware.group(cells), list(cells)
    # The number of records within is read by 10,000 draws: six standard errors of a share.
    listed = case == "expMech"
    near, far = (1e-9, 1e-8) if listed else (0.03, 0.05) if case == "secret" else (0.01, 0.02)
    counts, prior = histograms[:, places], PRIOR[places]
    totals = counts.sum(axis=1)
    for i in range(len(cells)):
        a, b = prior[i] + counts[:, i], prior.sum() + totals - prior[i] - counts[:, i]
        assert inside.mean[i] == pytest.approx(float(weights @ (a / (a + b))), abs=near)
        low, high = inside.credible_interval(i, 0.9)
        for end, share in ((low, 0.05), (high, 0.95)):
            assert float(weights @ betainc(a, b, end)) == pytest.approx(share, abs=far)
    cumulative = np.cumsum(np.bincount(totals, weights))
    for end, share in zip(inside.records(0.9), (0.05, 0.95), strict=True):
        assert cumulative[end] >= share - far
        assert end == 0 or cumulative[end - 1] <= share + far
    assert inside.mean.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
def test_draws_within_a_group_have_its_means():
    for aware in (known("lattice")[0], known("expMech")[0]):
        inside = aware.group([2, 3])
        drawn = inside.sample(np.random.default_rng(4), 20_000)
        assert np.abs(drawn.mean(axis=0) - inside.mean).max() < 6 * drawn.std() / 20_000**0.5


@pytest.mark.parametrize("indices", [[0], [0, 0], [0, 4], []])
def test_bad_groups(indices):
    with pytest.raises(ValueError, match="indices must be at least 2 different ones below 4"):
        known("lattice")[0].group(indices)


@pytest.mark.slow
def test_panels_have_their_own_size_and_are_in_every_file():
    chosen = dp.mechanism("lattice", 1.0)
    private = dp.Release(
        chosen, np.ones(4), 100, np.array([40, 11, 30, 19]), np.array([40, 11, 30, 19])
    )
    made = panels(private, NAMES)
    assert [panel["released"] for panel in made] == [51, 49]
    plain = dp.Posterior(np.array([41.0, 12.0]))
    assert made[0]["plain"]["mean"] == plain.mean.tolist()
    assert made[0]["records"][0] <= 51 <= made[0]["records"][1]
    for panel in made:
        aware, taken = (np.diff(panel[name]["intervals"]) for name in ("noise_aware", "plain"))
        assert (aware > taken).all()
    record = {
        "dataset": "d", "labels": ["f, good", "f, poor", "m, good", "m, poor"],
        "columns": ["sex", "health"], "by": "sex", "groups": NAMES, "counts": [40, 11, 30, 19],
        "prior": [1, 1, 1, 1], "records": 100, "unit": "one record", "epsilon": "1", "delta": "0",
        "request": "r",
        "mechanism": {"name": "lattice", "options": {}}, "guarantee": "g", "cost": "1",
        "bound": "2", "balance": "1", "receipt": "x", "analysis": {"groups": {"panels": made}},
    }  # fmt: skip
    for name in ("noise_aware", "plain", "expected_distance"):
        record["analysis"][name] = {"missing": "-"}
    page = html_text(record)
    assert "<h2>health by sex</h2>" in page
    assert "<h3>f</h3><p>51 records released in this group" in page
    assert f"{made[1]['noise_aware']['mean'][0]:.4f}" in page
    rows = rows_of(record)
    assert [row["group"] for row in rows] == ["f", "f", "m", "m"]
    assert rows[3]["share_in_group"] == made[1]["noise_aware"]["mean"][1]
    assert csv_text(record).splitlines()[0].endswith("share_in_group,low_in_group,high_in_group")
    assert json.loads(json.dumps(made)) == made
    page = html_text(record, drawn=True)
    drawn = re.findall(r"<figure>(.*?)</figure>", page, re.DOTALL)
    assert page.index("<h3>f</h3>") < page.index(drawn[0]) < page.index("<h3>m</h3>")
    assert page.index("<h3>m</h3>") < page.index(drawn[1])
    low, high = made[1]["noise_aware"]["intervals"][0]
    assert f"good: noise-aware {low:.4f} to {high:.4f}" in drawn[1]
    # Marks of one drawing must not be taken for those of another on the same page.
    marks = [set(re.findall(r'id="([mp][0-9a-f]{6,})"', svg)) for svg in drawn]
    assert min(map(len, marks)) > 0
    assert not marks[0] & marks[1]
    record["analysis"]["groups"] = {"missing": "too <large>"}
    assert "Not computed: too &lt;large&gt;." in html_text(record)
