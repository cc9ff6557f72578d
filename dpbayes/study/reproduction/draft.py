"""Document B, the first draft: its box plots, under their captions and as they were drawn."""

from __future__ import annotations

from functools import lru_cache

from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.reproduction.drawing import Drawing, Series, boxed, releases
from dpbayes.study.reproduction.noise import OlderLaplace, SequentialLaplace
from dpbayes.study.reproduction.programs import drafted_delta

EPSILON, DELTA = 0.8, 5e-4
SAID = "Hellinger distance, ε = 0.8, δ = 5 × 10⁻⁴, d in replaced records, 1000 runs"
RUNS = "500 runs, not 1000"
L1 = "d is the ℓ1 distance of counts, twice the replaced records, and γ has ln(δ/2n); " + RUNS
CLAMP = "each noisy count is clamped to what the earlier ones left; " + RUNS
OLDER = "an older state of the program: parameters cut off at 1, their sum not at all; " + RUNS
PHANTOM = "the program was told 90 records where the data have 30, so 60 records that do not exist "
DELTA_CURVE, LAPLACE_CURVE = "expMech-delta", "Laplace 2/eps"


def _captioned() -> dict[str, Drawing]:
    private = mechanism("expMech-delta", EPSILON, delta=DELTA)
    noisy = mechanism("draft-laplace", EPSILON)
    printed = SAID + ", noise |floor(Lap(2/ε))| as printed"
    return {
        DELTA_CURVE: releases(SAID, private, boxed),
        LAPLACE_CURVE: releases(printed, noisy, boxed),
    }


def older_laplace(epsilon: float = EPSILON, runs: int = 500) -> Drawing:
    """Return the boxes of the older Laplace program."""
    noise = OlderLaplace(epsilon)
    words = "Laplace noise floor(Lap(2/ε)) on parameters, cut off below at 1, 500 runs"
    return Drawing(words, lru_cache(maxsize=None)(lambda x: noise.distances(*boxed(x))), runs)


def _drawn(program: Mechanism, words: str, runs: int = 500) -> Drawing:
    return releases(words, program, boxed, runs=runs)


def draft_series() -> tuple[Series, ...]:
    """Return the series of B's figures that points were read for."""
    caption = _captioned()
    delta = _drawn(drafted_delta(EPSILON, DELTA), "d = ℓ1, γ with ln(δ/2n), 500 runs")
    noise = _drawn(SequentialLaplace(EPSILON), "floor(Lap(2/ε)), clamped in turn, 500 runs")
    older = older_laplace()
    ninety = {
        DELTA_CURVE: _drawn(
            drafted_delta(EPSILON, DELTA, records=90), "candidates of 90 records, 300 runs", 300
        ),
        LAPLACE_CURVE: _drawn(
            SequentialLaplace(EPSILON, records=90), "counts that sum to 90, 300 runs", 300
        ),
    }
    phantom = {
        DELTA_CURVE: PHANTOM + "are candidates",
        LAPLACE_CURVE: PHANTOM + "fill the last cell",
    }
    panels = (
        ("1", "a", older, OLDER, "bae6e38"),
        ("1", "b", older, OLDER, "bae6e38"),
        ("2", "", noise, CLAMP + "; k = 2, 3, 4, 5", "c347ef8"),
        ("3", "", noise, CLAMP + "; n = 8", "7c6b97e"),
        ("4", "", older, OLDER, "bae6e38"),
    )
    found = []
    for figure, panel, laplace, cause, commit in panels:
        for curve, drawn, why, where in (
            (DELTA_CURVE, delta, L1, "7c6b97e"),
            (LAPLACE_CURVE, laplace, cause, commit),
        ):
            found.append(Series("B", figure, panel, curve, caption[curve], drawn, why, where))
    for curve, drawn in ninety.items():
        found.append(Series("B", "5", "", curve, caption[curve], drawn, phantom[curve], "394ff82"))
    return tuple(found)
