"""Document D, the full paper: Figures 1 to 7, under their captions and as they were drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.accuracy import split
from dpbayes.auditing import audit_corners
from dpbayes.divergences import Metric, hellinger, hellinger_published
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import listed
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.reproduction.abstract import METRIC_CAUSE, at_shares
from dpbayes.study.reproduction.drawing import Drawing, Series, boxed, releases, values
from dpbayes.study.reproduction.noise import SequentialLaplace
from dpbayes.study.reproduction.notes import change_of
from dpbayes.study.reproduction.points import RawMean, published_points
from dpbayes.study.reproduction.programs import given_beta, given_global

DELTA = 1e-8
CURVES = ("lapMech", "ilapMech", "expMech-delta")
DELTA_CAUSE = "the curve is expMech-delta, not the mechanism of Definition 4"


def slipped_delta(epsilon: float) -> Mechanism:
    """Return expMech-delta as D's programs had it: published distance, 2n in gamma."""
    options = {"delta": DELTA, "failure_term": "2n", "metric": "published"}
    return mechanism("expMech-delta", epsilon, **options)


def _growth(
    panel: tuple[str, str],
    shares: ArrayLike,
    drawn: Mapping[str, Mechanism],
    data: Callable[[str], tuple[ArrayLike, ArrayLike]],
    words: Mapping[str, str],
    runs: int,
    commit: str,
) -> list[Series]:
    k = np.size(shares)
    said = "Hellinger distance, ε = 1, expMech-smooth of Definition 4, 1000 runs"
    right = {"lapMech": "lapMech", "ilapMech": "ilapMech", "expMech-delta": "expMech-smooth"}
    caption = at_shares(shares, [1.0] * k)
    return [
        Series(
            "D", *panel, curve, releases(said, mechanism(right[curve], 1.0), caption),
            releases(words[curve], drawn[curve], data, hellinger_published, runs),
            words["cause"] + (f"; {DELTA_CAUSE}" if curve == "expMech-delta" else ""), commit,
        )
        for curve in CURVES
    ]  # fmt: skip


def _balanced() -> list[Series]:
    drawn = {name: mechanism(name, 0.8) for name in ("lapMech", "ilapMech")}
    words = dict.fromkeys(CURVES, "published distance, ε = 0.8, δ = 10⁻⁸, γ with ln(δ/2n)")
    words["cause"] = "ε = 0.8, as the picture's first file name says; " + METRIC_CAUSE
    everything = {**drawn, "expMech-delta": slipped_delta(0.8)}
    data = at_shares([0.5, 0.5], [1.0, 1.0])
    return _growth(("5", ""), [0.5, 0.5], everything, data, words, 1000, "bdc3190")


def ninety_percent(x: str) -> tuple[ArrayLike, ArrayLike]:
    """Return the data of D's Figure 6a at "x records": three shares of 0.3, which make 0.9 x."""
    return [round(0.3 * int(x))] * 3, [1.0] * 3


def quarters(x: str) -> tuple[ArrayLike, ArrayLike]:
    """Return the data of D's Figure 6b at "x records": four whole parts of a quarter."""
    return [int(0.25 * int(x))] * 4, [1.0] * 4


def _more_categories() -> list[Series]:
    noise = {"lapMech": SequentialLaplace(1.0, 3.0), "ilapMech": SequentialLaplace(1.0, 2.0)}
    drawn: dict[str, Mechanism] = {**noise, "expMech-delta": slipped_delta(1.0)}
    three = dict.fromkeys(CURVES, "published distance, shares 0.3/0.3/0.3, ε = 1, 5000 runs")
    three["cause"] = "shares that sum to 0.9: 90 records at 100; " + METRIC_CAUSE
    four = dict.fromkeys(CURVES, "published distance, ε = 1, 500 runs")
    four["lapMech"] = "published distance, noise 3/ε, ε = 1, 500 runs"
    four["cause"] = "noise 3/ε where the legend says 4/ε; " + METRIC_CAUSE
    a = _growth(("6", "a"), [0.3, 0.3, 0.4], drawn, ninety_percent, three, 5000, "af27854")
    return a + _growth(("6", "b"), [0.25] * 4, drawn, quarters, four, 500, "bdc3190")


def _priors() -> list[Series]:
    right = {"lapMech": "lapMech", "ilapMech": "ilapMech", "expMech-delta": "expMech-smooth"}
    drawn: dict[str, Mechanism] = {
        "lapMech": mechanism("lapMech", 1.0),
        "ilapMech": mechanism("ilapMech", 1.0),
        "expMech-delta": slipped_delta(1.0),
    }
    said = "Hellinger distance, ε = 1, expMech-smooth of Definition 4, 1000 runs"
    done = "published distance, ε = 1, δ = 10⁻⁸, whiskers of 1.2 interquartile ranges, 1000 runs"
    return [
        Series(
            "D", "6", "prior", curve, releases(said, mechanism(right[curve], 1.0), boxed),
            releases(done, drawn[curve], boxed, hellinger_published, 1000, 1.2),
            METRIC_CAUSE + (f"; {DELTA_CAUSE}" if curve == "expMech-delta" else ""), "90d6440",
        )
        for curve in CURVES
    ]  # fmt: skip


def mass_at(
    law: Mechanism, counts: ArrayLike, prior: ArrayLike, metric: Metric = hellinger_published
) -> Callable[[str], float]:
    """Return P[H = c] as a function of c, at the candidates' distance that is next to it."""

    @lru_cache(maxsize=1)
    def table() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return probabilities_of_distances(law, counts, prior, metric)

    def value(x: str) -> float:
        distances, masses = table()
        return float(masses[np.argmin(np.abs(distances - float(x)))])

    return value


def probabilities_of_distances(
    mechanism: Mechanism, counts: ArrayLike, prior: ArrayLike, metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct distances of the outputs, increasing, and the probability of each."""
    law = listed(mechanism.law(counts, prior), "the probability of a distance")
    x, alpha = _validate.counts_and_prior(counts, prior)
    return FiniteLaw(alpha, x, law.outputs, law.log_probabilities).distance_distribution(metric)


def six_mechanisms(epsilon: float, k: int, right: bool = False) -> dict[str, Mechanism]:
    """Return the six mechanisms of D's Figures 3 and 4 as drawn, or as the paper defines them."""
    if right:
        names = (
            "expMech",
            "expMech-local",
            "expMech-smooth",
            "expMech-delta",
            "lapMech",
            "ilapMech",
        )
        one, two, three, four, five, six = (mechanism(name, epsilon) for name in names)
    else:
        one = given_global(epsilon)
        two = mechanism("expMech-local", epsilon, metric="published", divisor=1.0)
        three = mechanism("expMech-smooth", epsilon, metric="published")
        four = given_beta(epsilon)
        five = SequentialLaplace(epsilon, float(k))
        six = SequentialLaplace(epsilon, 1.0 if k == 2 else 2.0)
    return {
        "expMech": one, "expMech-local": two, "M_H gamma (star)": three,
        "M_H smooth (circle)": four, "lapMech": five, "ilapMech": six,
    }  # fmt: skip


_WHY = {
    "expMech": "GS = sqrt(1 - π/4), the true distance of one record, with published scores",
    "expMech-local": "the exponent lacks the factor 2; " + METRIC_CAUSE,
    "M_H gamma (star)": METRIC_CAUSE,
    "M_H smooth (circle)": "β = 0.01 given, weight ε H / 4S; " + METRIC_CAUSE,
    "lapMech": "only the axis: " + METRIC_CAUSE,
    "ilapMech": "only the axis: " + METRIC_CAUSE,
}


_HOW = {
    "expMech": ", GS = sqrt(1 - π/4) as a number",
    "expMech-local": ", no factor 2",
    "M_H smooth (circle)": ", β = 0.01 as a number",
}


def _probabilities(panel: tuple[str, str]) -> list[Series]:
    drawn_epsilon, counts, epsilon, commit = PROBABILITIES[panel]
    k = len(counts)
    prior = [1.0] * k
    stated = split(sum(counts), [0.5, 0.5] if k == 2 else [0.33, 0.33, 0.34])
    right, wrong = six_mechanisms(epsilon, k, True), six_mechanisms(drawn_epsilon, k, False)
    said = f"Hellinger distance, ε = {epsilon:g}, x = {tuple(map(int, stated))}"
    done = f"published distance, ε = {drawn_epsilon:g}, x = {tuple(counts)}"
    other = f"ε = {drawn_epsilon:g}; " if drawn_epsilon != epsilon else ""
    read = {point.curve for point in published_points("D", *panel)}
    return [
        Series(
            "D", *panel, curve, values(said, mass_at(right[curve], stated, prior, hellinger)),
            values(done + _HOW.get(curve, ""), mass_at(wrong[curve], counts, prior)),
            other + _WHY[curve], commit,
        )
        for curve in wrong
        if curve in read
    ]  # fmt: skip


PROBABILITIES: Mapping[tuple[str, str], tuple[float, list[int], float, str]] = {
    ("3", "a"): (1.0, [300, 300], 1.0, "9f4e223"),
    ("3", "b"): (5.0, [200, 200, 200], 1.0, "d2f876f"),
    ("4", "a"): (5.0, [500, 500], 5.0, "9f4e223"),
    ("4", "b"): (5.0, [5000, 5000], 5.0, "9f4e223"),
}
"""Figures 3 and 4: epsilon and counts as drawn, epsilon of the caption, commit of the program."""

PLAIN = {"M_H gamma (star)": "expMech-smooth", "M_H smooth (circle)": "β given"}
"""What the stars and circles of Figures 3 and 4 are."""


def probabilities_as_drawn(
    figure: str, panel: str, shown: int
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return the nearest distances and their probabilities of each curve of a panel as drawn."""
    _validate.choice("figure", figure, ("3", "4"))
    _validate.choice("panel", panel, ("a", "b"))
    epsilon, counts, _, _ = PROBABILITIES[figure, panel]
    six, prior = six_mechanisms(epsilon, len(counts)), [1.0] * len(counts)
    found = {
        name: probabilities_of_distances(one, counts, prior, hellinger_published)
        for name, one in six.items()
    }
    return {name: (c[:shown], p[:shown]) for name, (c, p) in found.items()}


def loss_next_to_the_corners(divisor: float | None, metric: str) -> Callable[[str], float]:
    """Return the actual epsilon of expMech-smooth at x records, over pairs next to the corners."""
    smooth = mechanism("expMech-smooth", 1.0, metric=metric, divisor=divisor)
    return lambda x: audit_corners(smooth, int(x), [1.0, 1.0]).loss


def _losses() -> list[Series]:
    caption = values(
        "Hellinger distance, weight ε H / 4S, near-corner pairs",
        loss_next_to_the_corners(None, "hellinger"),
    )
    until = values(
        "published distance, weight ε H / 4S", loss_next_to_the_corners(None, "published")
    )
    since = values(
        "published distance, weight ε H / 2S", loss_next_to_the_corners(2.0, "published")
    )
    curve, cause = "actual epsilon", METRIC_CAUSE + "; only pairs next to the corners"
    return [
        Series("D", "7", "until-3978d2b", curve, caption, until, cause, "90d6440"),
        Series(
            "D", "7", "from-3978d2b", curve, caption, since, "weight ε H / 2S; " + cause, "3978d2b"
        ),
    ]


def _sensitivities() -> list[Series]:
    def along(metric: str) -> Drawing:
        step = hellinger if metric == "hellinger" else hellinger_published

        def value(x: str) -> float:
            a = float(x) + 1.0
            return float(step([a + 1.0, 100.0 - a], [a, 101.0 - a]))

        return values(f"{metric} distance, n = 99", value)

    said, done = along("hellinger"), along("published")
    first = "H(beta(a+1 b);beta(a b+1))"
    words = "x = (10, 20, 30), prior (2, 2, 2), neighbours x + e_i - e_j with i < j only"
    change = values(words, change_of((10, 20, 30), (2.0, 2.0, 2.0)))
    cause = "no settings are stated; half of the neighbours are tried, in the true distance"
    return [
        Series("D", "1", "", first, said, done, METRIC_CAUSE, "90d6440"),
        Series("D", "2", "", "max score change", None, change, cause, "efeea40"),
    ]


def paper_series() -> tuple[Series, ...]:
    """Return the series of D's figures."""
    return (
        *_sensitivities(),
        *(series for panel in PROBABILITIES for series in _probabilities(panel)),
        *_balanced(),
        *_more_categories(),
        *_priors(),
        *_losses(),
    )


def raw_drawing(raw: RawMean) -> Drawing:
    """Return the drawing of a mean of the authors' raw runs: Figures 5 and 6a at epsilon 1."""
    shares = [0.5, 0.5] if raw.k == 2 else [0.3, 0.3, 0.4]
    sensitivity = {"lapMech": float(raw.k), "ilapMech": raw.k - 1.0}
    used = (
        slipped_delta(1.0)
        if raw.mechanism == "expMech-delta"
        else SequentialLaplace(1.0, sensitivity[raw.mechanism])
    )
    data = at_shares(shares, [1.0] * raw.k)
    return releases("published distance, ε = 1", used, data, hellinger_published, raw.runs)
