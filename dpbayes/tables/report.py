"""The files of a release: JSON with a versioned schema, CSV, and a page that needs nothing else."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from dpbayes.tables.citations import cited

LEVEL = 0.95
MOST_DRAWN = 24
"""Intervals that a figure can hold."""

_READINGS = {"noise-aware": "noise_aware", "plain": "plain"}


def rows_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row a cell: label, released count, share and interval of either reading.

    Where the release is by groups the shares within them come last. A reading that was not computed
    leaves its columns empty.
    """
    groups, rows = record.get("groups"), []
    for i, label in enumerate(record["labels"]):
        row: dict[str, Any] = {"label": label, "released": record["counts"][i]}
        for name in _READINGS.values():
            values = _share(_part(record, name), i)
            row |= zip((f"{name}_share", f"{name}_low", f"{name}_high"), values, strict=True)
        if groups is not None:
            place, inner = divmod(i, len(groups["within"]))
            row |= {"group": groups["labels"][place], "category": groups["within"][inner]}
            panels = _part(record, "groups").get("panels")
            values = _share(panels[place]["noise_aware"] if panels else {"missing": ""}, inner)
            names = ("share_in_group", "low_in_group", "high_in_group")
            row |= zip(names, values, strict=True)
        rows.append(row)
    return rows


def _share(part: Mapping[str, Any], i: int) -> tuple[float | None, ...]:
    return (None,) * 3 if "missing" in part else (part["mean"][i], *part["intervals"][i])


def _part(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = record.get("analysis", {}).get(name, {"missing": "not asked for"})
    return found


def json_text(record: Mapping[str, Any]) -> str:
    """Return the record as JSON."""
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def csv_text(record: Mapping[str, Any]) -> str:
    """Return one line a cell; no label can be taken for a formula by a spreadsheet."""
    rows = [{name: _no_formula(value) for name, value in row.items()} for row in rows_of(record)]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _no_formula(value: Any) -> Any:
    formula = isinstance(value, str) and re.match(r"\s*([=@]|[+-](?![0-9.]))", value)
    return f"'{value}" if formula else value


@cache
def template() -> Any:
    """Return the page with its blanks; asked for before payment, so that no library is missing."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = files("dpbayes").joinpath("data/report.html").read_text(encoding="utf-8")
    return environment.from_string(page)


def html_text(record: Mapping[str, Any], drawn: bool = False) -> str:
    """Return the report as one page without scripts, with its figures if they are `drawn`."""
    aware, groups = _part(record, "noise_aware"), _part(record, "groups")
    epsilon = float(record["epsilon"])
    odds = math.exp(min(epsilon, 100.0))
    sources = [record["mechanism"]["name"], "release"]
    if "missing" not in aware:
        sources.append("noise-aware")
    return str(
        template().render(
            r=record,
            level=f"{LEVEL:.0%}",
            rows=rows_of(record),
            epsilon=epsilon,
            who="record" if record["unit"] == "one record" else "person",
            odds=odds + 0.005,  # rounded up
            formula=_formula(record["guarantee"]),
            aware=aware,
            groups=groups,
            figure=drawing(record, "share of the category", record["request"]) if drawn else "",
            panels=[_panel(record, i, drawn) for i in range(len(groups.get("panels", ())))],
            error=error_sentence(record),
            methods=methods(record),
            mechanism=_mechanism(record),
            prior=", ".join(f"{value:g}" for value in record["prior"]),
            citation=cited(sources),
        )
    )


def _formula(sentence: str) -> Any:
    """Return the guarantee as HTML, its signs as they are printed in books."""
    from markupsafe import Markup

    signs = html.escape(sentence).replace("&lt;=", "≤").replace(" in S]", " ∈ S]")
    return Markup(re.sub(r"e\^([0-9.]+)", r"e<sup>\1</sup>", signs))


def methods(record: Mapping[str, Any]) -> str:
    """Return a paragraph to paste into a methods section."""
    secret = record["records"] is None
    size = "kept secret" if secret else f"{record['records']:,}, public"
    prior = [f"{value:g}" for value in record["prior"]]
    shown = f"all {prior[0]}" if len(set(prior)) == 1 else ", ".join(prior)
    return (
        f"Counts of {len(record['labels'])} categories ({', '.join(record['columns'])}) were "
        f"released once by the mechanism {_mechanism(record)} at epsilon "
        f"{record['epsilon']}, drawn in exact integer arithmetic from the "
        f"operating system's randomness. {record['guarantee']} The number of records is "
        f"{size}. Prior parameters: {shown}. Intervals are central {LEVEL:.0%} intervals; "
        "the noise-aware ones average over the counts that may have been the true ones "
        f"({'by draws' if secret else 'exact'})."
    )


def error_sentence(record: Mapping[str, Any]) -> str:
    """Return the expected error in words, or why it is not there."""
    exact, made_up = (_part(record, f"{how}_distance") for how in ("expected", "simulated"))
    if "missing" in exact and "missing" in made_up:
        return f"The expected error was not computed: {exact['missing']}."
    if "value" in exact:
        value = f"{exact['value']:.3g} on average"
    else:
        value = (
            f"{made_up['value']:.3g} on average, ± {made_up['error']:.1g}, the standard error of "
            f"{made_up['draws']} made-up releases"
        )
    return (
        "If the released counts were the true ones, the Hellinger distance between the released "
        f"and the true posterior would be {value} (0: the same, 1: nothing in common)."
    )


def _panel(record: Mapping[str, Any], place: int, drawn: bool) -> dict[str, Any]:
    """Return one group: its own number of records and the shares within it."""
    within = record["groups"]["within"]
    panel = _part(record, "groups")["panels"][place]
    counts = record["counts"][place * len(within) : (place + 1) * len(within)]
    inside = {"labels": within, "counts": counts, "analysis": panel}
    xlabel, salt = f"share within {panel['label']}", f"{record['request']}-{place}"
    figure = drawing(inside, xlabel, salt) if drawn else ""
    return {**panel, "rows": rows_of(inside), "figure": figure}


def drawing(record: Mapping[str, Any], xlabel: str, salt: str) -> str:
    """Return intervals as SVG with its alternative text; `salt` keeps its marks its own."""
    parts = {label: _part(record, name) for label, name in _READINGS.items()}
    readings: dict[str, Sequence[Any]] = {
        label: part["intervals"] for label, part in parts.items() if "missing" not in part
    }
    if not readings or len(record["labels"]) > MOST_DRAWN:
        return ""
    from dpbayes.figures.intervals import intervals
    from dpbayes.figures.theme import svg_bytes

    with warnings.catch_warnings():
        # The letters stand in the picture as letters: it is the reader's fonts that count.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure, alt = intervals(record["labels"], readings, xlabel)
        svg = svg_bytes(figure, salt=salt).decode()
    return f'<svg role="img" aria-label="{html.escape(alt)}"' + svg[svg.index("<svg") + 4 :]


def _mechanism(record: Mapping[str, Any]) -> str:
    described = record["mechanism"]
    options = (f"{name} {value}" for name, value in described["options"].items())
    return ", ".join([described["name"], *options])
