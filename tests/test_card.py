"""The six packages that make this book do the work that its pages say they do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dpbayes.notebooks.parameters import all_notebooks, load
from dpbayes.runner.run import Order, executed, run_one
from tests.tiny_notebooks import write_tiny

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "book" / "results"
DRAW = """import pandas as pd
import seaborn as sns

from dpbayes.figures.theme import subplots

figure, axes = subplots()
sns.lineplot(pd.DataFrame({"n": [1, n], "mean": [0.5, 0.1]}), x="n", y="mean", ax=axes)
record.figure("line", figure, caption="It falls.")"""


def test_the_top_level_holds_what_it_is_said_to_hold() -> None:
    for name in ("book", "notebooks", "dpbayes", "tests"):
        assert (ROOT / name).is_dir(), name
    for name in ("_config.yml", "_toc.yml", "environment.yml"):
        assert (ROOT / name).is_file(), name


def test_papermill_executes_and_seaborn_draws(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "notebooks", "part/tiny", DRAW)
    stage = tmp_path / "stage"
    done = run_one(Order("part/tiny", path, {"n": 7}, stage))
    assert not done.problem
    known = json.loads(next(stage.rglob(executed("part/tiny"))).read_text())["metadata"]
    assert known["papermill"]["version"]
    assert known["papermill"]["parameters"] == {"n": 7}
    assert known["papermill"]["end_time"]
    assert next(stage.rglob("line.svg")).is_file()


def test_every_drawing_notebook_draws_with_seaborn_on_the_theme() -> None:
    drawing, with_seaborn = set(), set()
    for name, path in all_notebooks(ROOT / "notebooks").items():
        cells = load(path)["cells"]
        code = "\n".join(one["source"] for one in cells if one["cell_type"] == "code")
        drawing |= {name} if "record.figure(" in code else set()
        with_seaborn |= {name} if "sns." in code else set()
        assert "matplotlib.pyplot" not in code, name
    assert len(drawing) > 30
    assert len(with_seaborn & drawing) > len(drawing) / 2


@pytest.mark.parametrize("package", ["numpy", "scipy", "seaborn", "matplotlib"])
def test_a_figure_of_a_law_loads_what_computes_and_draws_it(package: str) -> None:
    code = (
        "import sys, dpbayes as dp\n"
        "from dpbayes.figures.theme import subplots\n"
        "dp.mechanism('geometric', 1.0).law([3, 4], [1, 1]).mean_distance()\n"
        f"subplots(); sys.exit({package!r} not in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_jupyter_book_makes_the_pages() -> None:
    extensions = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
    assert "jupyter_book" in extensions["extensions"]
    assert "jupyter-book build book" in (ROOT / "Makefile").read_text()


@pytest.mark.browser
def test_each_result_of_the_book_was_executed_by_papermill() -> None:
    if not RESULTS.is_dir():
        pytest.skip("the book is not built: run `make book`")
    for name in all_notebooks(ROOT / "notebooks"):
        text = (RESULTS / name / executed(name)).read_text(encoding="utf-8")
        known = json.loads(text)["metadata"]
        assert known["papermill"]["version"], name


def test_the_bibliography_names_the_tools_that_are_used() -> None:
    text = (ROOT / "book" / "appendix" / "bibliography.md").read_text()
    for word in (
        "Papermill",
        "seaborn",
        "Matplotlib",
        "NumPy",
        "SciPy",
        "Jupyter Book",
    ):
        assert word in text
