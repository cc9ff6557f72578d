"""A table of people: publish counts of it, or let it be asked, from one durable
account.

Published: `plan`, `account`, `table`, `release`, `shares`, `reading`,
`forecast`, `report`. Asked:
`answering` and `service`, with document E's mathematics in `inference`, `noise_law`,
`approximations`, `decision`.
"""

from __future__ import annotations

from importlib import import_module as _import_module

_HOME = {
    "answering": "Answering",
    "approximations": (
        "CellInterval MassVector consistent convolution_work credible_interval "
        "exact_masses pmf_monte_carlo pmf_probability_calculation"
    ),
    "attributes": "Bins Categories Cube",
    "decision": (
        "Allocation Decision Policy State Stream allocation budget combine decide"
        " empty_state stream"
    ),
    "inference": (
        "Blue Factor NotEstimableError blue blue_sparse cost_of_scales "
        "empty_factor laplace_scales privacy_cost random_ranges sensitivity"
    ),
    "noise_law": "Interval NoiseLaw interval",
    "opening": "create_account open_account",
    "plan": "Plan read_plan",
    "predicate": "Answer",
    "reading": "NoiseAwarePosterior noise_aware",
    "shares": "ShareReading Shares",
    "table": "TableError count",
    "units": "Unit",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dpbayes.tables' has no attribute {name!r}")
    found: object = getattr(_import_module(f"dpbayes.tables.{_MODULE_OF[name]}"), name)
    return found


def __dir__() -> list[str]:
    return __all__
