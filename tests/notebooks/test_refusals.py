"""Notebooks on documents A, B and C refuse settings for which their figures make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpbayes as dp
from dpbayes.press.parameters import chosen, declared, load

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PATHS = sorted(
    [path for letter in "abc" for path in (NOTEBOOKS / "accuracy").glob(f"{letter}-*.ipynb")]
    + [NOTEBOOKS / "limits" / f"{name}.ipynb" for name in (
        "axial-symmetry", "dilation-lemma", "large-n", "large-n-three", "sliding-lemma",
        "theorem-a", "theorem-a-search")]
)  # fmt: skip
SENSELESS: dict[str, list[Any]] = {
    "epsilon": [0.0, -1.0],
    "epsilons": [[0.8, 0.0]],
    "delta": [0.0, 1.0, -0.1],
    "n": [-5, 0],
    "k": [1],
    "sizes": [[-3], [0]],
    "runs": [1],
    "share": [1.5, -0.1],
    "categories": [[1]],
    "counts": [[-1, 2]],
    "data": [[-1, 2]],
    "priors": [[0]],
    "largest": [0],
    "columns": [1],
    "seed": [-1],
}


def cases() -> list[tuple[str, str, Any]]:
    found = []
    for path in PATHS:
        name = path.relative_to(NOTEBOOKS).with_suffix("").as_posix()
        known = declared(load(path))
        found += [(name, key, bad) for key in known for bad in SENSELESS.get(key, [])]
    return found


@pytest.mark.parametrize(("name", "key", "bad"), cases())
def test_senseless_values_are_refused_before_anything_runs(name: str, key: str, bad: Any) -> None:
    known = declared(load(NOTEBOOKS / f"{name}.ipynb"))
    if known[key].type.startswith("list[float]"):
        bad = [float(value) for value in bad]
    with pytest.raises(ValueError, match=f"{key} must be"):
        chosen(name, known, {key: bad})


def test_a_picture_of_both_neighbours_needs_a_record_on_either_side() -> None:
    name = "limits/axial-symmetry"
    with pytest.raises(ValueError, match="data must be"):
        chosen(name, declared(load(NOTEBOOKS / f"{name}.ipynb")), {"data": [0, 9]})


def test_one_category_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match="at least 2 counts"):
        dp.mechanism("expMech-delta", 0.8).law([5], [1.0])
    with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1"):
        dp.mechanism("expMech-delta", 0.8, delta=1.0)


TOGETHER: dict[str, list[dict[str, Any]]] = {
    "limits/axial-symmetry": [{"data": [1, 2, 3]}],
    "limits/sliding-lemma": [{"first": [1.0]}, {"data": [1, 2, 3]}, {"data": [0, 0]}],
    "limits/dilation-lemma": [{"first": [1.0]}, {"data": [1, 2]}, {"data": [0, 0, 0]}],
    "accuracy/b-prior-and-data": [{"even": [5, 5]}, {"skewed": [1]}, {"even": [0, 0, 0]}],
    "accuracy/growth-three": [{"shares": [0.5, 0.5]}, {"shares": [0.3, 0.3, 0.3]}, {"first": 600}],
    "comparison/win-maps": [{"sizes": [3]}, {"sizes": [4, 3]}, {"epsilons": [1.0]}],
    "comparison/orbits": [{"sizes": [4, 3]}],
    "limits/large-n": [{"sizes": [100]}, {"sizes": [20, 10]}, {"low": 3.0}],
    "limits/large-n-three": [{"shares": [0.5, 0.5]}, {"shares": [0.5, 0.5, 0.5]}, {"sizes": [100]}],
    "limits/rare-answer": [{"ones": [5, 2]}, {"ones": [1, 200_000]}, {"sizes": [20, 10]}],
    "limits/optimum-three": [{"epsilons": [1.0, 0.5]}],
    "privacy/calibrated-three": [{"shares": [0.5, 0.5]}, {"shares": [0.5, 0.5, 0.0]}],
    "privacy/noise-aware-posterior": [{"counts": [1, 2, 3]}, {"counts": [0, 0]}, {"prior": [1.0]}],
    "accuracy/a-who-wins-share": [{"smallest": 20, "largest": 20}],
    "comparison/lead": [{"rivals": ["lattice"]}],
    "accuracy/a-growing-prior": [{"counts": [5]}, {"counts": [0, 0]}, {"priors": [3, 3]}],
}


@pytest.mark.parametrize("name", TOGETHER)
def test_lists_that_do_not_fit_are_refused_before_anything_runs(name: str) -> None:
    known = declared(load(NOTEBOOKS / f"{name}.ipynb"))
    for bad in TOGETHER[name]:
        with pytest.raises(ValueError, match=next(iter(bad))):
            chosen(name, known, bad)
