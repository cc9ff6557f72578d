"""The files of a release: JSON with a versioned schema, CSV, and a page that needs
nothing else.
"""

from __future__ import annotations

import csv
import html
import io
import re
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

LEVEL = 0.95
_READINGS = {"noise-aware": "noise_aware", "plain": "plain"}


def rows_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row a cell: label, released count, share and interval of each reading,
    or None.
    """
    rows = []
    for i, label in enumerate(record["labels"]):
        row: dict[str, Any] = {"label": label, "released": record["counts"][i]}
        for name in _READINGS.values():
            part = _part(record, name)
            missing = "missing" in part
            values = (
                (None,) * 3 if missing else (part["mean"][i], *part["intervals"][i])
            )
            row |= zip(
                (f"{name}_share", f"{name}_low", f"{name}_high"), values, strict=True
            )
        rows.append(row)
    return rows


def _part(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = record.get("analysis", {}).get(
        name, {"missing": "not asked for"}
    )
    return found


def csv_text(record: Mapping[str, Any]) -> str:
    """Return one line a cell; no label can be taken for a formula by a spreadsheet."""
    rows, stream = rows_of(record), io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        formula = re.match(r"\s*([=@]|[+-](?![0-9.]))", row["label"])
        writer.writerow(
            row | {"label": f"'{row['label']}" if formula else row["label"]}
        )
    return stream.getvalue()


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
            aware=_part(record, "noise_aware"),
            figure=drawing(record) if drawn else "",
            error=error_sentence(record),
            mechanism=mechanism_text(record["mechanism"]),
            prior=[f"{value:g}" for value in record["prior"]],
        )
    )


def error_sentence(record: Mapping[str, Any]) -> str:
    """Return the expected error in words, or why it is not there."""
    part = _part(record, "expected_distance")
    if "missing" in part:
        return f"The expected error was not computed: {part['missing']}."
    return (
        "If the released counts were the true ones, the Hellinger distance between the"
        f" released and the true posterior would be {distance_text(part)} on average"
        " (0: the same, 1: nothing in common)."
    )


def distance_text(part: Mapping[str, Any]) -> str:
    """Return a mean distance, with its standard error where it was found by draws."""
    error = f" ± {part['error']:.1g}" if "error" in part else ""
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
    from dpbayes.figures.intervals import intervals
    from dpbayes.figures.theme import svg_bytes

    with warnings.catch_warnings():
        # The letters stand in the picture as letters: it is the reader's fonts that
        # count.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure, alt = intervals(record["labels"], readings, "share of the category")
        svg = svg_bytes(figure, salt=record["request"]).decode()
    return (
        f'<svg role="img" aria-label="{html.escape(alt)}"'
        + svg[svg.index("<svg") + 4 :]
    )


def mechanism_text(described: Mapping[str, Any]) -> str:
    """Return the name of a mechanism and its options."""
    options = (f"{name} {value}" for name, value in described["options"].items())
    return ", ".join([described["name"], *options])
