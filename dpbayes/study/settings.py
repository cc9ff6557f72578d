"""The settings of the printed curves, `published-settings.csv`, and their reader.

A row is one way to draw one curve: what is on its vertical axis, the program behind it,
the data at each place of the horizontal axis, and how many runs. The data card
`published-curves.txt` says what the columns hold and which words they take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbayes._validate import Floats
from dpbayes.accuracy import split
from dpbayes.auditing import audit_corners
from dpbayes.divergences import Metric, hellinger, hellinger_published
from dpbayes.laws.law import listed
from dpbayes.mechanisms import mechanism
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.curves import Data, Drawing, boxed, releases, values
from dpbayes.study.printed import table_of
from dpbayes.study.programs import (
    OlderLaplace,
    RepairedLaplace,
    SequentialLaplace,
    drafted_delta,
    given_beta,
    given_global,
    notes_program,
)
from dpbayes.study.sampling import Distances
from dpbayes.study.scores import score_changes

METRICS: Mapping[str, Metric] = {
    "hellinger": hellinger,
    "published": hellinger_published,
}
PROGRAMS: Mapping[str, Callable[..., Any]] = {
    "global sensitivity given": given_global,
    "beta given": given_beta,
    "drafted delta": drafted_delta,
    "notes": notes_program,
    "sequential Laplace": SequentialLaplace,
    "older Laplace": OlderLaplace,
    "repaired Laplace": RepairedLaplace,
}
"""Programs that are not the papers' mechanisms, by their names in the table."""


class Setting(NamedTuple):
    """A row of the table: texts, a column each; empty where a column says nothing.

    `drawing` is "caption" for the document's own settings, "drawn" for those of the
    picture, "one setting" where one of them is as the document `says` and not as the
    program `drew`, and "run again" for the authors' raw runs.
    """

    document: str
    figure: str
    panel: str
    curve: str
    drawing: str
    quantity: str
    program: str
    epsilon: str
    options: str
    data: str
    prior: str
    metric: str
    runs: str
    whisker: str
    settings: str
    why: str
    commit: str
    says: str
    drew: str

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Document, figure, panel and curve."""
        return self.document, self.figure, self.panel, self.curve

    def made(self) -> Any:
        """Return the mechanism, or the program, of this row."""
        options = _options(self.options)
        if self.program in PROGRAMS:
            return PROGRAMS[self.program](epsilon=float(self.epsilon), **options)
        return mechanism(self.program, float(self.epsilon), **options)

    def at(self) -> Data:
        """Return counts and prior as a function of the place x on the axis."""
        return data_at(self.data, self.prior)

    def drawn(self) -> Drawing:
        """Return the drawing that this row describes."""
        # Rows that differ in words and runs alone share their laws.
        at = _at(self._replace(**dict.fromkeys(_SAME_LAWS, "")))
        return Drawing(self.settings, at, int(self.runs), float(self.whisker or 1.5))


_SAME_LAWS = (
    *("document", "figure", "panel", "curve", "drawing", "runs", "whisker"),
    *("settings", "why", "commit", "says", "drew"),
)
"""Columns that do not bear on the law of one run."""


@lru_cache(maxsize=1)
def settings() -> tuple[Setting, ...]:
    """Return the rows of the table, documents in the order D, A, B, C.

    >>> settings()[0].settings
    'hellinger distance, n = 99'
    """
    return tuple(Setting(**row) for row in table_of("published-settings.csv"))


def _options(text: str) -> dict[str, Any]:
    """Return "delta=1e-8; distance=l1" as {"delta": 1e-8, "distance": "l1"}."""
    pairs = (part.split("=") for part in text.split("; ") if part)
    return {name: _value(value) for name, value in pairs}


def _value(text: str) -> int | float | str:
    """Return a text as the whole number or the number that it is, or else as it is."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def data_at(data: str, prior: str = "") -> Data:
    """Return counts and prior at a place x, as a column `data` of the table says.

    "label" reads them off x, such as "5/5/5|prior 3"; "counts 300/300" are the same at
    every x. Otherwise x is a number n of records, in parts: "shares 0.5/0.5" sum to n;
    "rounded shares" are rounded one by one and "cut shares" cut down to whole records,
    as two programs did; "stretched shares" sum to 14 000 to 20 000 records where the
    axis has 1000 to 2000. `prior` "7/4" are the prior's parameters, flat where empty.

    >>> data_at("rounded shares 0.3/0.3/0.3")("100")
    ([30, 30, 30], [1.0, 1.0, 1.0])
    """
    if data == "label":
        return boxed
    kind, _, parts = data.rpartition(" ")
    numbers = [float(part) for part in parts.split("/")]
    parameters = [float(a) for a in prior.split("/")] if prior else [1.0] * len(numbers)

    def counts(x: str) -> ArrayLike:
        if kind == "counts":
            return [int(number) for number in numbers]
        n = int(x)
        if kind == "rounded shares":
            return [round(share * n) for share in numbers]
        if kind == "cut shares":
            return [int(share * n) for share in numbers]
        return split(
            14000 + 6 * (n - 1000) if kind == "stretched shares" else n, numbers
        )

    return lambda x: (counts(x), parameters)


@cache
def _at(row: Setting) -> Callable[[str], Distances]:
    """Return the law of what a row has on its vertical axis as a function of x."""
    if row.quantity == "distance":
        return releases("", row.made(), row.at(), METRICS[row.metric]).at
    return values("", QUANTITIES[row.quantity](row)).at


def _neighbours_distance(row: Setting) -> Callable[[str], float]:
    """Return the distance of the posteriors of x + 1 and x ones among n, flat prior."""
    metric, n = METRICS[row.metric], float(row.data.removeprefix("total "))

    def distance(x: str) -> float:
        a = float(x) + 1.0
        return float(metric([a + 1.0, n + 1.0 - a], [a, n + 2.0 - a]))

    return distance


def _score_change(row: Setting) -> Callable[[str], float]:
    """Return the largest one-sided change of the score of a candidate "31/12/7"."""

    @lru_cache(maxsize=1)
    def changes() -> dict[str, float]:
        outputs, largest = score_changes(*row.at()(""), one_sided=True)
        labels = ["/".join(map(str, output)) for output in outputs.tolist()]
        return dict(zip(labels, largest.tolist(), strict=True))

    return lambda x: changes()[x]


def _probability(row: Setting) -> Callable[[str], float]:
    """Return P[H = c] as a function of c, under the row's flat prior."""
    counts, _ = row.at()("")
    return mass_at(row.made(), counts, METRICS[row.metric])


def _actual_epsilon(row: Setting) -> Callable[[str], float]:
    """Return the largest loss among x records, over pairs next to the corners."""
    prior = [float(a) for a in row.prior.split("/")]
    return lambda x: audit_corners(row.made(), int(x), prior).loss


QUANTITIES: Mapping[str, Callable[[Setting], Callable[[str], float]]] = {
    "neighbours": _neighbours_distance,
    "score change": _score_change,
    "probability": _probability,
    "actual epsilon": _actual_epsilon,
}
"""What stands on a vertical axis and is not sampled, by its name in the table."""


def probabilities_of_distances(
    program: Mechanism, counts: ArrayLike, metric: Metric
) -> tuple[Floats, Floats]:
    """Return the distinct distances of the outputs, increasing, and the probability of
    each, shape (m,); `counts` (k,), flat prior.
    """
    law = program.law(counts, np.ones(np.size(counts)))
    return listed(law, "the probability of a distance").distance_distribution(metric)


def mass_at(
    program: Mechanism, counts: ArrayLike, metric: Metric = hellinger_published
) -> Callable[[str], float]:
    """Return P[H = c] as a function of c, at the candidates' distance that is next to
    it; `counts` (k,), flat prior.
    """
    table = lru_cache(maxsize=1)(
        lambda: probabilities_of_distances(program, counts, metric)
    )

    def probability(c: str) -> float:
        distances, masses = table()
        return float(masses[np.argmin(np.abs(distances - float(c)))])

    return probability
