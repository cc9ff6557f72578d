"""Shares of the tests: one process visits all pages, one runs a file, what is long is spread."""

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
    return scheduling.scheduler(config, log, frozenset({{"tests/laws/test_one_of_laws.py"}}))
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
    queue = InShares(config, spread=frozenset({"tests/laws/test_x.py::test_x"}))
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


def test_what_may_take_long_is_given_away_first() -> None:
    pytest.importorskip("xdist")
    from tests.scheduling import InShares

    option = SimpleNamespace(loadscopereorder=True, tx=["1*popen"], px=[])
    config = SimpleNamespace(
        option=option, getvalue=lambda name: getattr(option, name), get_verbosity=int
    )
    spread = frozenset({"a.py", "b.py::test_b", "c.py::test_c[1]"})
    tests = ["d.py::test_d", "b.py::test_b[0]", "b.py::test_rest", "c.py::test_c[0]"]
    tests += ["c.py::test_c[1]", "a.py::test_a", "tests/browser/test_e.py::test_e"]
    tests += [f"many.py::test_many[{number}]" for number in range(50)]
    queue = InShares(config, spread=spread)
    node = Node(told=[], gateway=SimpleNamespace(id="gw0"))
    queue.add_node(node)
    queue.add_node_collection(node, tests)
    queue.schedule()
    assert [tests[index] for index in node.told] == [tests[6], "a.py::test_a"]
    order = ["many.py", "b.py", "c.py", "b.py::test_b[0]", "c.py::test_c[1]", "d.py"]
    assert list(queue.workqueue) == order


def test_one_process_visits_all_pages_and_one_runs_a_file(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for folder in ("browser", "laws"):
        place = tmp_path / "tests" / folder
        place.mkdir(parents=True)
        for name in ("one", "two"):
            noting = NOTING.replace("ran.txt", f"{name}.txt")
            (place / f"test_{name}_of_{folder}.py").write_text(noting)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope", "tests"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    ran = {
        (place.parent.name, place.stem): place.read_text().split()
        for place in tmp_path.rglob("tests/*/*.txt")
    }
    assert {where: len(workers) for where, workers in ran.items()} == dict.fromkeys(
        [("browser", "one"), ("browser", "two"), ("laws", "one"), ("laws", "two")], 4
    )
    assert len({*ran["browser", "one"], *ran["browser", "two"]}) == 1
    assert len({*ran["laws", "two"]}) == 1
