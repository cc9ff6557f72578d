"""Releases and posteriors as tables, pictures and objects of other libraries."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.mechanisms.guarantees import Guarantee
from dpbayes.posteriors import Posterior
from dpbayes.tables.reading import NoiseAwarePosterior


class Released(Protocol):
    """What is shown of a release (see `dpbayes.tables.drawn.Release`)."""

    @property
    def counts(self) -> NDArray[np.int64]: ...

    @property
    def prior(self) -> NDArray[np.float64]: ...

    @property
    def labels(self) -> tuple[str, ...] | None: ...

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def posterior(self) -> Posterior: ...

    def noise_aware(self) -> NoiseAwarePosterior: ...


def ordered(counts: Any, order: Sequence[str] | None) -> tuple[ArrayLike, tuple[str, ...] | None]:
    """Return counts as a vector in the declared order, with their labels.

    `counts` is a vector, or a mapping or pandas Series from labels to counts; only the latter take
    an `order`, and they need one: their own order may follow the data, as that of `value_counts`
    does, which ranks the true counts. A label missing in `counts` counts 0.
    """
    labelled = isinstance(counts, Mapping) or (
        hasattr(counts, "items") and hasattr(counts, "index")
    )
    if not labelled:
        if order is None:
            return counts, None
        labels = _labels(order)
        if len(labels) != np.size(counts):
            raise ValueError(f"order must have {np.size(counts)} labels, got {len(labels)}")
        return counts, labels
    if order is None:
        raise ValueError(
            "counts must be a vector, or come with the order of the categories, got a "
            f"{type(counts).__name__} without one: its own order may follow the data and would "
            "then publish their ranking"
        )
    labels, found = _labels(order), dict(counts.items())
    unknown = [label for label in found if label not in labels]
    if unknown:
        raise ValueError(f"order must list every category of counts, got none for {unknown[0]!r}")
    return [found.get(label, 0) for label in labels], labels


def _labels(order: Sequence[str]) -> tuple[str, ...]:
    labels = tuple(order)
    if isinstance(order, str) or len(labels) < 2 or len(set(labels)) != len(labels):
        raise ValueError(f"order must be at least 2 different labels, got {order!r}")
    return labels


def names(release: Released) -> tuple[str, ...]:
    """Return the labels of a release, or its categories' numbers."""
    if release.labels is not None:
        return release.labels
    return tuple(f"category {i}" for i in range(release.prior.size))


def columns(release: Released, confidence: float) -> dict[str, Any]:
    """Return one entry a category: label, released count, noise-aware share and interval."""
    aware = release.noise_aware()
    ends = aware.interval(confidence)
    return {
        "category": list(names(release)),
        "released": release.counts.tolist(),
        "share": aware.mean.tolist(),
        "low": ends[:, 0].tolist(),
        "high": ends[:, 1].tolist(),
    }


def html_table(release: Released, confidence: float) -> str:
    """Return a release as HTML: its promise and one row a category."""
    table = columns(release, confidence)
    rows = [
        f"<tr><td>{html.escape(str(label))}</td><td>{count:,}</td><td>{share:.4f}</td>"
        f"<td>{low:.4f} to {high:.4f}</td></tr>"
        for label, count, share, low, high in zip(*table.values(), strict=True)
    ]
    head = f"<th>category</th><th>released</th><th>share</th><th>{confidence:.0%} interval</th>"
    return (
        f"<p>{html.escape(release.guarantee.sentence)}</p>"
        f'<table class="dataframe"><tr>{head}</tr>{"".join(rows)}</table>'
    )


def frame(table: Mapping[str, Any]) -> Any:
    """Return columns as a pandas DataFrame; ImportError where there is no pandas."""
    return optional("pandas", "to_frame needs pandas").DataFrame(dict(table)).set_index("category")


def optional(module: str, need: str) -> Any:
    """Return a library that need not be installed, or raise ImportError saying who needs it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"{need}, which is not installed") from None


def picture(release: Released, confidence: float) -> Any:
    """Return a matplotlib figure of the noise-aware and the plain intervals."""
    from dpbayes.figures.intervals import intervals

    readings = {
        "noise-aware": release.noise_aware().interval(confidence),
        "plain": release.posterior.interval(confidence),
    }
    figure, _ = intervals(names(release), readings, "share of the category")
    return figure


def inference_data(release: Released, rng: np.random.Generator, draws: int) -> Any:
    """Return draws of the noise-aware posterior for ArviZ, as "theta" over "category"."""
    az = optional("arviz", "to_arviz needs ArviZ")
    number = _validate.integer("draws", draws, minimum=1)
    drawn: NDArray[np.float64] = release.noise_aware().sample(rng, number)
    return az.from_dict(
        posterior={"theta": drawn[None, :, :]},
        coords={"category": list(names(release))},
        dims={"theta": ["category"]},
    )
