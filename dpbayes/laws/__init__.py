"""Exact output distributions: what a mechanism returns, and with which probability."""

from __future__ import annotations

from dpbayes._lazy import attach as _attach

_MODULE_OF = {
    "MonteCarlo": "estimate",
    "FiniteLaw": "finite",
    "Law": "law",
    "Listed": "law",
    "mean_difference": "law",
    "Estimate": "numbers",
    "Estimates": "numbers",
    "StepLaw": "steps",
}

__all__ = sorted(_MODULE_OF)
__getattr__, __dir__ = _attach(__name__, _MODULE_OF)
