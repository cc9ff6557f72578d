"""No change of a module leaves an old result standing: the key of what it changes names the module.

A copy of the package is changed in one place that moves results, a few notebooks are run with it,
and their results are compared with those of the package as it is. Whatever came out otherwise must
have the changed module in its key.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpbayes.press.keys import key, surroundings
from dpbayes.press.opening import ORDER
from dpbayes.press.parameters import chosen, declared, load, source_of
from dpbayes.press.traces import PACKAGE
from tests.notebooks.test_sources import NOTEBOOKS, small_parameters

NAMES = (
    "foundations/beta-posterior", "foundations/sensitivities",
    "foundations/sum-zero-noise", "tables/two-sided-steps", "tables/even-steps",
    "tables/smooth-property", "queries/worked-example",
)  # fmt: skip
CHANGES = {
    "posteriors.py": ("Posterior(parameters + whole)", "Posterior(parameters + whole + 0.5)"),
    "divergences.py": (
        "np.asarray(np.sqrt(0.0 - np.expm1(",
        "np.asarray(0.9 * np.sqrt(0.0 - np.expm1(",
    ),
    "log_gamma.py": (
        "total *= inverse\n    return total",
        "total *= 1.5 * inverse\n    return total",
    ),
    "sensitivity.py": ("np.asarray(1.0 / (1.0 / local", "np.asarray(0.9 / (1.0 / local"),
    "figures/densities.py": ("_EVEN = 401", "_EVEN = 301"),
    "figures/pictures.py": ("(1.0 - depth * (", "(1.0 - 0.5 * depth * ("),
    "mechanisms/laplace.py": ("return (chosen if chosen", "return 1.1 * (chosen if chosen"),
    "mechanisms/geometric.py": ("+= np.log(-np.expm1(", "+= 0.1 + np.log(-np.expm1("),
    "study/closed_forms.py": ("float(-np.expm1(affinity", "float(-0.9 * np.expm1(affinity"),
    "study/score_changes.py": ("Steepest(float(abs(", "Steepest(1.1 * float(abs("),
    "queries/blue.py": ("2.0 * np.sum((self.weights", "3.0 * np.sum((self.weights"),
    "queries/example.py": ("np.array([140.0,", "np.array([141.0,"),
}
# Each notebook runs in a fork that has loaded nothing of the package, so that it notes its own use.
CHILD = """
import json, os, sys
import matplotlib.figure, matplotlib.pyplot, numpy, scipy.optimize, scipy.special
saved = matplotlib.figure.Figure.savefig
def save(figure, file, **options):  # the same picture as pixels takes the longest and adds nothing
    if options.get("format") != "png":
        saved(figure, file, **options)
matplotlib.figure.Figure.savefig = save
for one in json.load(sys.stdin):
    if not os.fork():
        os.environ.update(one["environment"])
        from dpbayes.press import traces
        traces.watch()
        space = {"__name__": "__main__"}
        try:
            for source, values in one["cells"]:
                exec(source, space)
                space.update(values)
        except Exception as error:
            space["error"] = repr(error)
        kept = {"package": str(traces.PACKAGE), "error": space.get("error"), **traces.used()}
        with open(one["note"], "w") as note:
            json.dump(kept, note)
        os._exit(0)
    os.wait()
"""


def run_all(package: Path, folder: Path) -> dict[str, tuple[dict[str, str], dict[str, list[str]]]]:
    """Run the notebooks with a package; return their results as hashes, and what they used."""
    orders = []
    for name in NAMES:
        notebook, own = load(NOTEBOOKS[name]), folder / name.replace("/", "-")
        own.mkdir(parents=True)
        values = chosen(name, declared(notebook), small_parameters()[name])
        (own / "order.json").write_text(json.dumps({"notebook": name, "parameters": values}))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        told = {ORDER: str(own / "order.json"), "DPBAYES_RESULTS": str(own / "results")}
        cells = [(source_of(one), {} if number else values) for number, one in enumerate(code)]
        orders.append({"environment": told, "cells": cells, "note": str(own / "used.json")})
    surrounding = os.environ | {"PYTHONPATH": str(package.parent), "MPLBACKEND": "agg"}
    subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(orders), text=True, check=True,
        env=surrounding, cwd=folder,
    )  # fmt: skip
    return {name: outcome(folder / name.replace("/", "-"), package) for name in NAMES}


def outcome(own: Path, package: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    used = json.loads((own / "used.json").read_text())
    assert used.pop("package") == str(package)
    made = {path.name: path for path in (own / "results").rglob("*") if path.is_file()}
    made.pop("provenance.json", None)
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in made.items()}
    return hashes | {"error": str(used.pop("error"))}, used


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("changed") / PACKAGE.name
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


@pytest.fixture(scope="module")
def unchanged(
    copy: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[dict[str, str], dict[str, list[str]]]]:
    return run_all(copy, tmp_path_factory.mktemp("unchanged"))


@pytest.mark.slow
@pytest.mark.parametrize("module", CHANGES)
def test_what_a_change_moves_has_the_module_in_its_key(
    module: str,
    copy: Path,
    unchanged: dict[str, tuple[dict[str, str], dict[str, list[str]]]],
    tmp_path: Path,
) -> None:
    source = (copy / module).read_text(encoding="utf-8")
    old, new = CHANGES[module]
    assert source.count(old) == 1
    (copy / module).write_text(source.replace(old, new), encoding="utf-8")
    try:
        changed = run_all(copy, tmp_path)
    finally:
        (copy / module).write_text(source, encoding="utf-8")
    moved = {name for name in NAMES if changed[name][0] != unchanged[name][0]}
    assert moved
    now = surroundings()
    for name in NAMES:
        used = {**unchanged[name][1], "read": [], "absent": []}
        if module not in key("", {}, used, now, 0.0)["files"]:
            assert name not in moved
