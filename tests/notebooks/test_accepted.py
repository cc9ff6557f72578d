"""What a notebook accepts it also runs to the end, and every finding says how it came out.

Each run draws its own values near the small ones. ``DPBAYES_FUZZ=7`` draws others than the usual
ones, for a search by hand.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from dpbayes.figures import theme
from tests.notebooks.accepted import accepted
from tests.notebooks.running import findings, run_cells
from tests.notebooks.test_sources import NOTEBOOKS

SEED = os.environ.get("DPBAYES_FUZZ", "0")
# Notebooks that run in about a second at such values: together about a minute.
CHEAP = (
    "accuracy/a-large-n", "accuracy/a-small-n", "accuracy/b-draft-laplace",
    "accuracy/c-local-sensitivity", "accuracy/distance-probabilities-large-epsilon",
    "accuracy/distance-probabilities-two", "accuracy/sensitivity-along-data",
    "comparison/larger-three", "comparison/many-releases",
    "data/rand-hie-reading", "data/rand-persons",
    "foundations/beta-posterior", "foundations/learning", "foundations/meaning-of-epsilon",
    "foundations/one-release", "foundations/overlap", "foundations/sensitivities",
    "foundations/side-by-side", "foundations/sum-zero-noise", "foundations/two-laws",
    "queries/budget-saved", "queries/chosen-after-looking", "queries/coverage",
    "queries/data-cube", "queries/day-of-queries", "queries/framework",
    "queries/full-posterior", "queries/hypothesis-test", "queries/interval-and-posterior",
    "queries/interval-length", "queries/monte-carlo-error", "queries/myopic-budget",
    "queries/online-system", "queries/probability-calculation-error", "queries/replacement",
    "queries/sentences", "queries/small-weights", "queries/two-approximations",
    "queries/unsafe-budgets", "queries/worked-example",
    "tables/candidates", "tables/even-steps", "tables/expmech-rows", "tables/laplace-steps",
    "tables/odd-steps", "tables/ranges", "tables/score-change", "tables/two-sided-steps",
)  # fmt: skip
UNFILLED = re.compile(r"\bnan\b|\bNone\b|[{}]|\b0 of 0\b(?!\.)|\[\]|  ")
ROLES = re.compile(r"\{[a-z:]+\}`[^`]*`|\$[^$]*\$")


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEAP)
def test_what_is_accepted_runs_to_the_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    values = accepted(name, random.Random(f"{SEED} {name}"))
    found = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path))
    plt.close("all")
    assert found, f"{name} finds nothing"
    for key, finding in found.items():
        assert finding["holds"] in (True, False, None)
        said = ROLES.sub("…", finding["sentence"])
        assert said.strip()
        assert not UNFILLED.search(said), f"{name}::{key} at {values}: {said}"
