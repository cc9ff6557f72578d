"""A table of people: publish counts of it, or let it be asked, from one durable
account.

Published: `plan`, `account`, `table`, `release`, `shares`, `reading`,
`forecast`, `report`. Asked:
`answering` and `service`, with document E's mathematics in `inference`, `noise_law`,
`decision`.
"""

from __future__ import annotations

from importlib import import_module as _import_module

_HOME = {
    "answering": "Answering",
    "attributes": "Bins Categories Cube",
    "decision": (
        "Allocation Decision Policy State allocation budget combine decide empty_state"
    ),
    "inference": (
        "Blue Factor NotEstimableError blue cost_of_scales empty_factor sensitivity"
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
