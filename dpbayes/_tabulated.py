"""Columns as a table that is shown: which, under which headings, in which formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpbayes.figures.typeset import cell, formatted

SHOWN_ROWS = 8


def as_markdown(
    columns: Mapping[str, Sequence[Any]],
    heads: Mapping[str, str],
    forms: Mapping[str, str],
) -> str:
    """Return the first rows of the columns that have a heading."""
    cells = [
        [
            _in_table(one, forms.get(label, ""))
            for one in list(columns[label])[:SHOWN_ROWS]
        ]
        for label in heads
    ]
    lines = [[*heads.values()], ["--:"] * len(heads), *zip(*cells, strict=True)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    more = len(columns[next(iter(columns))]) - SHOWN_ROWS
    rows = "row" if more == 1 else "rows"
    return f"{text}\n\n… and {more} more {rows}" if more > 0 else text


def columns_of(name: str, data: Any) -> dict[str, Sequence[Any]]:
    """Return the columns of a DataFrame or a mapping, which are of one length."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        data = {str(label): data[label].tolist() for label in data.columns}
    if not isinstance(data, Mapping) or not data:
        raise TypeError(f"table {name!r} must be a DataFrame or columns, got {data!r}")
    lengths = {label: len(values) for label, values in data.items()}
    if len({*lengths.values()}) != 1:
        raise ValueError(f"the columns of {name!r} must have one length, got {lengths}")
    # An estimate is written as its number; what it says of its error belongs to people.
    return {
        label: [float(one) if isinstance(one, float) else one for one in values]
        for label, values in data.items()
    }


def headings(
    name: str,
    columns: Mapping[str, Any],
    headers: Mapping[str, str] | Sequence[str],
) -> dict[str, str]:
    """Return the headings of the columns that are shown, in order."""
    if isinstance(headers, Mapping):
        _known(f"headers of {name!r}", headers, columns)
        return dict(headers)
    if headers and len(headers) != len(columns):
        raise ValueError(
            f"headers of {name!r} must be {len(columns)}, one a column, got {headers!r}"
        )
    return dict(zip(columns, headers or columns, strict=True))


def formats(
    name: str, columns: Mapping[str, Any], shown: Mapping[str, str], form: Any
) -> dict[str, str]:
    """Return the format of each column that has one."""
    if isinstance(form, str):
        form = dict.fromkeys(shown, form)
    elif not isinstance(form, Mapping):
        if len(form) != len(shown):
            raise ValueError(
                f"format of {name!r} must be {len(shown)}, one a column, got {form!r}"
            )
        form = dict(zip(shown, form, strict=True))
    _known(f"format of {name!r}", form, columns)
    for one in {*form.values()} - {"s"}:
        try:
            formatted(1, one)
        except (ValueError, TypeError) as error:
            allowed = "a format of numbers, such as .3g, or s"
            raise ValueError(
                f"format of {name!r} must be {allowed}, got {one!r}"
            ) from error
    return {label: one for label, one in form.items() if one}


def _known(what: str, given: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    if unknown := [label for label in given if label not in columns]:
        raise ValueError(
            f"{what} names {unknown[0]!r}; the columns are {', '.join(columns)}"
        )


def _in_table(value: Any, form: str) -> str:
    """Return a value as a table shows it: three digits where no format is given, and
    all digits of a whole number.
    """
    if isinstance(value, float) and not form:
        whole = 1000 <= abs(value) < 1e9
        return cell(f"{value:.0f}" if whole else f"{value:.3g}", ",d" if whole else "")
    return cell(str(value), form).replace("|", "\\|")
