"""A real table to ask: 20,190 person-years of the RAND Health Insurance Experiment.

Counts by self-rated health, physical limitation, chronic diseases and outpatient visits, derived
from the public-domain table that statsmodels ships. One record is one person in one year: a person
can have up to five, so that the guarantee for one record is not one for one person.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from dpbayes.tables.cubes import Cube

CUBE_FILE = Path(str(files("dpbayes") / "data" / "rand-hie.toml"))


def rand_hie_cube() -> Cube:
    """Return the cube of 4 x 2 x 8 x 16 = 1024 cells.

    >>> cube = rand_hie_cube()
    >>> cube.shape, int(cube.counts.sum())
    ((4, 2, 8, 16), 20190)
    """
    from dpbayes.tables.cube_file import read_cube  # pydantic only where a file is read

    return read_cube(CUBE_FILE).cube()
