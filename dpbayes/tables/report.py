"""The files of a release: JSON with a versioned schema, CSV, and a page that needs
nothing else.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from dpbayes.laws.numbers import Estimate
from dpbayes.tables.shares import NOISE, PRIOR
from dpbayes.tables.units import counted

LEVEL = 0.95
MARKS = {NOISE: " *", PRIOR: " †", "": ""}
_READINGS = {"noise-aware": "noise_aware", "plain": "plain"}


def rows_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row a cell, None where nothing was read.

    label, released count, drawn share; ends of the intervals for the population, for
    the table itself, and of those that forget the noise; why the first is doubted.
    """
    aware, plain = (_part(record, name) for name in _READINGS.values())
    blank = [None] * len(record["labels"])
    pairs = [(None, None)] * len(blank)
    columns = zip(
        record["labels"],
        record["counts"],
        aware.get("shares", blank),
        aware.get("intervals", pairs),
        aware.get("table_intervals", pairs),
        plain.get("intervals", pairs),
        aware.get("doubts", blank),
        strict=True,
    )
    return [
        {
            "label": label,
            "released": released,
            "share": share,
            "population_low": population[0],
            "population_high": population[1],
            "table_low": table[0],
            "table_high": table[1],
            "plain_low": plain_ends[0],
            "plain_high": plain_ends[1],
            "doubt": doubt,
        }
        for label, released, share, population, table, plain_ends, doubt in columns
    ]


def decimals(record: Mapping[str, Any]) -> int:
    """Return how many decimals of the intervals hold: rounding moves an end by less
    than a twentieth of the narrowest interval.
    """
    part = _part(record, "noise_aware")
    ends = [*part.get("intervals", []), *part.get("table_intervals", [])]
    width = min((high - low for low, high in ends if high > low), default=0.01)
    return min(max(math.ceil(-math.log10(width)) + 1, 2), 9)


def reading_sentences(record: Mapping[str, Any]) -> list[str]:
    """Return what the intervals are for, what they rest on, and which are doubted."""
    part = _part(record, "noise_aware")
    if "missing" in part:
        return [f"The release was not read with its noise in mind: {part['missing']}."]
    told = [
        f"Each interval holds its share with probability {LEVEL:.0%}, the noise"
        " counted in. Those for the table are for the shares among the records that"
        " were counted. Those for the population are for the shares among all those of"
        " whom the records are a random sample; of a census, which holds everybody, or"
        " of a table that is no random sample, use those for the table.",
        (
            "They take the plan's prior to be known beforehand."
            if record.get("prior_stated", False)
            else "Each share is read on its own, and beforehand any share is equally"
            " likely"
            + ("" if record["records"] is not None else ", and any number of records")
            + ". So the shares need not add up to 1."
        ),
    ]
    if (keep := record["records_of_a_person"]) > 1:
        effect = record["design_effect"]
        told.append(
            f"Up to {keep} records of one person count. The design effect that the"
            f" intervals for the population allow for is {effect:g}: so many records"
            " are worth one independent record."
        )
    if part["on_average"]:
        told.append(
            "The mechanism chooses among all histograms. So an interval holds with its"
            " probability on average over all shares, and may miss a single share far"
            " more often."
        )
    doubts = part["doubts"]
    if n := doubts.count(NOISE):
        told.append(
            f"{counted(n, 'interval')} marked * for the population"
            f" {'holds' if n == 1 else 'hold'} more than half of all shares: the noise"
            " hides them."
        )
    if n := doubts.count(PRIOR):
        told.append(
            f"{counted(n, 'interval')} marked † {'is' if n == 1 else 'are'} decided by"
            " the plan's prior rather than by the release. release.json has those"
            " without it, beforehand any share being equally likely; use them unless"
            " you can defend the prior."
        )
    return told


def _part(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = record.get("analysis", {}).get(
        name, {"missing": "not asked for"}
    )
    return found


def within_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row a cell with its share within its value of the first column and the
    ends of both intervals, [] where there is one column or nothing was read.
    """
    part = _part(record, "within")
    if "missing" in part:
        return []
    parts = part["shares"], part["intervals"], part["table_intervals"]
    return [
        {
            "cell": cell,
            "within_share": share,
            "within_population_low": population[0],
            "within_population_high": population[1],
            "within_table_low": table[0],
            "within_table_high": table[1],
        }
        for cell, share, population, table in zip(record["cells"], *parts, strict=True)
    ]


def csv_text(record: Mapping[str, Any]) -> str:
    """Return one line a cell and one variable a column, the noise's law among them.

    No value can be taken for a formula by a spreadsheet.
    """
    stream, noise = io.StringIO(), record["noise"] or {}
    writer = csv.writer(stream, lineterminator="\n")
    rows, more = rows_of(record), within_rows(record)
    numbers = [name for name in rows[0] if name != "label"]
    others = [name for name in more[0] if name != "cell"] if more else []
    names = [*map(_harmless, record["columns"]), *numbers, *others, *_NOISE.values()]
    writer.writerow(names)
    for i, (cell, row) in enumerate(zip(record["cells"], rows, strict=True)):
        found = [row[name] for name in numbers] + [more[i][name] for name in others]
        law = [noise.get(name, "") for name in _NOISE]
        writer.writerow([*map(_harmless, cell), *found, *law])
    return stream.getvalue()


_NOISE = {
    "law": "noise_law",
    "scale": "noise_scale",
    "standard_deviation": "noise_standard_deviation",
}


def _harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if re.match(r"\s*([=@]|[+-](?![0-9.]))", text) else text


def noise_sentence(noise: Mapping[str, Any] | None) -> str:
    """Return the law of the noise in words, with its numbers."""
    if noise is None:
        return "No noise is added to counts: the released histogram is drawn."
    return (
        f"The noise of the counts is {noise['law']}; scale {noise['scale']:.6g},"
        f" standard deviation of one count {noise['standard_deviation']:.4g} records."
    )


@cache
def template() -> Any:
    """Return the page with its blanks; asked for before payment, so that no library is
    missing.
    """
    import jinja2

    page = files("dpbayes").joinpath("data/report.html").read_text(encoding="utf-8")
    return jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined
    ).from_string(page)


def html_text(record: Mapping[str, Any], drawn: bool = False) -> str:
    """Return the report as one page without scripts, with its figure if it is
    `drawn`."""
    # The guarantee with its signs as they are printed in books.
    signs = (
        html.escape(record["guarantee"])
        .replace("&lt;=", "≤")
        .replace(" in S]", " ∈ S]")
    )
    return str(
        template().render(
            r=record,
            level=f"{LEVEL:.0%}",
            rows=rows_of(record),
            formula=re.sub(r"e\^([0-9.]+)", r"e<sup>\1</sup>", signs),
            figure=drawing(record) if drawn else "",
            reading=reading_sentences(record),
            decimals=decimals(record),
            marks=MARKS,
            error=error_sentence(record),
            within=within_rows(record),
            noise=noise_sentence(record["noise"]),
            mechanism=mechanism_text(record["mechanism"]),
            prior=[f"{value:g}" for value in record["prior"]],
        )
    )


def error_sentence(record: Mapping[str, Any]) -> str:
    """Return the error of the largest count in records, and the distance of all shares
    together, in words, or why they are not there.
    """
    part, joint = (_part(record, name) for name in ("count_error", "expected_distance"))
    if "missing" in part:
        told = f"The error of a count was not computed: {part['missing']}."
    else:
        told = f"{part['sentence']} {part['advice']}"
    if "missing" in joint:
        return f"{told} The mean distance was not computed: {joint['missing']}."
    return (
        f"{told} If the released counts were the true ones, the mean Hellinger distance"
        " between the released and the true posterior would be"
        f" {distance_text(joint)} for all {len(record['labels'])} shares together"
        + (f", and {part['distance']:.3g} for this one." if "distance" in part else ".")
    )


def distance_text(part: Mapping[str, Any]) -> str:
    """Return a mean distance, with four standard errors where it was found by draws."""
    drawn = Estimate(part["value"], part.get("error", 0.0), "drawn")
    error = f" ± {drawn.error_text} (four standard errors)" if drawn.error else ""
    return f"{part['value']:.3g}{error}"


def drawing(record: Mapping[str, Any]) -> str:
    """Return intervals as SVG with its alternative text, "" where there are none or too
    many.
    """
    found = {
        label: _part(record, name).get("intervals") for label, name in _READINGS.items()
    }
    readings = {
        label: intervals for label, intervals in found.items() if intervals is not None
    }
    if not readings or len(record["labels"]) > 24:
        return ""
    from dpbayes.figures.alternative import alternative_text
    from dpbayes.figures.intervals import intervals
    from dpbayes.figures.theme import legend, restored, subplots, svg_bytes

    with restored():
        figure, axes = subplots(height=0.6 + 0.32 * len(record["labels"]))
        intervals(axes, record["labels"], readings)
        axes.set(xlabel="share of the category")
        legend(figure)
        alt = alternative_text(figure)
        svg = svg_bytes(figure, salt=record["request"]).decode()
    return (
        f'<svg role="img" aria-label="{html.escape(alt)}"'
        + svg[svg.index("<svg") + 4 :]
    )


def mechanism_text(described: Mapping[str, Any]) -> str:
    """Return the name of a mechanism and its options."""
    options = (f"{name} {value}" for name, value in described["options"].items())
    return ", ".join([described["name"], *options])
