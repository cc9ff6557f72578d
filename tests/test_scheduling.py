"""Shares of the tests: one process visits all pages, everything else is spread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

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


class Node(SimpleNamespace):
    """A process of pytest-xdist, which notes what it is told."""

    shutting_down = False
    __hash__ = object.__hash__

    def send_runtest_some(self, indices: list[int]) -> None:
        self.told.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True


def test_finished_shares_are_forgotten_and_those_of_a_lost_process_are_not() -> None:
    pytest.importorskip("xdist")
    from tests.scheduling import InShares

    option = SimpleNamespace(loadscopereorder=True, tx=["2*popen"], px=[])
    config = SimpleNamespace(
        option=option, getvalue=lambda name: getattr(option, name), get_verbosity=int
    )
    tests = [f"tests/laws/test_x.py::test_x[{number}]" for number in range(9)]
    queue = InShares(config)
    nodes = [Node(told=[], gateway=SimpleNamespace(id=f"gw{number}")) for number in range(2)]
    for node in nodes:
        queue.add_node(node)
        queue.add_node_collection(node, tests)
    queue.schedule()
    working, lost = nodes
    for index in working.told:  # it is told of more while it works
        queue.mark_test_complete(working, index)
        assert len(queue.assigned_work[working]) <= 3
    assert not queue.assigned_work[working]
    assert sorted(working.told + lost.told) == list(range(9))
    (first, *rest) = [tests[index] for index in lost.told]
    assert queue.remove_node(lost) == first
    assert list(queue.workqueue) == [first, *rest]


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
