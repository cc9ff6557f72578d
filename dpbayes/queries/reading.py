"""How DuckDB reads the file that a cube is made of: one file, in one way, whatever its rows hold.

Left alone, DuckDB guesses the separator, the quotation mark and the remarks of a CSV file from its
rows. Then one row more could change how all others are read, and a cube would differ in far more
than one record. Here only the first line is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpbayes.releasing.sources import KINDS, Source, first_line, near

_WRITTEN = "header = true, quote = '\"', escape = '\"', comment = '', skip = 0"


def reader(source: str | Path, wanted: Sequence[str]) -> tuple[str, list[str], dict[str, str]]:
    """Return SQL for a file or table, its parameters, and the SQL of each wanted column.

    `source` ends in .csv, .tsv or .parquet, or is the name of a table. Raises ValueError for a
    pattern of names, for a file that is not there, and for a CSV file in whose first line a wanted
    name does not stand once.

    >>> reader("people.parquet", ["age"])
    ('read_parquet(?)', ['people.parquet'], {'age': '"age"'})
    """
    text = str(source)
    kind = Path(text.lower()).suffix
    columns = {name: quoted(name) for name in wanted}
    if kind not in KINDS:
        return quoted(text), [], columns
    if set(text) & set("*?["):  # DuckDB would take it for a pattern and count several files
        raise ValueError(f"source must be the name of one file, without *, ? and [, got {text!r}")
    if kind == ".parquet":
        return "read_parquet(?)", [text], columns
    try:
        separator, there = first_line(Source(text, Path(text)), wanted)
    except OSError as error:
        raise ValueError(f"source {text!r} cannot be counted: {error.strerror}") from error
    for name in wanted:
        if there.count(name) != 1:
            found = there.count(name) or "no"
            raise ValueError(
                f"source {text!r} cannot be counted: it has {found} columns {name!r}"
                f"{'' if name in there else near(name, there)}"
            )
    names = ", ".join(f"'c{i}'" for i in range(len(there)))
    sql = f"read_csv(?, delim = '{separator}', {_WRITTEN}, names = [{names}])"
    return sql, [text], {name: f"c{there.index(name)}" for name in wanted}


def quoted(name: str) -> str:
    """Return a name as SQL writes it.

    >>> print(quoted('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'
