"""The tests that `make test` leaves to the full run: what takes long by processor time.

`thorough.txt` lists them, a test function or one of its cases a line; all others run in about a
minute. A function is listed when a case of it takes more than a tenth of a second, or all its cases
together more than half a second; every file keeps at least one. The list is made anew on a quiet
machine, where the tests have taken other times than it says, with

    python -m pytest -p tests.thorough -m "not (slow or browser)"
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("thorough.txt")
A_CASE, ALL_CASES = 0.1, 0.5  # seconds
SOURCES = ("tests/notebooks/test_sources.py", "tests/notebooks/test_words.py")  # of every notebook
taken: dict[str, float] = {}


def function(case: str) -> str:
    """Return the name of the function that a case belongs to."""
    return case.partition("[")[0]


def listed() -> frozenset[str]:
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def slow_files() -> frozenset[str]:
    """Return the files of which a test is marked as slow."""
    root = LIST.parents[1]
    files = LIST.parent.rglob("test_*.py")
    slow = (file for file in files if "mark.slow" in file.read_text(encoding="utf-8"))
    return frozenset(file.relative_to(root).as_posix() for file in slow)


def is_listed(case: str, names: frozenset[str]) -> bool:
    return case in names or function(case) in names


def chosen(seconds: Mapping[str, float]) -> list[str]:
    """Return what is to be listed when the cases took so many seconds.

    >>> chosen({"a.py::quick": 0.01, "a.py::slow[1]": 0.3, "a.py::slow[2]": 0.2})
    ['a.py::slow']
    >>> chosen({"a.py::slow[1]": 0.9, "a.py::slow[2]": 0.2})
    ['a.py::slow[1]']
    """
    cases = defaultdict(list)
    for case in seconds:
        cases[function(case)].append(case)
    total = {name: sum(seconds[case] for case in each) for name, each in cases.items()}
    found = {
        name
        for name in cases
        if not name.startswith(SOURCES)
        and (total[name] > A_CASE * len(cases[name]) or total[name] > ALL_CASES)
    }
    for file in {name.partition("::")[0] for name in cases}:
        here = {name for name in cases if name.startswith(f"{file}::")}
        if here <= found:
            kept = min((case for name in here for case in cases[name]), key=seconds.__getitem__)
            found.remove(function(kept))
            found |= set(cases[function(kept)]) - {kept}
    return sorted(found)


def spent() -> float:
    """Return the processor time of this process and of those it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    began = spent()
    outcome = yield
    taken[item.nodeid] = spent() - began
    return outcome


def pytest_sessionfinish(exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.OK:
        LIST.write_text("\n".join([*chosen(taken), ""]), encoding="utf-8")
