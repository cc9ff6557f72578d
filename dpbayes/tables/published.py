"""A release as data: what `release.json` holds, checked by a model, and read back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpbayes import _validate
from dpbayes.mechanisms import Mechanism, mechanism
from dpbayes.mechanisms.geometric import IndependentNoise, TruncatedGeometric
from dpbayes.mechanisms.laplace import LaplaceMechanism
from dpbayes.mechanisms.lattice import SumZeroLattice
from dpbayes.mechanisms.protocol import given_epsilon
from dpbayes.tables.count_noise import count_noise_of
from dpbayes.tables.drawn import Release

SCHEMA = "dpbayes.release/6"
Interval = tuple[float, float]


def chosen_mechanism(
    name: str, epsilon: Fraction, options: dict[str, Any]
) -> Mechanism:
    """Return the mechanism of this name, the one for a secret number of records
    included.
    """
    if name == IndependentNoise.name:
        if options:
            raise TypeError(f"{name} has no options, got {options}")
        return IndependentNoise(given_epsilon(epsilon))
    return mechanism(name, epsilon=epsilon, **options)


class Stored(BaseModel):
    """What is stored: nothing that is not declared, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Noise(Stored):
    """The noise that was added to a count: its law in words, its scale, its spread."""

    law: str = Field(description="the law of the noise, with its scale")
    scale: float = Field(description="the scale that the law names, in records")
    standard_deviation: float = Field(
        description="standard deviation of the noise of one count, in records"
    )


class Drawing(Stored):
    """The mechanism that drew, at the epsilon of one record, a fraction."""

    name: str
    epsilon: str = Field(description="epsilon of one record as an exact fraction")
    options: dict[str, Any]


class PublishedRelease(Stored):
    """The file `release.json`. Everything in it may be published."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="A private release")
    format: Literal["dpbayes.release/6"] = Field(alias="schema")
    dataset: str
    request: str
    columns: list[str] = Field(description="the columns that were counted")
    cells: list[list[str]] = Field(
        description="one value of each column, for each cell"
    )
    labels: list[str] = Field(description="one text for each cell")
    counts: list[int] = Field(description="the released counts, repaired")
    noisy: list[int] = Field(description="what was drawn, before any repair")
    prior: list[float] = Field(description="parameters of the prior, one a cell")
    prior_stated: bool = Field(description="whether the plan states the prior")
    posterior: list[float] = Field(description="prior plus released counts")
    records: int | None = Field(description="public number of records, null if secret")
    mechanism: Drawing
    noise: Noise | None = Field(description="null where no noise is added to counts")
    epsilon: str = Field(description="epsilon of one unit, rounded up")
    unit: str
    records_of_a_person: int
    design_effect: float = Field(
        description="times the variance of a share from independent records"
    )
    neighbours: Literal["replace-one", "add-or-remove"]
    guarantee: str
    meaning: str = Field(description="the guarantee in odds")
    cost: str
    balance: str
    bound: str
    receipt: str
    analysis: dict[str, Any] = Field(
        default_factory=dict, description="readings, or why they are missing"
    )

    def release(self) -> Release:
        """Return the release, which can be read with its noise in mind."""
        drawing = self.mechanism
        chosen = chosen_mechanism(
            drawing.name, Fraction(drawing.epsilon), drawing.options
        )
        counts = np.array(self.counts, dtype=np.int64)
        return Release(
            chosen,
            np.array(self.prior),
            int(counts.sum()) if self.records is None else self.records,
            np.array(self.noisy, dtype=np.int64),
            counts,
            self.design_effect,
            self.prior_stated,
            tuple(self.labels),
        )


def noise_of(chosen: Mechanism, k: int) -> Noise | None:
    """Return the noise of one count of k, None where no noise is added to counts.

    >>> noise_of(mechanism("lattice", 0.5), 3).scale
    4.0
    """
    weights = "P(z) proportional to e^(-|z| / scale)"
    if isinstance(chosen, SumZeroLattice):
        law = (
            f"geometric, {weights}, on the vectors z of whole numbers that sum to 0,"
            " |z| the sum of their absolute values"
        )
        scale = 2.0 / chosen.epsilon
    elif isinstance(chosen, (TruncatedGeometric, IndependentNoise)):
        law, scale = (
            f"two-sided geometric, {weights}, on whole numbers z",
            1.0 / chosen.epsilon,
        )
    elif isinstance(chosen, LaplaceMechanism):
        way = "down" if chosen.rounding == "floor" else "to the nearest whole number"
        law, scale = f"Laplace of this scale, rounded {way}", chosen.scale(k)
    else:
        return None
    one = count_noise_of(chosen, k)
    assert one is not None, "noise that is added to counts has a law"
    spread = one.law(frozenset({0})).variance ** 0.5
    return Noise(law=law, scale=scale, standard_deviation=spread)


def read(path: str | Path) -> Release:
    """Return the release that a `release.json` holds, with its noise-aware reading.

    Raises ValueError for a file that is none. Book: `publish`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "release.json").write_text("{}")
    ...     try:
    ...         read(Path(folder) / "release.json")
    ...     except ValueError as error:
    ...         print(str(error)[-49:])
    as `dpbayes release` writes it: schema is missing
    """
    place = _validate.path("path", path)
    try:
        stored = PublishedRelease.model_validate(json.loads(place.read_bytes()))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        why = "is missing" if first["type"] == "missing" else f": {first['msg']}"
        raise ValueError(
            f"path must be a release.json as `dpbayes release` writes it: {key} {why}"
        ) from None
    except ValueError as error:  # no JSON, or no text
        raise ValueError(
            f"path must be a release.json, got {str(place)!r}: {error}"
        ) from None
    return stored.release()


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of `release.json`, which the book publishes."""
    return PublishedRelease.model_json_schema()
