"""Unusual values that a notebook accepts, near those with which it runs in seconds."""

from __future__ import annotations

import random
from typing import Any

from dpbayes.press.parameters import Parameter, chosen, declared, load
from tests.notebooks.test_sources import NOTEBOOKS, small_parameters

TRIES = 300
TEXTS = ("0.1", "3", "12", "1.25")
FACTORS = (1.0, 1 / 3, 3.0, 10.0, 1 / 30)
PLAIN = (0.0, 1e-9, 0.5, 0.999, 1.0, 20.0)


def accepted(name: str, rng: random.Random) -> dict[str, Any]:
    """Return values that differ from the small ones of a notebook and that it accepts."""
    parameters, small = declared(load(NOTEBOOKS[name])), small_parameters()[name]
    for _ in range(TRIES):
        values = dict(small)
        for key, parameter in parameters.items():
            if rng.random() < 0.5:
                values[key] = varied(parameter, values.get(key, parameter.default), rng)
        if values == small:
            continue
        try:
            chosen(name, parameters, values)
        except (ValueError, TypeError):
            continue
        return values
    raise AssertionError(f"{name} accepts nothing near its small values")


def varied(parameter: Parameter, old: Any, rng: random.Random) -> Any:
    """Return another value of the parameter's type, which the notebook may refuse."""
    kind = parameter.type.split("|")[0].strip()
    if old is None or not kind.startswith("list["):
        return old if old is None else one_value(parameter, kind, old, rng)
    values = rng.choice((old, old[:1], old[::-1], [*old, old[-1]]))
    inner = kind.removeprefix("list[").removesuffix("]")
    return [
        one_value(parameter, inner, value, rng) if rng.random() < 0.6 else value for value in values
    ]


def one_value(parameter: Parameter, kind: str, old: Any, rng: random.Random) -> Any:
    """Return one number, text or truth value."""
    if parameter.choices:
        return rng.choice(parameter.choices)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "str":
        return rng.choice(TEXTS)
    if kind == "int":
        return rng.choice((0, 1, 2, 3, old, old // 2, old + 1, 2 * old))
    return float(rng.choice((*PLAIN, *(factor * old for factor in FACTORS))))
