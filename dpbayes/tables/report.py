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
from typing import Any

from dpbayes.tables.citations import cited

LEVEL = 0.95
MOST_DRAWN = 24
"""Intervals that a figure can hold."""

_LARGEST_MEANING = 20.0
_READINGS = {"noise-aware": "noise_aware", "plain": "plain"}
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Private release of {{ r.dataset }}</title><style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: right; }
th:first-child, td:first-child, .facts td { text-align: left; }
figure { margin: 1rem 0; background: white; padding: .5rem; overflow-x: auto; }
figure svg { width: 100%; height: auto; min-width: 20rem; }
.wide { overflow-x: auto; }
th[colspan] { text-align: center; }
.interval { white-space: nowrap; }
.facts td { vertical-align: top; overflow-wrap: anywhere; }
.facts td:first-child { width: 9rem; overflow-wrap: normal; }
.promise { border-left: 4px solid #0072B2; padding-left: 1rem; }
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
</style></head>
<body><main>
{% macro table(rows) %}<div class="wide"><table>
<tr><th scope="col" rowspan="2">category</th><th scope="col" rowspan="2">released count</th>
<th scope="colgroup" colspan="2">noise-aware</th><th scope="colgroup" colspan="2">plain</th></tr>
<tr>{% for _ in (1, 2) %}<th scope="col">share</th><th scope="col">{{ level }} interval</th>
{% endfor %}</tr>
{% for row in rows %}<tr><td>{{ row.label }}</td><td>{{ "{:,}".format(row.released) }}</td>
{% for name in ("noise_aware", "plain") %}{% set share = row[name + "_share"] %}
<td>{% if share is not none %}{{ "%.4f"|format(share) }}{% endif %}</td><td class="interval">
{%- if share is not none %}
{{- "%.4f to %.4f"|format(row[name + "_low"], row[name + "_high"]) }}{% endif %}</td>{% endfor %}
</tr>{% endfor %}
</table></div>{% endmacro %}
<h1>Private release of {{ r.dataset }}</h1>
<div class="promise"><p>{{ meaning }}</p>
<p>In symbols: {{ formula }}</p></div>
<h2>What was released</h2>
{{ table(rows) }}
<p>{{ reading }}</p>
{% if figure %}<figure>{{ figure|safe }}</figure>{% endif %}
{% if r.groups %}<h2>{{ r.columns[1] }} by {{ r.by }}</h2>
{% if missing %}<p>Not computed: {{ missing }}.</p>{% endif %}
{% for panel in panels %}<h3>{{ panel.label }}</h3><p>{{ panel.sentence }}</p>
{{ table(panel.rows) }}
{% if panel.figure %}<figure>{{ panel.figure|safe }}</figure>{% endif %}{% endfor %}{% endif %}
<h2>How good it is</h2>
<p>{{ error }}</p>
<h2>For a methods section</h2>
<p>{{ methods }}</p>
<h2>Particulars</h2>
<table class="facts">{% for name, value in facts %}
<tr><td>{{ name }}</td><td>{{ value }}</td></tr>{% endfor %}</table>
<h2>How to cite</h2>
<pre>{{ citation }}</pre>
</main></body></html>
"""

Rows = list[dict[str, Any]]


def rows_of(record: Mapping[str, Any]) -> Rows:
    """Return one row a cell: label, released count, share and interval of either reading.

    A reading that was not computed leaves its columns empty.
    """
    rows: Rows = []
    for i, label in enumerate(record["labels"]):
        row: dict[str, Any] = {"label": label, "released": record["counts"][i]}
        for name in _READINGS.values():
            part = _part(record, name)
            there = "missing" not in part
            row[f"{name}_share"] = part["mean"][i] if there else None
            row[f"{name}_low"] = part["intervals"][i][0] if there else None
            row[f"{name}_high"] = part["intervals"][i][1] if there else None
        rows.append(row | _within(record, i))
    return rows


def _part(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = record.get("analysis", {}).get(name, {"missing": "not asked for"})
    return found


def _within(record: Mapping[str, Any], i: int) -> dict[str, Any]:
    """Return the columns of a cell within its group, where the release is by groups."""
    groups = record.get("groups")
    if groups is None:
        return {}
    place, inner = divmod(i, len(groups["within"]))
    part = _part(record, "groups")
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
    formula = isinstance(value, str) and re.match(r"\s*([=@]|[+-](?![0-9.]))", value)
    return f"'{value}" if formula else value


@cache
def _template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ImportError("a report needs Jinja2: install dpbayes[tables]") from None
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_PAGE)


def ready() -> None:
    """Raise ImportError where the report's library is missing: before anything is paid."""
    _template()


def html_text(record: Mapping[str, Any], drawn: bool = False) -> str:
    """Return the report as one page without scripts, with its figures if they are `drawn`."""
    groups = _part(record, "groups")
    return str(
        _template().render(
            r=record,
            level=f"{LEVEL:.0%}",
            rows=rows_of(record),
            meaning=_meaning(record),
            formula=_formula(record["guarantee"]),
            reading=_reading(record),
            figure=_figure(record) if drawn else "",
            missing=groups.get("missing"),
            panels=[] if "missing" in groups else _panels(record, groups["panels"], drawn),
            error=error_sentence(record),
            methods=methods(record),
            facts=_facts(record),
            citation=citation(record),
        )
    )


def _formula(sentence: str) -> Any:
    """Return the guarantee as HTML, its signs as they are printed in books."""
    from markupsafe import Markup

    signs = html.escape(sentence).replace("&lt;=", "≤").replace(" in S]", " ∈ S]")
    return Markup(re.sub(r"e\^([0-9.]+)", r"e<sup>\1</sup>", signs))


def citation(record: Mapping[str, Any]) -> str:
    """Return BibTeX for the package, the release's mechanism, its sampler and its reading."""
    read = [] if "missing" in _part(record, "noise_aware") else ["noise-aware"]
    return cited([record["mechanism"]["name"], "release", *read])


def methods(record: Mapping[str, Any]) -> str:
    """Return a paragraph to paste into a methods section."""
    slack = "" if record["delta"] == "0" else f" and delta {record['delta']}"
    size = "kept secret" if record["records"] is None else f"{record['records']:,}, public"
    prior = sorted(set(record["prior"]))
    shown = f"all {prior[0]:g}" if len(prior) == 1 else ", ".join(f"{v:g}" for v in record["prior"])
    how = "exact" if record["records"] is not None else "by draws"
    return (
        f"Counts of {len(record['labels'])} categories ({', '.join(record['columns'])}) were "
        f"released once by the mechanism {_mechanism(record)} at epsilon "
        f"{record['epsilon']}{slack}, drawn in exact integer arithmetic from the "
        f"operating system's randomness. {record['guarantee']} The number of records is "
        f"{size}. Prior parameters: {shown}. Intervals are central {LEVEL:.0%} intervals; "
        f"the noise-aware ones average over the counts that may have been the true ones ({how})."
    )


def error_sentence(record: Mapping[str, Any]) -> str:
    """Return the expected error in words, or why it is not there."""
    exact, made_up = (_part(record, f"{how}_distance") for how in ("expected", "simulated"))
    if "missing" in exact and "missing" in made_up:
        return f"The expected error was not computed: {exact['missing']}."
    value = (
        f"{exact['value']:.3g} on average"
        if "value" in exact
        else f"{made_up['value']:.3g} on average, ± {made_up['error']:.1g}, the standard error of "
        f"{made_up['draws']} made-up releases"
    )
    return (
        f"If the released counts were the true ones, the Hellinger distance between the released "
        f"and the true posterior would be {value} (0: the same, 1: nothing in common)."
    )


def _meaning(record: Mapping[str, Any]) -> str:
    epsilon = float(record["epsilon"])
    who = "record" if record["unit"] == "one record" else "person"
    if epsilon > _LARGEST_MEANING:
        return f"At an epsilon this large the promise is of little worth to a {who}."
    if record["delta"] != "0":
        share = (math.exp(epsilon) + float(record["delta"])) / (1.0 + math.exp(epsilon))
        return (
            "Somebody who knows everything about the others and gives even odds to two values of "
            f"one {who}'s answer can tell them apart with a probability of at most "
            f"{math.ceil(share * 1000) / 10:.1f}%."
        )
    return (
        f"Somebody who knows everything about the others and would give even odds on one {who}'s "
        f"answer can come to odds of at most {math.exp(epsilon) + 0.005:.2f} to 1."
    )


def _reading(record: Mapping[str, Any]) -> str:
    part = _part(record, "noise_aware")
    if "missing" not in part:
        return (
            "Read the noise-aware columns: they know how the noise was made. The plain ones take "
            "the released counts for the true ones, and are too sure of themselves."
        )
    return f"A noise-aware reading was not computed: {part['missing']}."


def _panels(record: Mapping[str, Any], panels: Sequence[Any], drawn: bool) -> list[dict[str, Any]]:
    """Return one table a group: its own number of records and the shares within it."""
    found, within = [], record["groups"]["within"]
    for place, panel in enumerate(panels):
        low, high = panel["records"]
        counts = record["counts"][place * len(within) : (place + 1) * len(within)]
        inside = {"labels": within, "counts": counts, "analysis": panel}
        xlabel, salt = f"share within {panel['label']}", f"{record['request']}-{place}"
        found.append(
            {
                "label": panel["label"],
                "sentence": f"{panel['released']:,} records released in this group; with the noise "
                f"in mind {low:,} to {high:,} ({LEVEL:.0%}).",
                "rows": rows_of(inside),
                "figure": drawing(inside, xlabel, salt) if drawn else "",
            }
        )
    return found


def _figure(record: Mapping[str, Any]) -> str:
    return drawing(record, "share of the category", record["request"])


def drawing(record: Mapping[str, Any], xlabel: str, salt: str) -> str:
    """Return intervals as SVG with its alternative text; `salt` keeps its marks its own."""
    parts = {label: _part(record, name) for label, name in _READINGS.items()}
    readings = {label: p["intervals"] for label, p in parts.items() if "missing" not in p}
    if not readings or len(record["labels"]) > MOST_DRAWN:
        return ""
    from dpbayes.figures.intervals import intervals
    from dpbayes.figures.theme import svg_bytes

    with warnings.catch_warnings():
        # The letters stand in the picture as letters: it is the reader's fonts that count.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure, alt = intervals(record["labels"], readings, xlabel)
        svg = svg_bytes(figure, salt=salt).decode()
    start = svg.index("<svg")
    return f'<svg role="img" aria-label="{html.escape(alt)}"' + svg[start + len("<svg") :]


def _facts(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    size = "secret" if record["records"] is None else f"{record['records']:,}"
    slack = [("Cost in delta", "{delta_cost} of {delta_bound}; {delta_balance} left")]
    listed = [
        ("Request", "{request}"),
        ("Mechanism", _mechanism(record).replace("{", "{{").replace("}", "}}")),
        ("Prior", ", ".join(f"{value:g}" for value in record["prior"])),
        ("Unit", "{unit}"),
        ("Number of records", size),
        ("Cost", "{cost} of {bound}; {balance} left"),
        *(slack if record["delta"] != "0" else []),
        ("Receipt", "{receipt}"),
    ]
    return [(name, text.format(**record)) for name, text in listed]


def _mechanism(record: Mapping[str, Any]) -> str:
    described = record["mechanism"]
    options = (f"{name} {value}" for name, value in described["options"].items())
    return ", ".join([described["name"], *options])
