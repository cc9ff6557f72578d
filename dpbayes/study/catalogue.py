"""All printed curves: documents A, B and C here, D in `full_paper`."""

from __future__ import annotations

from functools import lru_cache, partial

from dpbayes.divergences import hellinger_published
from dpbayes.mechanisms import mechanism
from dpbayes.study.curves import (
    Data,
    Drawing,
    Published,
    Series,
    boxed,
    judge,
    releases,
    values,
)
from dpbayes.study.full_paper import METRIC_CAUSE, at_shares, change_of, paper_series
from dpbayes.study.programs import (
    OlderLaplace,
    RepairedLaplace,
    SequentialLaplace,
    drafted_delta,
    notes_program,
)

DRAFT_DELTA = 5e-4
DELTA_CURVE, LAPLACE_CURVE = "expMech-delta", "Laplace 2/eps"
OLDER = "an older state of the program: parameters cut off at 1, their sum not at all; "
PHANTOM = (
    "the program was told 90 records where the data have 30, so 60 records that do not"
    " exist "
)
NOTES_PRIOR, NOTES_RUNS = (7.0, 4.0), 200
# C's data set and epsilon of each panel; those of Figure 3 are the ones that fit its
# boxes best.
NOTES_PANELS: dict[tuple[str, str], tuple[tuple[int, int], float]] = {
    ("2", "a"): ((110, 190), 0.5),
    ("2", "b"): ((79, 121), 0.8),
    ("3", "a"): ((261, 39), 0.5),
    ("3", "b"): ((90, 410), 0.8),
}


def _abstract() -> list[Series]:
    """Return the series of document A, the extended abstract."""
    l1 = partial(mechanism, "expMech-delta", 0.8, delta=1e-8, distance="l1")
    private, slipped = l1(), l1(failure_term="2n", metric="published")
    noise = mechanism("lapMech", 0.8, sensitivity=2.0)
    words = (
        "Hellinger distance, ε = 0.8, δ = 10⁻⁸, d = ℓ1, Laplace noise 2/ε, 1000 runs"
    )
    said, found = partial(releases, words), []

    def add(
        place: tuple[str, str], name: str, right: Drawing, drawn: Drawing, *why: str
    ) -> None:
        found.append(Series("A", *place, name, right, drawn, *why))

    axis = METRIC_CAUSE + "; the axis runs from 1000 to 2000, not from 14 000 to 20 000"
    two, three = at_shares(0.1, 0.9), at_shares(0.2, 0.3, 0.5)
    figures: list[tuple[tuple[str, str], Data, str, str]] = [
        (("1", "a"), two, "lapMech", METRIC_CAUSE),
        (("1", "b"), two, "lapMech", METRIC_CAUSE),
        (("2", "a"), three, LAPLACE_CURVE, axis),
    ]
    for place, data, name, cause in figures:
        for curve, right, wrong in (
            (name, noise, noise),
            (DELTA_CURVE, private, slipped),
        ):
            drawn = releases(
                "published distance, otherwise as the caption",
                wrong,
                data,
                hellinger_published,
            )
            add(place, curve, said(right, data), drawn, cause, "c6390bd")
    words = (
        "500 runs, γ with ln(δ/2n), each noisy count clamped to what the earlier ones"
        " left"
    )
    done = partial(releases, words, data=boxed, runs=500)
    cause = "the program's clamp, and 500 runs"
    pairs = ((DELTA_CURVE, private, drafted_delta(0.8, 1e-8)),
             (LAPLACE_CURVE, noise, SequentialLaplace(0.8)))  # fmt: skip
    for curve, right, program in pairs:
        add(("3", ""), curve, said(right, boxed), done(program), cause, "fa1cb02")
    return found


def _draft() -> list[Series]:
    """Return the series of document B, the first draft: box plots."""
    said = "Hellinger distance, ε = 0.8, δ = 5 × 10⁻⁴, d in replaced records, 1000 runs"
    printed = said + ", noise |floor(Lap(2/ε))| as printed"
    caption = {
        DELTA_CURVE: releases(
            said, mechanism("expMech-delta", 0.8, delta=DRAFT_DELTA), boxed
        ),
        LAPLACE_CURVE: releases(printed, mechanism("draft-laplace", 0.8), boxed),
    }
    done = partial(releases, data=boxed, runs=500)
    delta = done("d = ℓ1, γ with ln(δ/2n), 500 runs", drafted_delta(0.8, DRAFT_DELTA))
    noise = done("floor(Lap(2/ε)), clamped in turn, 500 runs", SequentialLaplace(0.8))
    words = "Laplace noise floor(Lap(2/ε)) on parameters, cut off below at 1, 500 runs"
    older, runs = done(words, OlderLaplace(0.8)), "500 runs, not 1000"
    l1 = (
        "d is the ℓ1 distance of counts, twice the replaced records, and γ has"
        " ln(δ/2n); " + runs
    )
    clamp = "each noisy count is clamped to what the earlier ones left; " + runs
    panels = [
        ("1", "a", older, OLDER + runs, "bae6e38"),
        ("1", "b", older, OLDER + runs, "bae6e38"),
        ("2", "", noise, clamp + "; k = 2, 3, 4, 5", "c347ef8"),
        ("3", "", noise, clamp + "; n = 8", "7c6b97e"),
        ("4", "", older, OLDER + runs, "bae6e38"),
    ]
    found = []
    for figure, panel, laplace, cause, commit in panels:
        for curve, drawn, *why in (
            (DELTA_CURVE, delta, l1, "7c6b97e"),
            (LAPLACE_CURVE, laplace, cause, commit),
        ):
            found.append(Series("B", figure, panel, curve, caption[curve], drawn, *why))
    ninety = partial(releases, data=boxed, runs=300)
    delta = ninety(
        "candidates of 90 records, 300 runs", drafted_delta(0.8, DRAFT_DELTA, 90)
    )
    noise = ninety(
        "counts that sum to 90, 300 runs", SequentialLaplace(0.8, records=90)
    )
    five = {"are candidates": delta, "fill the last cell": noise}
    for (curve, right), (which, drawn) in zip(
        caption.items(), five.items(), strict=True
    ):
        found.append(
            Series("B", "5", "", curve, right, drawn, PHANTOM + which, "394ff82")
        )
    return found


def _notes() -> list[Series]:
    """Return the series of document C, the notes; its captions state no settings at
    all.
    """
    words = "x = (31, 10, 9), prior (7, 4, 5), neighbours x + e_i - e_j with i < j only"
    change = values(words, change_of((31, 10, 9), (7.0, 4.0, 5.0)))
    cause = "no settings are stated; half of the neighbours are tried"
    found = [Series("C", "1", "", "max score change", None, change, cause, "c13aac0")]
    cause = (
        "the program: prior (7, 4), δ = 0.8, exponent without the factor 2, one-sided"
        " neighbours"
    )
    fitted = cause + "; the data were drawn at random and are fitted here"
    for (figure, panel), (counts, epsilon) in NOTES_PANELS.items():
        words = f"x = {counts}, ε = {epsilon}, prior (7, 4), δ = 0.8, 200 runs"
        why = (cause, "82b04c2") if figure == "2" else (fitted, "c13aac0")
        for kind in ("global", "Laplace", "local", "smooth"):
            noise = RepairedLaplace(epsilon)
            program = noise if kind == "Laplace" else notes_program(kind, epsilon, 0.8)
            drawn = releases(words, program, notes_data(counts), runs=NOTES_RUNS)
            found.append(Series("C", figure, panel, kind, None, drawn, *why))
    return found


def notes_data(counts: tuple[int, int]) -> Data:
    """Return the data of a panel of document C, the same at every x."""
    return lambda x: (counts, NOTES_PRIOR)


@lru_cache(maxsize=1)
def catalogue() -> tuple[Series, ...]:
    """Return every series that points were read for, documents in the order D, A, B,
    C."""
    return (*paper_series(), *_abstract(), *_draft(), *_notes())


def figure_series(
    document: str, figure: str, panel: str | None = None
) -> dict[str, Series]:
    """Return the series of one figure, or of one of its panels, by the names of their
    curves.
    """
    found = [s for s in catalogue() if (s.document, s.figure) == (document, figure)]
    return {s.curve: s for s in found if panel is None or s.panel == panel}


@lru_cache(maxsize=64)
def published(document: str, figure: str, *panels: str) -> Published:
    """Return the curves of one printed figure, or of some of its panels, with their
    fits.
    """
    chosen = [figure_series(document, figure, panel) for panel in panels or (None,)]
    drawn = {
        s.panel for s in catalogue() if (s.document, s.figure) == (document, figure)
    }
    part = ""
    if len(panels) == 1 < len(drawn):
        part = f"({panels[0]})" if len(panels[0]) == 1 else f", {panels[0]}"
    curves = tuple(judge(series) for one in chosen for series in one.values())
    return Published(f"{document}'s Figure {figure}{part}", curves)
