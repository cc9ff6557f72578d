"""Sentences that were false or clumsy at values that nobody had tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.figures import theme
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
