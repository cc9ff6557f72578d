"""The files of a release: JSON with a versioned schema, CSV, and a page that needs nothing else."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dpbayes.releasing.analysis import LEVEL
from dpbayes.releasing.citations import cited

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0; background: white; padding: .5rem; }
figure svg { width: 100%; height: auto; }
.wide { overflow-x: auto; }
th[colspan] { text-align: center; }
.interval { white-space: nowrap; }
.facts td { text-align: left; vertical-align: top; overflow-wrap: anywhere; }
.facts td:first-child { width: 9rem; overflow-wrap: normal; }
.promise { border-left: 4px solid #0072B2; padding-left: 1rem; }
@media (max-width: 40rem) { figure { overflow-x: auto; } figure svg { min-width: 34rem; } }
pre { overflow-x: auto; font-size: .8rem; }
@media screen and (prefers-color-scheme: dark) {
  body { background: #161616; }
  figure { background: none; }
  figure svg { filter: invert(.914) hue-rotate(180deg); }
}
@media print {
  :root { color-scheme: light; }
  pre { white-space: pre-wrap; }
  body { margin: 0; max-width: none; font-size: 11pt; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .wide { overflow: visible; break-inside: avoid; }
}
"""

LARGEST_MEANING = 20.0

Rows = list[dict[str, Any]]


def rows_of(record: Mapping[str, Any]) -> Rows:
    """Return one row a cell: label, released count, share and interval of either reading.

    A reading that was not computed leaves its columns empty.
    """
    rows: Rows = []
    for i, label in enumerate(record["labels"]):
        row: dict[str, Any] = {"label": label, "released": record["counts"][i]}
        for name in ("noise_aware", "plain"):
            part = record.get("analysis", {}).get(name, {"missing": ""})
            there = "missing" not in part
            row[f"{name}_share"] = part["mean"][i] if there else None
            row[f"{name}_low"] = part["intervals"][i][0] if there else None
            row[f"{name}_high"] = part["intervals"][i][1] if there else None
        rows.append(row | _within(record, i))
    return rows


def _within(record: Mapping[str, Any], i: int) -> dict[str, Any]:
    """Return the columns of a cell within its group, where the release is by groups."""
    groups = record.get("groups")
    if groups is None:
        return {}
    place, inner = divmod(i, len(groups["within"]))
    part = record.get("analysis", {}).get("groups", {"missing": ""})
    aware = None if "missing" in part else part["panels"][place]["noise_aware"]
    low, high = (None, None) if aware is None else aware["intervals"][inner]
    share = None if aware is None else aware["mean"][inner]
    cell = {"group": groups["labels"][place], "category": groups["within"][inner]}
    return {**cell, "share_in_group": share, "low_in_group": low, "high_in_group": high}


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
    formula = isinstance(value, str) and re.match(r"[=@]|[+-](?![0-9.])", value)
    return f"'{value}" if formula else value


def html_text(record: Mapping[str, Any], figure: str = "", panels: Sequence[str] = ()) -> str:
    """Return the report as one page without scripts.

    `figure` is an SVG to stand in it, `panels` one SVG for each group, where there are groups.
    """
    title = f"Private release of {record['dataset']}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<div class="promise"><p>{html.escape(_meaning(record))}</p>',
        f"<p>In symbols: {_formula(record['guarantee'])}</p></div>",
        "<h2>What was released</h2>",
        f'<div class="wide">{_table(record)}</div>',
        f"<p>{html.escape(_reading(record))}</p>",
        f"<figure>{figure}</figure>" if figure else "",
        _panels(record, panels),
        "<h2>How good it is</h2>",
        f"<p>{html.escape(error_sentence(record))}</p>",
        "<h2>For a methods section</h2>",
        f"<p>{html.escape(methods(record))}</p>",
        "<h2>Particulars</h2>",
        _particulars(record),
        "<h2>How to cite</h2>",
        f"<pre>{html.escape(citation(record))}</pre>",
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def citation(record: Mapping[str, Any]) -> str:
    """Return BibTeX for the package, the release's mechanism, its sampler and its reading."""
    aware = record.get("analysis", {}).get("noise_aware", {"missing": ""})
    read = [] if "missing" in aware else ["noise-aware"]
    return cited([record["mechanism"]["name"], "release", *read])


def _formula(sentence: str) -> str:
    """Return the guarantee as HTML, its signs as they are printed in books."""
    signs = html.escape(sentence).replace("&lt;=", "≤").replace(" in S]", " ∈ S]")
    return re.sub(r"e\^([0-9.]+)", r"e<sup>\1</sup>", signs)


def methods(record: Mapping[str, Any]) -> str:
    """Return a paragraph to paste into a methods section."""
    slack = "" if record["delta"] == "0" else f" and delta {record['delta']}"
    size = "kept secret" if record["records"] is None else f"{record['records']:,}, public"
    prior = sorted(set(record["prior"]))
    shown = f"all {prior[0]:g}" if len(prior) == 1 else ", ".join(f"{v:g}" for v in record["prior"])
    return (
        f"Counts of {len(record['labels'])} categories ({', '.join(record['columns'])}) were "
        f"released once by the mechanism {_mechanism(record)} at epsilon "
        f"{record['epsilon']}{slack}, drawn in exact integer arithmetic from the "
        f"operating system's randomness. {record['guarantee']} The number of records is "
        f"{size}. Prior parameters: {shown}. Intervals are central {LEVEL:.0%} intervals; "
        "the noise-aware ones average over the counts that may have been the true ones."
    )


def error_sentence(record: Mapping[str, Any]) -> str:
    """Return the expected error in words, or why it is not there."""
    parts = record.get("analysis", {})
    part = parts.get("expected_distance", {"missing": "not asked for"})
    made_up = parts.get("simulated_distance", part)
    if "missing" in part and "missing" in made_up:
        return f"The expected error was not computed: {part['missing']}."
    value = f"{part['value']:.3g} on average" if "value" in part else _estimated(made_up)
    return (
        f"If the released counts were the true ones, the Hellinger distance between the released "
        f"and the true posterior would be {value} (0: the same, 1: nothing in common)."
    )


def _estimated(part: Mapping[str, Any]) -> str:
    return (
        f"{part['value']:.3g} on average, ± {part['error']:.1g}, the standard error of "
        f"{part['draws']} made-up releases"
    )


def _meaning(record: Mapping[str, Any]) -> str:
    epsilon = float(record["epsilon"])
    if epsilon > LARGEST_MEANING:
        return "At an epsilon this large the promise is of little worth to a person."
    if record["delta"] != "0":
        share = (math.exp(epsilon) + float(record["delta"])) / (1.0 + math.exp(epsilon))
        return (
            "Somebody who knows everything about the others and gives even odds to two values of "
            "one person's answer can tell them apart with a probability of at most "
            f"{math.ceil(share * 1000) / 10:.1f}%."
        )
    return (
        "Somebody who knows everything about the others and would give even odds on one person's "
        f"answer can come to odds of at most {math.exp(epsilon) + 0.005:.2f} to 1."
    )


def _reading(record: Mapping[str, Any]) -> str:
    part = record.get("analysis", {}).get("noise_aware", {"missing": "not asked for"})
    if "missing" not in part:
        return (
            "Read the noise-aware columns: they know how the noise was made. The plain ones take "
            "the released counts for the true ones, and are too sure of themselves."
        )
    return f"A noise-aware reading was not computed: {part['missing']}."


def _table(record: Mapping[str, Any]) -> str:
    interval = f'<th scope="col">{LEVEL:.0%} interval</th>'
    lines = [
        '<tr><th scope="col" rowspan="2">category</th><th scope="col" rowspan="2">released count'
        '</th><th scope="colgroup" colspan="2">noise-aware</th><th scope="colgroup" colspan="2">'
        f'plain</th></tr><tr>{2 * f"""<th scope="col">share</th>{interval}"""}</tr>'
    ]
    for row in rows_of(record):
        cells = f"<td>{html.escape(row['label'])}</td><td>{row['released']:,}</td>"
        for name in ("noise_aware", "plain"):
            share, ends = _number(row[f"{name}_share"]), _interval(row, name)
            cells += f'<td>{share}</td><td class="interval">{ends}</td>'
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _panels(record: Mapping[str, Any], figures: Sequence[str]) -> str:
    """Return one table a group: its own number of records and the shares within it."""
    if record.get("groups") is None:
        return ""
    part = record.get("analysis", {}).get("groups", {"missing": "not asked for"})
    parts = [f"<h2>{html.escape(record['columns'][1])} by {html.escape(record['by'])}</h2>"]
    if "missing" in part:
        return f"{parts[0]}<p>Not computed: {html.escape(part['missing'])}.</p>"
    for place, panel in enumerate(part["panels"]):
        low, high = panel["records"]
        parts.append(
            f"<h3>{html.escape(panel['label'])}</h3><p>{panel['released']:,} records released in "
            f"this group; with the noise in mind {low:,} to {high:,} ({LEVEL:.0%}).</p>"
        )
        inside = {
            "labels": record["groups"]["within"],
            "counts": panel_counts(record, panel["label"]),
            "analysis": {"noise_aware": panel["noise_aware"], "plain": panel["plain"]},
        }
        parts.append(f'<div class="wide">{_table(inside)}</div>')
        if place < len(figures):
            parts.append(f"<figure>{figures[place]}</figure>")
    return "\n".join(parts)


def panel_counts(record: Mapping[str, Any], label: str) -> list[int]:
    """Return the released counts of one group."""
    groups = record["groups"]
    size, place = len(groups["within"]), groups["labels"].index(label)
    return list(record["counts"][place * size : (place + 1) * size])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None else f"{low:.4f} to {high:.4f}"


def _delta_lines(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    if record["delta"] == "0":
        return []
    taken, left, bound = (record[f"delta_{name}"] for name in ("cost", "balance", "bound"))
    return [("Cost in delta", f"{taken} of {bound}; {left} left")]


def _particulars(record: Mapping[str, Any]) -> str:
    size = "secret" if record["records"] is None else f"{record['records']:,}"
    listed: Sequence[tuple[str, str]] = [
        ("Request", record["request"]),
        ("Mechanism", _mechanism(record)),
        ("Prior", ", ".join(f"{value:g}" for value in record["prior"])),
        ("Number of records", size),
        ("Cost", f"{record['cost']} of {record['bound']}; {record['balance']} left"),
        *_delta_lines(record),
        ("Receipt", record["receipt"]),
    ]
    rows = "".join(
        f"<tr><td>{name}</td><td>{html.escape(value)}</td></tr>" for name, value in listed
    )
    return f'<table class="facts">{rows}</table>'


def _mechanism(record: Mapping[str, Any]) -> str:
    described = record["mechanism"]
    options = (f"{name} {value}" for name, value in described["options"].items())
    return ", ".join([described["name"], *options])
