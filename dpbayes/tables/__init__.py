"""A table of people: publish counts of it, or let it be asked, from one durable
account.

Published: `plan`, `account`, `table`, `release`, `shares`, `reading`,
`forecast`, `report`. Asked:
`answering` and `service`, with document E's mathematics in `inference`, `noise_law`,
`decision`.
"""

from __future__ import annotations

from dpbayes._lazy import attach as _attach

_MODULE_OF = {
    "Answering": "answering",
    "Bins": "attributes",
    "Categories": "attributes",
    "Cube": "attributes",
    "Allocation": "decision",
    "Decision": "decision",
    "Policy": "decision",
    "State": "decision",
    "allocation": "decision",
    "budget": "decision",
    "combine": "decision",
    "decide": "decision",
    "empty_state": "decision",
    "Blue": "inference",
    "Factor": "inference",
    "NotEstimableError": "inference",
    "blue": "inference",
    "cost_of_scales": "inference",
    "empty_factor": "inference",
    "sensitivity": "inference",
    "Interval": "noise_law",
    "NoiseLaw": "noise_law",
    "interval": "noise_law",
    "create_account": "opening",
    "open_account": "opening",
    "Plan": "plan",
    "read_plan": "plan",
    "Answer": "predicate",
    "NoiseAwarePosterior": "reading",
    "noise_aware": "reading",
    "ShareReading": "shares",
    "Shares": "shares",
    "TableError": "table",
    "count": "table",
    "Unit": "units",
}

__all__ = sorted(_MODULE_OF)
__getattr__, __dir__ = _attach(__name__, _MODULE_OF)
