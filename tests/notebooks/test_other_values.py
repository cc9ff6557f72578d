"""Every finding is true of the run it stands in: notebooks at values nobody chose for them.

Every set of values runs without an error or a warning, and together the sets bring out both ways
in which each finding can come out, unless a theorem leaves it one or one_way.yml says why not.
Badges of printed pictures are held by tests/study/reproduction/test_fit.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
import yaml

from dpbayes.figures import theme
from dpbayes.press.overrides import Yaml12
from tests.notebooks.running import findings, run_cells
from tests.notebooks.test_sources import NOTEBOOKS, small_parameters

OTHERS: dict[str, list[dict[str, Any]]] = yaml.load(
    Path(__file__).with_name("other_parameters.yml").read_text(encoding="utf-8"), Yaml12
)
ONE_WAY = yaml.load(Path(__file__).with_name("one_way.yml").read_text(encoding="utf-8"), Yaml12)
GIVEN: dict[str, list[str]] = ONE_WAY["given"]


PRINTED = {"badge", "badge-earlier"}  # of printed pictures, which no parameter of a run changes

QUICK = ("foundations/beta-posterior", "tables/laplace-steps", "queries/framework")


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in OTHERS]
)
def test_findings_come_out_both_ways(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The SVG is drawn; the same figure as pixels takes the longest and adds nothing here.
    monkeypatch.setattr(theme, "png_bytes", lambda figure: b"")
    outcomes: dict[str, set[bool | None]] = {}
    sentences: dict[str, set[str]] = {}
    decided_by_theorem = set()
    for index, values in enumerate([small_parameters()[name], *OTHERS[name]]):
        found = findings(run_cells(NOTEBOOKS[name], name, values, tmp_path / str(index)))
        plt.close("all")
        assert found, f"{name} finds nothing"
        for key, finding in found.items():
            outcomes.setdefault(key, set()).add(finding["holds"])
            assert finding["sentence"].strip()
            sentences.setdefault(key, set()).add(finding["sentence"])
            decided_by_theorem |= {key} if finding.get("by_theorem") else set()
    one_way = {
        key
        for key, seen in outcomes.items()
        if key not in decided_by_theorem | PRINTED and not {True, False} <= seen
    }
    listed = set(GIVEN.get(name, ()))
    assert one_way == listed, f"{name}: came out one way only, and listed in one_way.yml"
    changed = {key for key in GIVEN.get(name, ()) if len(sentences[key]) > 1}
    assert not changed, f"{name}: listed as given, yet a parameter changes the sentence"


def test_each_notebook_has_three_other_sets() -> None:
    assert set(OTHERS) == set(NOTEBOOKS)
    assert {name for name, sets in OTHERS.items() if len(sets) < 3} == set()


def test_only_what_is_given_may_come_out_one_way() -> None:
    assert set(ONE_WAY) == {"given"}
    assert set(GIVEN) <= set(OTHERS)
