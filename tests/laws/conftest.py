"""Fewer draws behind drawn numbers: their standard errors are larger, and still have to hold."""

from __future__ import annotations

import pytest

from dpbayes.laws import estimate, lattice


@pytest.fixture(autouse=True)
def few_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw as many as it takes only where the number of draws itself is under test."""
    if request.module.__name__.endswith("test_estimate"):
        return
    for module in (estimate, lattice):
        monkeypatch.setattr(module, "MOST_ENTRIES", 120_000)
