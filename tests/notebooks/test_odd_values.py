"""Notebooks at values that nobody had chosen for them: each ends, and says what is so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbayes.figures import theme
from dpbayes.press.parameters import chosen, declared, load
from tests.notebooks.running import findings, run_cells
from tests.notebooks.test_sources import NOTEBOOKS

ODD: list[tuple[str, str, dict[str, Any], str, str]] = [
    # Widths that differ behind the digits shown are as good as equal, whatever the truth's is.
    ("foundations/one-release", "reading", {"counts": [5, 2], "epsilon": 18.0, "noisy": 900}
     | {"mechanism": "expMech-local", "promise": "audited"}, "to four digits", "wider"),
    # An order that changes and changes back is the same on few records and on many.
    ("foundations/at-a-glance", "few", {"sizes": [2], "reference_size": 2, "epsilon": 5.5},
     "changes more than once", "another than"),
    # An interval next to one has no length in floats, and prior parameters end before that.
    ("foundations/beta-posterior", "interval", {"successes": 1, "failures": 0}
     | {"prior": [0.01, 0.01]}, "a shorter interval", "inf"),
    ("accuracy/sensitivity-along-data", "gap", {"n": 2}, "nothing to gain", "falls to"),
    # An interval next to one is as long as its mirror image next to zero.
    ("foundations/learning", "narrower", {"sizes": [0, 1], "share": 0.0, "prior": [1e9, 0.001]},
     "2.97 × 10⁻³² with 0 records", ": 0 with"),
    # A guesser who was nearly sure before has learnt most of what was left.
    ("foundations/meaning-of-epsilon", "ceiling", {"epsilons": [3.0, 5.0], "n": 2, "guess": 0.94},
     "it was 0.94 before", "hardly more"),
    ("foundations/meaning-of-epsilon", "reached", {"epsilons": [1e-9, 1.0], "n": 100},
     "geometric and ilapMech", "none"),
    ("foundations/side-by-side", "truest", {"n": 2, "epsilon": 1e-6},
     "does with 5 × 10⁻⁷", "0.000."),
    # The program keeps a reserve, and nothing is below what is possible.
    ("limits/optimum-two", "worst", {"n": 2, "epsilon": 20.0, "prior": 1000.0},
     "its worst case is hardly above the least.", "0.9"),
    ("limits/optimum-two", "others", {"n": 2, "epsilon": 20.0, "prior": 1000.0},
     "calibrated to its actual loss 1,", "0.9"),
    ("limits/over-all-data", "least", {"n": 4, "epsilon": 20.0},
     "and as much to four digits without", "against"),
    # Of scores with equal errors none is the best.
    ("limits/other-scores", "own", {"n": 2, "epsilon": 40.0, "prior": 1e6, "gamma": 1e6},
     "Under none of the 10 yardsticks", "Under 10"),
    ("limits/other-scores", "geometric", {"n": 2, "epsilon": 40.0, "prior": 1e6, "gamma": 1e6},
     "not always a smaller one", "0.99"),
    ("limits/sliding-lemma", "attained", {"largest": 2, "epsilons": [1.0], "data": [1, 1]}
     | {"first": [1e6], "second": [1e6], "seen": [1.0]}, "holds in all 3 cases", " 0 "),
    ("limits/sentences", "more", {"growing": [2, 5], "few": [2], "weaker": 20.0, "observed": 2},
     "3.71 × 10⁻⁵, to", "e-05"),
    ("privacy/calibrated-skewed", "fair", {"sizes": [10], "epsilon": 1e-6},
     "than `lapMech` at these sizes: 10;", "of the sizes"),
    ("privacy/noise-aware-posterior", "wider", {"counts": [1000, 1000], "epsilon": 0.001}
     | {"prior": [1e6, 0.01]}, "The released count is", "nan"),
    # A float of two digits asks for as few bits as the two digits do.
    ("privacy/every-bit-string", "agree", {"runs": [20], "epsilon": 0.29, "triple": [0, 1, 1]},
     "lies between the bounds", "nan"),
    # Rounding convicts nobody.
    ("privacy/broken-mechanisms", "caught", {"n": 3, "runs": 100, "epsilon": 1e-9},
     "acquits the honest", "none"),
    # What is said of every ε from one on is so at that ε, and what a promise allows is not reached.
    ("tables/ranges", "turn", {"largest_n": 20}, "than `lapMech` from ε = 3.54 on", "can change"),
    # A product is wrong where a factor is missing, however near the two distances are.
    ("tables/odd-steps", "printed", {"alpha": 1e10, "beta": 1e10}, "wrong in all 5 rows", "of 5"),
    ("tables/two-sided-steps", "wasteful", {"epsilon": 20.0, "n": 20, "largest_step": 2},
     "0.500000000 against 0.499999999.", "0.500 against"),
    # Steps whose distances are all one to the last digit are steps of their own.
    ("tables/two-sided-steps", "law", {"epsilon": 0.01, "n": 600, "largest_step": 299},
     "no entry changes by more than", "meet the clamp"),
    ("scale/dimensions", "noise", {"n": 500, "epsilon": 1e-4, "categories": [6]},
     "categories no noise on the counts is ahead", "not all"),
    ("scale/dimensions", "wall", {"n": 1000, "epsilon": 5.0, "categories": [50]},
     "can be, by less than rounding.", "by 0"),
    # A slope below zero is no growth.
    ("scale/work-by-categories", "slope", {"n": 1000, "categories": [50, 51]},
     "the cost falls on the whole as categories are added.", "grows"),
    ("queries/coverage", "normal", {"levels": 2, "others": 1_000_000}, "1,000,000 of", "1000000"),
    ("queries/monte-carlo-error", "corollary", {"sizes": [10], "repeats": 2}, "agree", "nan"),
    # A squared error below the lost mass has stopped, and is not the larger one.
    ("queries/probability-calculation-error", "floor", {}, "does not go down with it", "is not:"),
    ("queries/worked-example", "estimate", {"delta": 0.999999},
     "from 71.9760 to 71.9761,", "to 71.98,"),
    ("reproduction/captions", "causes", {"documents": ["C"]}, "in the one case", "each of 1"),
    ("reproduction/captions", "left", {"documents": ["B"]},
     "at 10/10/10, prior 60, lower quartile: z = −12.5", "|"),
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "key", "values", "said", "unsaid"), ODD, ids=[f"{one[0]}-{one[1]}" for one in ODD]
)
def test_an_odd_value_gets_a_true_sentence(
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


@pytest.mark.slow
def test_rounding_over_thousands_of_candidates_is_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    name, values = "limits/permute-and-flip", {"sizes": [4999], "epsilon": 1e-6, "gamma": 1e-6}
    sentence = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))["gain"]["sentence"]
    assert "−" not in sentence.replace("10⁻", "")


BEYOND: list[tuple[str, dict[str, Any], str]] = [
    ("foundations/beta-posterior", {"prior": [0.001, 0.001]}, "prior must"),
    ("foundations/learning", {"prior": [1e300, 1e-300]}, "prior must"),
    ("foundations/meaning-of-epsilon", {"epsilons": [1e-12]}, "epsilons must"),
    ("foundations/one-release", {"mechanism": "permute-and-flip", "counts": [400, 1]}, "minutes"),
    ("foundations/two-laws", {"epsilon": 1e-300}, "epsilon must"),
    ("limits/axial-symmetry", {"prior": [1e-300, 1e-300]}, "prior must"),
    ("limits/other-scores", {"prior": 1e-300}, "prior must"),
    ("limits/sliding-lemma", {"first": [1e300], "second": [1e300]}, "first must"),
    ("limits/large-n-three", {"epsilon": 1e-6}, "epsilon must"),
    ("limits/large-n-three", {"epsilon": 0.2, "shares": [0.01, 0.01, 0.98]}, "too many steps"),
    ("limits/sentences", {"three": [0, 0, 0]}, "three"),
    ("limits/theorem-map", {"categories": [4, 4]}, "categories"),
    ("limits/what-to-use", {"sizes": [10, 10]}, "sizes"),
    ("limits/wins-on-few", {"epsilons": [1.0, 1.0]}, "epsilons"),
    ("privacy/broken-mechanisms", {"epsilon": 700.0}, "epsilon must"),
    ("privacy/calibrated-three", {"epsilon": 1e-6}, "epsilon must"),
    ("privacy/actual-privacy-loss", {"epsilon": 1e-300}, "epsilon must"),
    ("privacy/choosing-gamma-afterwards", {"epsilon": 700.0}, "epsilon must"),
    ("privacy/composition", {"epsilon": 1e-300}, "epsilon must"),
    ("privacy/delta-curve", {"prior": 1e300}, "prior must"),
    ("privacy/every-bit-string", {"epsilon": 1e-3}, "epsilon must"),
    ("privacy/every-bit-string", {"epsilon": 0.999}, "more digits take more bits"),
    ("privacy/local-sensitivity-audit", {"priors": [1e300]}, "priors must"),
    ("privacy/sampled-audit", {"epsilon": 1e-300}, "epsilon must"),
    ("privacy/noise-aware-coverage", {"mechanisms": ["geometric", "geometric"]}, "mechanisms"),
    ("privacy/noise-aware-errors", {"mechanisms": ["geometric", "geometric"]}, "mechanisms"),
    ("privacy/noise-aware-many", {"epsilons": [1e-6]}, "epsilons must"),
    ("privacy/noise-aware-many", {"k": 100}, "k must"),
]


@pytest.mark.parametrize(("name", "values", "said"), BEYOND)
def test_what_cannot_be_computed_is_refused_before_anything_runs(
    name: str, values: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        chosen(name, declared(load(NOTEBOOKS[name])), values)
