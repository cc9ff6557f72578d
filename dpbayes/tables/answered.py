"""Bought answers as they stand in an account."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import frozen
from dpbayes.tables.entries import Entry


@dataclass(frozen=True)
class Answered:
    """A bought answer: its entry's `number`, query (cells,), scale and `value` in grid units.

    `value` is None where it was paid for and not drawn yet: whoever sees that draws and keeps it.
    """

    number: int
    request: str
    payer: str
    label: str
    query: NDArray[np.float64]
    scale: int
    value: int | None
    epsilon: Fraction
    asked: str
    table: str


def packed(query: NDArray[np.float64]) -> str:
    """Return coefficients as text.

    >>> len(packed(np.zeros(1000))) < 100
    True
    """
    return base64.b64encode(zlib.compress(query.astype("<f8").tobytes())).decode()


def answered(entry: Entry, kept: Entry | None) -> Answered:
    """Return what an entry says was bought, and what `kept` says was drawn."""
    fields = entry.fields
    content = zlib.decompress(base64.b64decode(fields["query"]))
    return Answered(
        entry.sequence,
        entry.request,
        fields["payer"],
        fields["statement"],
        frozen(np.frombuffer(content, dtype="<f8").astype(np.float64)),
        int(fields["scale"], 16),
        None if kept is None else int(kept.fields["result"], 0),
        entry.epsilon,
        fields["asked"],
        fields["table"],
    )
