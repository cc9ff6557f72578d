"""Fewer draws behind drawn numbers: their standard errors are larger, and still have to
hold.
"""

from __future__ import annotations

import pytest

from dpbayes.laws import estimate


@pytest.fixture(autouse=True)
def few_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw as many as it takes only where the number of draws itself is under test."""
    if not request.module.__name__.endswith("test_estimate"):
        monkeypatch.setattr(estimate, "MOST_ENTRIES", 120_000)
