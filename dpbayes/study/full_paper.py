"""Document D, the full paper: Figures 1 to 7, under their captions and as they were
drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes.accuracy import split
from dpbayes.auditing import audit_corners
from dpbayes.divergences import Metric, hellinger, hellinger_published
from dpbayes.laws.law import listed
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.curves import Data, Drawing, Series, boxed, releases, values
from dpbayes.study.printed import RawMean, all_points
from dpbayes.study.programs import SequentialLaplace, given_beta, given_global
from dpbayes.study.scores import score_changes

METRIC_CAUSE = (
    "the distance of the program: ln of the total divides where lnGamma is subtracted"
)
DELTA_CAUSE = "; the curve is expMech-delta, not the mechanism of Definition 4"
DEFINED = {
    "lapMech": "lapMech",
    "ilapMech": "ilapMech",
    "expMech-delta": "expMech-smooth",
}
"""Curves of Figures 5 and 6, and what they are by the text."""


def at_shares(*shares: float) -> Data:
    """Return the data at x records, split by shares, with a flat prior."""
    return lambda x: (split(int(x), shares), [1.0] * len(shares))


def ninety_percent(x: str) -> tuple[ArrayLike, ArrayLike]:
    """Return the data of D's Figure 6a at "x records": three shares of 0.3, which make
    0.9 x.
    """
    return [round(0.3 * int(x))] * 3, [1.0] * 3


def quarters(x: str) -> tuple[ArrayLike, ArrayLike]:
    """Return the data of D's Figure 6b at "x records": four whole parts of a
    quarter."""
    return [int(0.25 * int(x))] * 4, [1.0] * 4


def slipped_delta(epsilon: float) -> Mechanism:
    """Return expMech-delta as D's programs had it: published distance, 2n in gamma."""
    options = {"delta": 1e-8, "failure_term": "2n", "metric": "published"}
    return mechanism("expMech-delta", epsilon, **options)


def change_of(counts: ArrayLike, prior: ArrayLike) -> Callable[[str], float]:
    """Return the largest one-sided change of the score as a function of a label
    "31/12/7".
    """

    @lru_cache(maxsize=1)
    def table() -> dict[str, float]:
        outputs, changes = score_changes(counts, prior, one_sided=True)
        rows = ("/".join(map(str, row)) for row in outputs.tolist())
        return dict(zip(rows, changes.tolist(), strict=True))

    return lambda x: table()[x]


def loss_next_to_the_corners(
    divisor: float | None, metric: str
) -> Callable[[str], float]:
    """Return the actual epsilon of expMech-smooth at x records, over pairs next to the
    corners.
    """
    return lambda x: _corner_loss(divisor, metric, int(x))


@cache  # both pictures are held against either divisor
def _corner_loss(divisor: float | None, metric: str, n: int) -> float:
    smooth = mechanism("expMech-smooth", 1.0, metric=metric, divisor=divisor)
    return audit_corners(smooth, n, [1.0, 1.0]).loss


def probabilities_of_distances(
    program: Mechanism, counts: ArrayLike, metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct distances of the outputs, increasing, and the probability of
    each.
    """
    law = listed(
        program.law(counts, np.ones(np.size(counts))), "the probability of a distance"
    )
    return law.distance_distribution(metric)


def mass_at(
    program: Mechanism, counts: ArrayLike, metric: Metric = hellinger_published
) -> Callable[[str], float]:
    """Return P[H = c] as a function of c, at the candidates' distance that is next to
    it.
    """
    table = lru_cache(maxsize=1)(
        lambda: probabilities_of_distances(program, counts, metric)
    )

    def value(x: str) -> float:
        distances, masses = table()
        return float(masses[np.argmin(np.abs(distances - float(x)))])

    return value


def six_mechanisms(epsilon: float, k: int) -> dict[str, Mechanism]:
    """Return the six mechanisms of D's Figures 3 and 4 as they were drawn."""
    return {
        "expMech": given_global(epsilon),
        "expMech-local": mechanism(
            "expMech-local", epsilon, metric="published", divisor=1.0
        ),
        "M_H gamma (star)": mechanism("expMech-smooth", epsilon, metric="published"),
        "M_H smooth (circle)": given_beta(epsilon),
        "lapMech": SequentialLaplace(epsilon, float(k)),
        "ilapMech": SequentialLaplace(epsilon, 1.0 if k == 2 else 2.0),
    }


STATED = {"M_H gamma (star)": "expMech-smooth", "M_H smooth (circle)": "expMech-delta"}
"""What the text says of curves of Figures 3 and 4 that do not carry its names."""

HOW = {
    "expMech": ", GS = sqrt(1 - π/4) as a number",
    "expMech-local": ", no factor 2",
    "M_H smooth (circle)": ", β = 0.01 as a number",
}
WHY = {
    "expMech": (
        "GS = sqrt(1 - π/4), the true distance of one record, with published scores"
    ),
    "expMech-local": "the exponent lacks the factor 2; " + METRIC_CAUSE,
    "M_H gamma (star)": METRIC_CAUSE,
    "M_H smooth (circle)": "β = 0.01 given, weight ε H / 4S; " + METRIC_CAUSE,
    "lapMech": "only the axis: " + METRIC_CAUSE,
    "ilapMech": "only the axis: " + METRIC_CAUSE,
}
"""How the curves of Figures 3 and 4 were drawn, and what differs."""

PROBABILITIES: Mapping[tuple[str, str], tuple[float, list[int], float, str]] = {
    ("3", "a"): (1.0, [300, 300], 1.0, "9f4e223"),
    ("3", "b"): (5.0, [200, 200, 200], 1.0, "d2f876f"),
    ("4", "a"): (5.0, [500, 500], 5.0, "9f4e223"),
    ("4", "b"): (5.0, [5000, 5000], 5.0, "9f4e223"),
}
"""Figures 3 and 4: epsilon and counts as drawn, epsilon of the caption, commit of the
program.
"""


def _sensitivities() -> list[Series]:
    def along(metric: Metric) -> Callable[[str], float]:
        def value(x: str) -> float:
            a = float(x) + 1.0
            return float(metric([a + 1.0, 100.0 - a], [a, 101.0 - a]))

        return value

    said = values("hellinger distance, n = 99", along(hellinger))
    done = values("published distance, n = 99", along(hellinger_published))
    first = Series(
        "D", "1", "", "H(beta(a+1 b);beta(a b+1))", said, done, METRIC_CAUSE, "90d6440"
    )
    words = (
        "x = (10, 20, 30), prior (2, 2, 2), neighbours x + e_i - e_j with i < j only"
    )
    change = values(words, change_of((10, 20, 30), (2.0, 2.0, 2.0)))
    cause = (
        "no settings are stated; half of the neighbours are tried, in the true distance"
    )
    return [
        first,
        Series("D", "2", "", "max score change", None, change, cause, "efeea40"),
    ]


def _probabilities(panel: tuple[str, str]) -> list[Series]:
    drawn_epsilon, counts, epsilon, commit = PROBABILITIES[panel]
    k, found = len(counts), []
    stated = split(sum(counts), [0.5, 0.5] if k == 2 else [0.33, 0.33, 0.34])
    said = f"Hellinger distance, ε = {epsilon:g}, x = {tuple(map(int, stated))}"
    done = f"published distance, ε = {drawn_epsilon:g}, x = {tuple(counts)}"
    other = f"ε = {drawn_epsilon:g}; " if drawn_epsilon != epsilon else ""
    read = {
        p.curve
        for p in all_points()
        if (p.document, p.figure, p.panel) == ("D", *panel)
    }
    for curve, program in six_mechanisms(drawn_epsilon, k).items():
        if curve in read:
            defined = mechanism(STATED.get(curve, curve), epsilon)
            right = values(said, mass_at(defined, stated, hellinger))
            drawn = values(done + HOW.get(curve, ""), mass_at(program, counts))
            found.append(
                Series("D", *panel, curve, right, drawn, other + WHY[curve], commit)
            )
    return found


def _means(
    panel: tuple[str, str],
    stated: Data,
    data: Data,
    drawn: Mapping[str, tuple[str, Mechanism]],
    cause: str,
    commit: str,
    **options: Any,
) -> list[Series]:
    # Curves of mean distances: `drawn` has the words and the program of each.
    said = partial(
        releases, "Hellinger distance, ε = 1, expMech-smooth of Definition 4, 1000 runs"
    )
    return [
        Series(
            "D", *panel, curve, said(mechanism(DEFINED[curve], 1.0), stated),
            releases(words, program, data, hellinger_published, **options),
            cause + (DELTA_CAUSE if curve == "expMech-delta" else ""), commit,
        )
        for curve, (words, program) in drawn.items()
    ]  # fmt: skip


def _growth() -> list[Series]:
    words = "published distance, ε = 0.8, δ = 10⁻⁸, γ with ln(δ/2n)"
    balanced = {name: (words, mechanism(name, 0.8)) for name in ("lapMech", "ilapMech")}
    balanced["expMech-delta"] = (words, slipped_delta(0.8))
    words = "published distance, shares 0.3/0.3/0.3, ε = 1, 5000 runs"
    three: dict[str, tuple[str, Mechanism]] = {
        "lapMech": (words, SequentialLaplace(1.0, 3.0)),
        "ilapMech": (words, SequentialLaplace(1.0, 2.0)),
        "expMech-delta": (words, slipped_delta(1.0)),
    }
    words = "published distance, ε = 1, 500 runs"
    four = {curve: (words, program) for curve, (_, program) in three.items()}
    four["lapMech"] = (
        "published distance, noise 3/ε, ε = 1, 500 runs",
        three["lapMech"][1],
    )
    even, third, quarter = (
        at_shares(0.5, 0.5),
        at_shares(0.3, 0.3, 0.4),
        at_shares(*[0.25] * 4),
    )
    causes = (
        "ε = 0.8, as the picture's first file name says; ",
        "shares that sum to 0.9: 90 records at 100; ",
        "noise 3/ε where the legend says 4/ε; ",
    )
    first, second, third_cause = (cause + METRIC_CAUSE for cause in causes)
    return [
        *_means(("5", ""), even, even, balanced, first, "bdc3190"),
        *_means(("6", "a"), third, ninety_percent, three, second, "af27854", runs=5000),
        *_means(("6", "b"), quarter, quarters, four, third_cause, "bdc3190", runs=500),
    ]


def _priors() -> list[Series]:
    words = (
        "published distance, ε = 1, δ = 10⁻⁸, whiskers of 1.2 interquartile ranges,"
        " 1000 runs"
    )
    drawn = {name: (words, mechanism(name, 1.0)) for name in ("lapMech", "ilapMech")}
    drawn["expMech-delta"] = (words, slipped_delta(1.0))
    return _means(
        ("6", "prior"), boxed, boxed, drawn, METRIC_CAUSE, "90d6440", whisker=1.2
    )


def _losses() -> list[Series]:
    def drawing(words: str, divisor: float | None, metric: str) -> Drawing:
        return values(words, loss_next_to_the_corners(divisor, metric))

    words = "Hellinger distance, weight ε H / 4S, near-corner pairs"
    caption = drawing(words, None, "hellinger")
    until = drawing("published distance, weight ε H / 4S", None, "published")
    since = drawing("published distance, weight ε H / 2S", 2.0, "published")
    cause = METRIC_CAUSE + "; only pairs next to the corners"
    later = "weight ε H / 2S; " + cause
    return [
        Series(
            "D",
            "7",
            "until-3978d2b",
            "actual epsilon",
            caption,
            until,
            cause,
            "90d6440",
        ),
        Series(
            "D", "7", "from-3978d2b", "actual epsilon", caption, since, later, "3978d2b"
        ),
    ]


def paper_series() -> list[Series]:
    """Return the series of D's figures."""
    probabilities = [
        series for panel in PROBABILITIES for series in _probabilities(panel)
    ]
    return [*_sensitivities(), *probabilities, *_growth(), *_priors(), *_losses()]


def probabilities_as_drawn(
    figure: str, panel: str, shown: int
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return the nearest distances and their probabilities of each curve of a panel as
    drawn.
    """
    epsilon, counts, _, _ = PROBABILITIES[figure, panel]
    found = {
        name: probabilities_of_distances(one, counts, hellinger_published)
        for name, one in six_mechanisms(epsilon, len(counts)).items()
    }
    return {name: (c[:shown], p[:shown]) for name, (c, p) in found.items()}


def raw_drawing(raw: RawMean) -> Drawing:
    """Return the drawing of a mean of the authors' raw runs: Figures 5 and 6a at
    epsilon 1.
    """
    data = at_shares(0.5, 0.5) if raw.k == 2 else at_shares(0.3, 0.3, 0.4)
    noise = SequentialLaplace(
        1.0, float(raw.k if raw.mechanism == "lapMech" else raw.k - 1)
    )
    used = slipped_delta(1.0) if raw.mechanism == "expMech-delta" else noise
    return releases(
        "published distance, ε = 1", used, data, hellinger_published, raw.runs
    )
