"""`dpbayes release` with counts: the released counts, the promise, and what is refused."""

from __future__ import annotations

import json
import re

import pytest

import dpbayes as dp
from dpbayes.cli import main

COUNTS = ["--counts", "11019,7309,1560,302"]


def released(capsys, *words):
    assert main(["release", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_release_prints_posterior_guarantee_and_error(capsys):
    assert main(["release", *COUNTS, "--prior", "1,1,1,1", "--epsilon", "1"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"released posterior  Dirichlet\(\d+, \d+, \d+, \d+\)", shown)
    assert "P[M(x) in S] <= e^1 P[M(x') in S]" in shown
    assert "account             none" in shown
    error = float(re.search(r"expected error +([\d.]+)", shown)[1])
    assert error == pytest.approx(0.0365, abs=1e-3)
    assert len(re.findall(r"\[0\.\d+, 0\.\d+\]", shown)) == 4


def test_release_as_json_agrees_with_the_package(capsys):
    report = released(capsys, *COUNTS, "--epsilon", "0.5", "-o", "projection=l1")
    assert sum(report["released_counts"]) == report["records"] == 20_190
    assert report["epsilon"] == 0.5
    pairs = zip(report["posterior"], report["released_counts"], strict=True)
    assert [p - c for p, c in pairs] == [1] * 4
    law = dp.mechanism("lattice", 0.5, projection="l1").law(report["released_counts"], [1] * 4)
    assert report["expected_distance"] == law.mean_distance()
    assert sum(report["mean"]) == pytest.approx(1.0)


def test_what_cannot_be_computed_is_said_and_two_releases_differ(capsys):
    words = ["--counts", "30,30,40", "--mechanism", "expMech", "--epsilon", "1"]
    report = released(capsys, *words)
    assert report["intervals"] is None
    assert "takes at most 3000" in report["intervals_missing"]
    assert main(["release", *words]) == 0
    assert "noise-aware         not computed: n = 100 records" in capsys.readouterr().out
    words = ["--counts", "500,400,300", "--epsilon", "0.01"]
    assert released(capsys, *words)["noisy"] != released(capsys, *words)["noisy"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--counts", "5,-6"], "counts must be at least 0, got -6"),
        (["--counts", "5,six"], "--counts must be whole numbers separated by commas, got '5,six'"),
        (["--counts", "5.5,6"], "--counts must be whole numbers"),
        (["--counts", "1_0,2"], "--counts must be whole numbers"),
        (["--counts", "١,2"], "--counts must be whole numbers"),
        (["--counts", "5"], "at least 2 counts"),
        (["--counts", "5,6", "--prior", "1"], "prior must"),
        (["--counts", "5,6", "--prior", "1_0,1"], "--prior must be numbers"),
        (["--counts", "5,6", "--prior", "1,0"], "prior must be positive"),
        (["--counts", "5,6", "--mechanism", "draft-laplace"], "must have a proved guarantee"),
        (["--counts", "5,6", "--mechanism", "parameter-laplace"], "must have an exact sampler"),
        (["--counts", "5,6,7", "--mechanism", "geometric"], "must have a proved guarantee"),
        (["--counts", "5,6", "-o", "projection=l9"], "projection must be one of"),
        (["--counts", "5,6", "-o", "colour=red"], "no option 'colour'"),
        *((["--counts", "5,6", "--epsilon", e], "epsilon must be") for e in ("0", "nan", "1e-9")),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(words, message, capsys):
    assert main(["release", "--epsilon", "1", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_a_mechanism_without_proof_on_request(capsys):
    words = ["--counts", "5,6", "--mechanism", "expMech-local", "--epsilon", "1"]
    report = released(capsys, *words, "--without-guarantee")
    assert report["epsilon"] is None
    assert report["guarantee"].startswith("No guarantee")
