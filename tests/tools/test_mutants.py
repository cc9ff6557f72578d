"""The changes that the mutation script tries: each is one place, and each is still Python."""

from __future__ import annotations

import ast
from collections import Counter

import dpbayes as dp
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
