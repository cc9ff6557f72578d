"""Data cubes: declared attributes, one count a cell (`dpbayes.tables.table`)."""

from __future__ import annotations

from dpbayes.tables.attributes import Attribute, Bins, Categories
from dpbayes.tables.table import Cube, as_cube, build_cube

__all__ = ["Attribute", "Bins", "Categories", "Cube", "as_cube", "build_cube"]
