"""What `dpbayes sweep` refuses before anything runs."""

from __future__ import annotations

import pytest

from dpbayes.cli import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-g", "n=2;0"], "n must be >= 1, got 0"),
        (["-g", "m=2;3"], "part/tiny has no parameter 'm'"),
        (["-g", "n=2;x"], "n must be int, got 'x'"),
        (["-g", "n"], "a grid axis is given as name=value;value, got 'n'"),
        (["-g", "n=2;2"], "n lists a value twice"),
        (["-g", "n=2;3", "-p", "n=5"], "n is given more than once"),
        (["-g", "n=2;3", "--jobs", "0"], "--jobs must be an integer of at least 1, got 0"),
    ],
)
def test_bad_grids_are_refused_before_anything_runs(picky, capsys, words, message):
    assert main(["sweep", "part/tiny", *words]) == 2
    assert message in capsys.readouterr().err
    assert not (picky / "sweep").exists()
