"""Sentences that were false or clumsy at values that nobody had tried."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dpbayes.figures import theme
from dpbayes.press.parameters import chosen, declared, load
from tests.notebooks.running import findings, run_cells
from tests.notebooks.test_sources import NOTEBOOKS


@pytest.mark.parametrize(("gamma", "times"), [(1.0, 1), (4.0, 2)])
def test_the_rate_of_the_paper_is_not_compared_with_itself(
    gamma: float, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    values = {"sizes": [5], "quoted": 5, "gamma": gamma}
    name = "privacy/calibrated"
    sentence = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))["fair"]["sentence"]
    assert sentence.count("γ = ") == times
    assert f"γ = {gamma:g}" in sentence


@pytest.mark.parametrize(("epsilon", "once"), [(1.2, True), (2.0, False), (3.0, False)])
def test_an_order_that_turns_back_has_no_single_size(
    epsilon: float, once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    name = "accuracy/b-two-categories"
    values = {"sizes": [2], "runs": 2, "epsilon": epsilon}
    found = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))["order"]
    assert found["holds"] is once
    assert ("below" in found["sentence"]) is once


SAID = {
    ("limits/sentences", "more"): (
        {"growing": [400, 500], "few": [300]},
        "falls from 300 records on",
        "grows",
    ),
    ("limits/sentences", "falls"): (
        {"growing": [100, 200], "few": [2, 4, 8]},
        "From 2 records on none falls all the way.",
        "these",
    ),
    ("queries/chosen-after-looking", "selected"): (
        {"delta": 1e-9, "largest": 50},
        "promises 99.99999990% covers",
        "100",
    ),
    ("accuracy/growth-balanced", "first-sizes"): (
        {"first": 20, "last": 20, "runs": 2, "epsilon": 20.0},
        "is that of `expMech-smooth` from 2 records on.",
        "without",
    ),
    ("accuracy/prior-boxes", "smooth"): (
        {"priors": [20.0], "epsilon": 50.0},
        "× 10",
        "0.00 times",
    ),
    ("privacy/noise-aware-coverage", "face-value"): (
        {"n": 2, "epsilons": [0.02], "mechanisms": ["expMech-smooth"], "level": 0.01},
        "falls to 0.00",
        "falls to 0.01",
    ),
    # A promise that is broken at some sizes is kept again at larger ones.
    ("limits/theorem-map", "first"): (
        {"categories": [4, 5], "sizes": [20, 130, 200, 250, 400], "at": 20, "priors": [1.0]},
        "at these: 200, 250 records at 4 categories and 130 records at 5 categories.",
        "on:",
    ),
    ("scale/work-by-categories", "slope"): (
        {"n": 200, "categories": [2, 4, 6]},
        "about in proportion",
        "no faster than in proportion",
    ),
    # A law that costs nothing may be one that releases the truth; both laws are looked at.
    ("scale/work-by-categories", "idle"): (
        {"n": 100, "categories": [2, 4], "epsilon": 10_000.0},
        "all releases but the truth are equally likely",
        "all releases are equally likely",
    ),
    ("scale/work-by-categories", "list"): (
        {"n": 100_000, "categories": [2, 8]},
        "the dearest of these laws transforms 1.0 × 10⁶",
        "6.8 × 10⁵",
    ),
    ("scale/work-by-records", "slope"): (
        {"k": 4, "sizes": [10, 20, 40], "epsilon": 10_000.0},
        "has no slope",
        "nan",
    ),
    # What is wider by little is not said to be no wider.
    ("privacy/noise-aware-posterior", "wider"): (
        {"counts": [1, 1], "epsilon": 20.0, "prior": [1000.0, 0.001]},
        "The widths differ by",
        "no wider",
    ),
    ("limits/sentences", "gap"): (
        {"growing": [2, 3], "few": [2], "weaker": 20.0, "observed": 2, "epsilon": 0.05},
        "of the 2 sizes tried",
        "none",
    ),
    # What is the smaller one at one release, too, has not only turned from the larger one.
    ("comparison/many-releases", "turn"): (
        {"epsilon": 20.0, "delta": 0.5, "categories": [8], "releases": [1, 3]},
        "the smaller one at 1, the larger one at 9 and the smaller one at 10 releases with k = 8",
        "With more releases Gaussian noise turns",
    ),
    ("comparison/win-maps", "remap"): (
        {"categories": [4], "priors": [1.0], "sizes": [1, 2], "epsilons": [6.0, 15.0]},
        "in 4 of 4 cells another mechanism has a smaller mean, down to",
        "in one cell",
    ),
    # A mean that rises is not past its fall, however small it is.
    ("scale/twenty-thousand", "fall"): (
        {"epsilon": 10.0, "sizes": [20, 21]},
        "from 0.214 to 0.219 with four: not both are past the fall",
        "at the end both",
    ),
    # Lattice noise is the best at some skewed shares, and at all of them where ε is large.
    ("comparison/noise-shares", "skewed"): (
        {"epsilons": [2.0], "reach": 6.0, "more": [3]},
        "as good as any noise tried with a flat middle in 3 of 4 cases",
        "For skewed shares it is not",
    ),
    # A gap that is not there is neither kept nor given back.
    ("foundations/sensitivities", "gain"): (
        {"n": 2, "prior": [0.001, 0.001], "gamma": 10.0},
        "hardly a gap",
        "gives most",
    ),
    ("foundations/learning", "narrower"): (
        {"sizes": [7, 1000000], "share": 0.999, "prior": [1000.0, 0.001]},
        "0.000104",
        "0.000 ",
    ),
    # What is less is not said to be a quarter more.
    ("foundations/at-a-glance", "calibrated"): (
        {"epsilon": 0.02, "gamma": 9.0, "sizes": [2, 3], "reference_size": 5},
        "0.62 times",
        "more",
    ),
    ("foundations/meaning-of-epsilon", "ceiling"): (
        {"epsilons": [0.02], "n": 2, "guess": 0.001},
        "0.001021 at ε = 0.02;",
        "0.001,",
    ),
    ("foundations/side-by-side", "truest"): (
        {"n": 3, "share": 0.99, "epsilon": 20.0},
        "0.999999998",
        "1.000",
    ),
    ("foundations/one-release", "error"): ({"counts": [1, 0], "noisy": 1}, "1 one among", "ones"),
    # An answer of small weight beside a larger one does not dominate.
    ("queries/coverage", "normal"): (
        {"levels": 2, "dominant": 0.001, "others": 1},
        "1 other of weight 1",
        "dominant",
    ),
    ("queries/probability-calculation-error", "floor"): (
        {"gammas": [0.999]},
        "γ = 0.999",
        "γ = 1,",
    ),
    ("queries/small-weights", "short"): (
        {"sizes": [1000.0], "answers": 1, "gamma": 0.999, "delta": 0.999},
        "1 answer,",
        "1 answers",
    ),
    ("queries/sentences", "sum"): ({"answers": 1}, "1 noise,", "noises"),
    # The loss is taken where the answer lies beyond all records that agree.
    ("queries/sentences", "agree"): (
        {"alpha": 10.0, "copies": 20},
        "cost 200 together",
        "50",
    ),
    # A belief that is past a threshold has more digits than the threshold.
    ("queries/sentences", "control"): (
        {"alpha": 3.0, "belief": 0.99, "threshold": 0.999, "asked": 9},
        "past 0.999,",
        "%",
    ),
    ("queries/unsafe-budgets", "broken"): (
        {"ratios": [0.001, 1000.0], "points": 2},
        "exceeds the allowed one by 9.5 × 10⁻⁷ of it",
        " 1 times",
    ),
    # Sizes at which nothing happens are said in words, and a small gap is not called none.
    ("accuracy/b-draft-laplace", "sizes"): (
        {"delta": 0.9, "each": [2], "n": 4},
        "at none of these sizes",
        "(0",
    ),
    ("comparison/larger-three", "thousand"): (
        {"sizes": [2], "epsilons": [0.5], "rounds": 1},
        "6.1 × 10⁻⁷ at ε = 5",
        "0.00%",
    ),
    # An order that turns back has no last win up to which all are wins.
    ("limits/wins-on-few", "few"): (
        {"epsilons": [2.0], "largest": 20, "prior": 0.001},
        "behind at a smaller size",
        "up to 4 records",
    ),
    # What is nearly certain is not said to be certain.
    ("foundations/sum-zero-noise", "ring"): ({"epsilon": 9.5}, "0.9996", "probability 1;"),
    # Numbers that look the same are not said to be one above the other.
    ("foundations/one-release", "reading"): (
        {"counts": [2000, 0], "noisy": 2000, "prior": [1e6, 1.0], "mechanism": "expMech"}
        | {"epsilon": 20.0},
        "as wide as the one at face value to four digits",
        "wider",
    ),
    ("foundations/one-release", "loss"): (
        {"counts": [5, 5], "noisy": 3, "mechanism": "geometric", "epsilon": 1.2345678},
        "is 1.23457, at most the 1.23457",
        "1.235,",
    ),
    ("comparison/records-needed", "enough"): (
        {"errors": [0.9], "epsilon": 30.0, "categories": [2]},
        "as many records as the exact law asks for",
        "1.00",
    ),
    # What a solver's rounding leaves is not a gain.
    ("comparison/currencies", "delta"): (
        {"n": 20, "deltas": [1e-200], "audited": 2},
        "more than 1.0 × 10⁻⁶",
        "6.5 ×",
    ),
    ("data/small-three", "integer"): (
        {"sets": ["cryotherapy-types"], "epsilons": [1.0], "scored": ["expMech"]},
        "is 1.77 times that",
        " to ",
    ),
    ("data/rand-hie-releases", "finest"): (
        {"data": "badges", "epsilons": [30.0], "scored": ["expMech"], "seed": 1},
        "no released count is off, which",
        "more than 0",
    ),
    ("data/rand-hie-reading", "widest"): (
        {"data": "badges", "epsilon": 30.0},
        "moved no count: the",
        "0 records",
    ),
    ("queries/coverage", "exact"): ({"levels": 2}, "to 1 × 10⁻¹⁵", "10⁻¹⁶"),
    ("data/own-table", "share-errors"): (
        {"rows": 1, "epsilon": "0.02", "seed": 3},
        "1 person",
        "people",
    ),
}


@pytest.mark.parametrize(("name", "key"), SAID)
def test_a_sentence_has_the_values_used_and_reads_well(
    name: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    values, said, unsaid = SAID[name, key]
    sentence = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))[key]["sentence"]
    assert said in sentence
    assert unsaid not in sentence


AT_THE_ENDS = [
    ("accuracy/a-small-n", "ahead", {"first": 10, "last": 20, "step": 99, "runs": 2, "share": 0.5}
     | {"epsilon": 1e-6, "delta": 0.9}, "at the one size drawn", "1 of"),
    ("accuracy/a-small-n", "half-noise", {"first": 299, "last": 301, "step": 1, "runs": 2}
     | {"share": 0.999, "epsilon": 50.0}, "geometric mechanism has 6.516 × 10⁻²³", "0.0000"),
    ("comparison/remap", "plain", {"sizes": [1], "epsilon": 50.0}, "at most 0.0% above", " times"),
    ("foundations/beta-posterior", "interval", {"successes": 1, "failures": 0}
     | {"prior": [1e9, 1e9]}, "as long as the prior's", "factor of 1."),
    ("foundations/learning", "narrower", {"sizes": [0, 1000000], "share": 0.0}
     | {"prior": [1e9, 1e9]}, "3.678 × 10⁻⁵ wide, with 1,000,000 it is 3.677", "3.68 "),
    ("foundations/meaning-of-epsilon", "ceiling", {"epsilons": [1e-9], "n": 2},
     "ε = 1 × 10⁻⁹", "1e"),
    # A chance that is nearly one, or nearly the guess, tells no two losses apart.
    ("foundations/meaning-of-epsilon", "reached", {"epsilons": [1e-9], "n": 2},
     "ilapMech", "and lapMech"),
    ("foundations/meaning-of-epsilon", "reached", {"epsilons": [700.0], "n": 50, "guess": 0.1},
     "ilapMech", "and lapMech"),
    ("foundations/meaning-of-epsilon", "half", {"epsilons": [700.0], "n": 50},
     "half the ε", "less"),
    ("foundations/one-release", "loss", {"counts": [5, 5], "mechanism": "draft-laplace"}
     | {"noisy": 6}, "is ∞, more than the 1 asked for", " by "),
    ("foundations/one-release", "loss", {"counts": [9, 9], "mechanism": "discrete-gaussian"}
     | {"noisy": 6, "smoothing": 1e-6}, "At 1 the least δ is", " by "),
    ("foundations/sensitivities", "gain", {"n": 3, "prior": [1e9, 1e9]},
     "within 0.00% of", "1 times"),
    ("foundations/two-laws", "used", {"n": 1000, "epsilon": 20.0}, "is 20.000", "nan"),
    ("foundations/two-laws", "used", {"n": 1000, "epsilon": 20.0, "mechanism": "lapMech"},
     "is 10.000", "nan"),
    ("queries/chosen-after-looking", "selected", {"delta": 0.999999},
     "promises 0.0001%", "promises 0.0%"),
    # What is the rounding of 1 breaks no promise.
    ("queries/unsafe-budgets", "broken", {"ratios": [1e6], "points": 2},
     "keeps the promise", "can"),
    ("tables/candidates", "printed", {"sizes": [1000000], "categories": [50], "largest_count": 10},
     "1.002", "{"),
    ("tables/even-steps", "head", {"alpha": 1e11, "beta": 1e11, "largest_step": 11},
     "5 × 10⁻¹⁰%", "{"),
    ("tables/even-steps", "product", {"largest_step": 2}, "right: at $t = 2$", "from $t"),
    # A row that is negative is wrong.
    ("tables/odd-steps", "printed", {"alpha": 1e9, "beta": 1e9, "largest_step": 4},
     "both rows", "all"),
    ("tables/laplace-steps", "clamp", {"epsilon": 50.0, "n": 21},
     "instead of", "0.500 instead of 0.500"),
    ("tables/two-sided-steps", "geometric", {"epsilon": 1e-6, "n": 20},
     "5 × 10⁻⁷ against 4.999998", "{"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "key", "values", "said", "unsaid"), AT_THE_ENDS)
def test_a_sentence_reads_well_at_the_ends_of_its_parameters(
    name: str,
    key: str,
    values: dict[str, Any],
    said: str,
    unsaid: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    sentence = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))[key]["sentence"]
    assert said in sentence
    assert unsaid not in sentence


REFUSED = {
    "foundations/beta-posterior": {"prior": [1e-9, 1e9]},
    "foundations/learning": {"sizes": [0, 0]},
    "queries/hypothesis-test": {"income": 40.0, "largest_income": 30.0},
    "queries/sentences": {"gammas": [0.5]},
    "scale/dimensions": {"epsilon": 1e-6},
    "scale/twenty-thousand": {"epsilon": 1e-6},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_leaves_nothing_to_say_is_refused_before_anything_runs(name: str) -> None:
    with pytest.raises(ValueError, match="must"):
        chosen(name, declared(load(NOTEBOOKS[name])), REFUSED[name])


def test_priors_at_which_a_mechanism_is_ahead_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    name = "accuracy/prior-boxes"
    values = {"priors": [20.0, 30.0], "epsilon": 9.0, "counts": [3, 9]}
    said = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))["smooth"]["sentence"]
    assert "is ahead of `lapMech` at 2 of these 2 priors in" in said


def test_a_belief_that_begins_past_the_threshold_is_carried_there_by_no_answer(
    tmp_path: Path,
) -> None:
    name, values = "queries/sentences", {"belief": 0.99, "threshold": 0.5}
    found = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))["control"]
    assert found["holds"] is None
    assert "past 0.5 before any answer" in found["sentence"]


CELLS = {
    ("limits/rare-answer", "turns"): {"n": 100, "ones": [3], "sizes": [100]},
    ("limits/summing-to-n", "crossings"): {"counts": [2, 2, 2], "deltas": [1e-8]},
}


@pytest.mark.parametrize(("name", "table"), CELLS)
def test_a_cell_holds_no_code_for_nothing_and_no_digits_of_rounding(
    name: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    run_cells(NOTEBOOKS[name], name, CELLS[name, table], tmp_path)
    found = next(tmp_path.rglob(f"{table}.csv")).read_text()
    assert not re.search(r",-1\b|\[|\d\.\d{9}", found)


def test_moving_as_many_records_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="moved = "):
        run_cells(
            NOTEBOOKS["foundations/overlap"], "foundations/overlap", {"moved": [2, 2]}, tmp_path
        )


def test_no_table_is_ahead_of_the_optimum_of_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    name, values = "limits/optimum-three", {"n": 1, "epsilons": [20.0], "prior": 0.001}
    sentence = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))["lattice"]["sentence"]
    assert "50.0% at ε = 20" in sentence


@pytest.mark.parametrize("promise", ["audited", "audited-published"])
@pytest.mark.parametrize("mechanism", ["draft-laplace", "discrete-gaussian"])
def test_a_promise_that_is_not_offered_is_refused_before_anything_runs(
    mechanism: str, promise: str
) -> None:
    values = {"mechanism": mechanism, "promise": promise, "smoothing": 0.1}
    name = "foundations/one-release"
    with pytest.raises(ValueError, match=r"promise in .* must hold"):
        chosen(name, declared(load(NOTEBOOKS[name])), values)


def test_where_the_smooth_sensitivity_is_the_local_one_nothing_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    name = "foundations/sensitivities"
    said = findings(run_cells(NOTEBOOKS[name], name, {"n": 10, "gamma": 1.0}, tmp_path))["gain"]
    assert said["values"]["kept"] == pytest.approx(said["values"]["gap"])
    assert "keeps" in said["sentence"]
    assert "gives" not in said["sentence"]


def test_widths_that_differ_are_not_both_shown_as_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    name, values = "foundations/learning", {"sizes": [0, 5], "share": 0.0, "prior": [0.001, 50.0]}
    sentence = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))["narrower"]["sentence"]
    assert "× 10⁻" in sentence
    assert "0.000" not in sentence
