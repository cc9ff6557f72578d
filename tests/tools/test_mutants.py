"""The changes that the mutation script tries: each is one place, and each is still Python."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import dpbayes as dp
from tools.mutant_checks import probes
from tools.mutants import CONCERNED, ROOT, WHOLE_FILES, mutants


def test_every_mutant_changes_one_place_and_stays_python() -> None:
    every = mutants()
    assert len(every) > 500
    for mutant in every:
        source = (ROOT / "dpbayes" / mutant.file).read_bytes()
        assert source[mutant.start : mutant.end].decode() == mutant.old
        changed = source[: mutant.start] + mutant.new.encode() + source[mutant.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), mutant
        assert source[: mutant.start].count(b"\n") + 1 in range(mutant.line - 3, mutant.line + 4)


def test_every_file_of_laws_and_samplers_is_mutated() -> None:
    counted = Counter(mutant.file for mutant in mutants())
    assert set(WHOLE_FILES) <= counted.keys()
    assert all(number >= 3 for number in counted.values())
    assert {name for names in CONCERNED.values() for name in names} <= set(dp.REGISTRY)


class Called(BaseException):
    """A function that was looked for was called; nothing that is probed catches this."""


def calls(compute: Callable[[], Any], wanted: set[tuple[str, int]]) -> bool:
    """Return whether one of the functions of these files and first lines is called, and end there.

    The call is noted also where what is computed hides the end by another error of its own.
    """
    seen = []

    def note(frame: Any, *_: object) -> None:
        if not seen and (frame.f_code.co_filename, frame.f_code.co_firstlineno) in wanted:
            seen.append(frame.f_code.co_name)
            raise Called

    sys.setprofile(note)
    try:
        with suppress(ValueError, Called):  # some probes see that a refusal stays one
            compute()
    finally:
        sys.setprofile(None)
    return bool(seen)


def test_a_call_is_found_and_ends_what_calls() -> None:
    place = (__file__, leaf.__code__.co_firstlineno)
    assert calls(lambda: [leaf(), pytest.fail("it went on")], {place})
    assert not calls(lambda: None, {place})


def leaf() -> None:
    """Return nothing."""


@pytest.mark.parametrize("file", sorted(CONCERNED))
def test_a_probe_calls_the_functions_of_every_file(file: str) -> None:
    wanted = {(str(ROOT / "dpbayes" / file), one.function) for one in mutants() if one.file == file}
    assert any(calls(probe, wanted) for probe in reversed(probes(CONCERNED[file]).values()))
