"""Shares of the tests: one process visits all pages, everything else is spread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCHEDULING = Path(__file__).with_name("scheduling.py")
CONFTEST = f"""
import importlib.util

spec = importlib.util.spec_from_file_location("scheduling", {str(SCHEDULING)!r})
scheduling = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scheduling)

def pytest_xdist_make_scheduler(config, log):
    return scheduling.scheduler(config, log)
"""
NOTING = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_where(number):
    with pathlib.Path(__file__).with_name("ran.txt").open("a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + " ")
"""


def test_one_process_visits_all_pages_and_the_rest_is_spread(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for folder in ("browser", "laws"):
        place = tmp_path / "tests" / folder
        place.mkdir(parents=True)
        for name in ("one", "two"):
            (place / f"test_{name}_of_{folder}.py").write_text(NOTING)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope", "tests"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    ran = {place.parent.name: place.read_text().split() for place in tmp_path.rglob("ran.txt")}
    assert {folder: len(workers) for folder, workers in ran.items()} == {"browser": 8, "laws": 8}
    assert len(set(ran["browser"])) == 1
