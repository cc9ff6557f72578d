from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dpbayes
import dpbayes as dp
import dpbayes.laws
import dpbayes.tables


def test_every_public_name_loads_and_says_what_it_does_and_others_are_refused():
    assert all(getattr(dp, name).__doc__ for name in dp.__all__)
    assert set(dp.__all__) <= set(dir(dp))
    with pytest.raises(AttributeError, match="no attribute 'hellingr'"):
        assert dp.hellingr


@pytest.mark.parametrize("package", [dpbayes, dpbayes.tables, dpbayes.laws])
def test_type_checkers_are_told_where_every_name_lives(package: ModuleType) -> None:
    """The stub beside a package says what its dict says, and `dir` lists it."""
    stub = Path(str(package.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    told = re.findall(
        rf"^from {package.__name__}\.([\w.]+) import (\w+) as \2$", stub, re.M
    )
    assert {name: home for home, name in told} == package._MODULE_OF
    assert set(package.__all__) == package._MODULE_OF.keys() <= set(dir(package))
    for name, home in package._MODULE_OF.items():
        module = importlib.import_module(f"{package.__name__}.{home}")
        assert getattr(package, name) is getattr(module, name)


def test_modules_of_the_package_are_attributes_of_it() -> None:
    code = (
        "import dpbayes as dp; dp.tables.Unit; dp.laws.Estimate; dp.figures;"
        " assert {'tables', 'laws', 'figures'} <= set(dir(dp))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


USER = """
import numpy as np

import dpbayes as dp
from dpbayes import laws, tables
from dpbayes.laws import Estimate, Estimates


def planned(epsilon: float, k: int) -> int:
    lattice = dp.mechanism("lattice", epsilon)
    needed = dp.records_needed(lattice, [1 / k] * k, [1] * k, 0.05)
    mean: float = needed.mean_distance
    return needed.records if mean < 0.05 else needed.exact


def growth(sizes: list[int]) -> Estimates:
    noise = dp.mechanism("geometric", "0.5")
    return dp.mean_distances(noise, [0.5, 0.5], [1, 1], sizes)


means = growth([10, 100])
first: Estimate = means.estimates[0]
print(first.error, first.how, first.standard_error, first.confidence, means.error)
law = dp.mechanism("lattice", 1.0).law([3, 4, 5], [1, 1, 1])
within: float = law.cdf(0.1)
beyond: float = law.sf(0.1)
median: float = law.quantile(0.5)
drawn = law.rvs(10, np.random.default_rng(1))
run: laws.MonteCarlo = law.simulate(np.random.default_rng(1), 100)
print(drawn.shape, run.mean, run.standard_error, within)
print(beyond, median, planned(1.0, 3))
unit = tables.Unit("id", 3)
bins = dp.tables.Bins("age", (0.0, 50.0, 100.0))
answers = tables.Categories("answer", ("yes", "no"))
print(unit, bins, answers, dp.laws.Estimate.drawn(0.1, 0.01))
"""


def test_a_users_file_is_typed_and_runs(tmp_path: Path) -> None:
    path = tmp_path / "user.py"
    path.write_text(USER, encoding="utf-8")
    root = str(Path(dp.__file__).parents[1])
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path / "c"),
    ]
    for command in ([*mypy, str(path)], [sys.executable, str(path)]):
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_importing_the_package_loads_no_numerics():
    code = (
        "import sys, dpbayes; sys.exit(bool({'numpy', 'scipy', 'matplotlib'} &"
        " {*sys.modules}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_module_has_its_line_in_the_list():
    listed = {
        line.split()[0] for line in (dp.__doc__ or "").splitlines()[4:] if line.strip()
    }
    folder = Path(dp.__file__).parent
    public = {path.stem for path in folder.glob("[!_]*.py")}
    public |= {path.parent.name for path in folder.glob("[!_]*/__init__.py")}
    assert listed == public
