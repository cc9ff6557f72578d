"""Write dpbayes/data/rand-hie-persons.csv from the RAND HIE table shipped with statsmodels.

Needs statsmodels, and a folder with its sources: the table that `load_pandas` returns has no column
that identifies people, the file it was cut from, `src/randhie.csv` beside it, has one (`zper`).
Persons are numbered anew in the order of the file. Run it from the top of the repository:
python tools/make_rand_persons.py
"""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

TARGET = Path(__file__).parents[1] / "dpbayes" / "data" / "rand-hie-persons.csv"
FLAGS = {"hlthg": "good", "hlthf": "fair", "hlthp": "poor"}


def main() -> None:
    """Write person, year and self-rated health of every person-year."""
    source = files("statsmodels.datasets.randhie") / "src" / "randhie.csv"
    numbers: dict[str, int] = {}
    with source.open(encoding="utf-8") as stream, TARGET.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["person", "year", "health"])
        for row in csv.DictReader(stream):
            number = numbers.setdefault(row["zper"], len(numbers) + 1)
            marked = [name for flag, name in FLAGS.items() if float(row[flag])]
            writer.writerow([number, int(row["year"]), (marked or ["excellent"])[0]])


if __name__ == "__main__":
    main()
