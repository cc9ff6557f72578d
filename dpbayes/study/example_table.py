"""A made-up table of people, and what a release of it would look like: for pages, never
for use.

The draw here is seeded so that a page can be rebuilt. Whoever knows the seed can take
the noise off; a real release goes through `dpbayes.tables.release.release_table`, which
has no seed.
"""

from __future__ import annotations

import csv
import html
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbayes import _validate
from dpbayes.tables.analysis import parts_of
from dpbayes.tables.drawn import Release, draw
from dpbayes.tables.plan import Plan, read_plan
from dpbayes.tables.release import PaidRelease, planned_mechanism
from dpbayes.tables.report import html_text
from dpbayes.tables.table import count

ANSWERS = ("never", "rarely", "sometimes", "often", "always", "declined")
SHARES = (0.3, 0.25, 0.2, 0.14, 0.08, 0.01)
BLANKS = {"": 0.012, "NA": 0.008}
NO_ANSWER = "no answer"
HEIGHT = 620


class SeededBits:
    """Bits of a seeded generator: for pages that are rebuilt, never for a release."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = _validate.generator("rng", rng)

    def bits(self, count: int) -> int:
        """Return a uniform whole number below 2^count."""
        return int.from_bytes(self._rng.bytes((count + 7) // 8), "little") >> (
            -count % 8
        )


def _write_table(path: Path, rows: int, rng: np.random.Generator) -> None:
    labels = [*ANSWERS, *BLANKS]
    shares = np.array([*SHARES, *BLANKS.values()])
    drawn = rng.choice(len(labels), size=rows, p=shares / shares.sum())
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "smokes"])
        writer.writerows((i, labels[answer]) for i, answer in enumerate(drawn, 1))


def plan_text(epsilon: str, mechanism: str) -> str:
    """Return the plan of the example, eight lines."""
    listed = ", ".join(f'"{label}"' for label in (*ANSWERS, NO_ANSWER))
    return f"""dataset = "survey"
account = "survey.account"
unit = "record"
column = "smokes"
categories = [{listed}]
missing = "{NO_ANSWER}"
mechanism = "{mechanism}"
epsilon = "{epsilon}"
"""


@dataclass(frozen=True)
class Example:
    """A made-up table released as its plan says: `truth` (k,), the draw and its
    report."""

    plan: Plan
    truth: NDArray[np.int64]
    paid: PaidRelease
    record: dict[str, Any] = field(repr=False)

    def intervals(self, name: str) -> NDArray[np.float64]:
        """Return intervals, shape (k, 2): of the "table", of the "population", or
        "plain", which forget the noise.
        """
        part, key = {
            "table": ("noise_aware", "table_intervals"),
            "population": ("noise_aware", "intervals"),
            "plain": ("plain", "intervals"),
        }[name]
        return np.array(self.record["analysis"][part][key])

    def report(self) -> ShownReport:
        """Return the report as a page of its own, to be shown in a notebook."""
        return ShownReport(html_text(self.record, drawn=True))


@dataclass(frozen=True)
class ShownReport:
    """A report as a notebook shows it: a page inside the page."""

    page: str = field(repr=False)

    def _repr_html_(self) -> str:
        return (
            '<iframe title="Report of the example release" sandbox="" loading="lazy" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #8888" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )


def example(
    rows: int, epsilon: str, mechanism: str, rng: np.random.Generator
) -> Example:
    """Return the release of a made-up table of `rows` people, drawn from seeded bits.

    `epsilon` is decimal text, `mechanism` the name of one with a proved guarantee and a
    sampler.
    """
    size = _validate.integer("rows", rows, minimum=1)
    table_rng, draw_rng = rng.spawn(2)
    with tempfile.TemporaryDirectory() as folder:
        table, planned = Path(folder) / "people.csv", Path(folder) / "release.toml"
        _write_table(table, size, table_rng)
        planned.write_text(plan_text(epsilon, mechanism), encoding="utf-8")
        plan = read_plan(planned)
        truth = count(table, plan.attributes, plan.rules)
    chosen = planned_mechanism(plan)
    noisy, counts = draw(chosen, truth, plan.prior, SeededBits(draw_rng))
    private = Release(chosen, plan.prior, size, noisy, counts)
    receipt = f"survey 3 {'0' * 64}"
    cost, left, bound = (times * plan.epsilon for times in (1, 2, 3))
    paid = PaidRelease(plan, private, "example", receipt, cost, left, bound)
    record = paid.record()
    record["analysis"] = {name: compute() for name, compute in parts_of(record).items()}
    return Example(plan, truth, paid, record)
