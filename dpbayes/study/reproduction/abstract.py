"""Document A, the extended abstract: Figures 1 to 3, under its captions and as they were drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from dpbayes.accuracy import split
from dpbayes.divergences import hellinger_published
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.reproduction.drawing import Series, boxed, releases
from dpbayes.study.reproduction.noise import SequentialLaplace
from dpbayes.study.reproduction.programs import drafted_delta

EPSILON, DELTA = 0.8, 1e-8
METRIC_CAUSE = "the distance of the program: ln of the total divides where lnGamma is subtracted"
TEXT = "c6390bd"


def at_shares(shares: ArrayLike, prior: ArrayLike) -> Callable[[str], tuple[ArrayLike, ArrayLike]]:
    """Return the data at x records, split by shares."""
    return lambda x: (split(int(x), shares), prior)


def _growing(
    figure: str, panel: str, shares: list[float], laplace: str, cause: str
) -> list[Series]:
    data = at_shares(shares, [1.0] * len(shares))
    private = mechanism("expMech-delta", EPSILON, delta=DELTA, distance="l1")
    options: dict[str, Any] = {"distance": "l1", "failure_term": "2n", "metric": "published"}
    slipped = mechanism("expMech-delta", EPSILON, delta=DELTA, **options)
    noisy = mechanism("lapMech", EPSILON, sensitivity=2.0)
    said = "Hellinger distance, ε = 0.8, δ = 10⁻⁸, d = ℓ1, Laplace noise 2/ε, 1000 runs"
    done = "published distance, otherwise as the caption"
    pairs: tuple[tuple[str, Mechanism, Mechanism], ...] = (
        (laplace, noisy, noisy),
        ("expMech-delta", private, slipped),
    )
    return [
        Series(
            "A", figure, panel, curve, releases(said, right, data),
            releases(done, wrong, data, hellinger_published), cause, TEXT,
        )
        for curve, right, wrong in pairs
    ]  # fmt: skip


def _boxes() -> list[Series]:
    said = "Hellinger distance, ε = 0.8, δ = 10⁻⁸, d = ℓ1, Laplace noise 2/ε, 1000 runs"
    done = "500 runs, γ with ln(δ/2n), each noisy count clamped to what the earlier ones left"
    caption = (
        ("expMech-delta", mechanism("expMech-delta", EPSILON, delta=DELTA, distance="l1")),
        ("Laplace 2/eps", mechanism("lapMech", EPSILON, sensitivity=2.0)),
    )
    drawn: tuple[Mechanism, ...] = (drafted_delta(EPSILON, DELTA), SequentialLaplace(EPSILON))
    cause = "the program's clamp, and 500 runs"
    return [
        Series(
            "A", "3", "", curve, releases(said, right, boxed),
            releases(done, program, boxed, runs=500), cause, "fa1cb02",
        )
        for (curve, right), program in zip(caption, drawn, strict=True)
    ]  # fmt: skip


def abstract_series() -> tuple[Series, ...]:
    """Return the series of A's figures that points were read for."""
    range_cause = METRIC_CAUSE + "; the axis runs from 1000 to 2000, not from 14 000 to 20 000"
    return (
        *_growing("1", "a", [0.1, 0.9], "lapMech", METRIC_CAUSE),
        *_growing("1", "b", [0.1, 0.9], "lapMech", METRIC_CAUSE),
        *_growing("2", "a", [0.2, 0.3, 0.5], "Laplace 2/eps", range_cause),
        *_boxes(),
    )
