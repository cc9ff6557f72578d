"""What is drawn, listed or simulated in a notebook has an upper end, refused before it runs."""

from __future__ import annotations

import pytest

from dpbayes.cli import main


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("queries/budget-saved", "points"),
        ("queries/coverage", "levels"),
        ("queries/small-weights", "answers"),
    ],
)
def test_too_many_are_refused_by_name(name, argument, tmp_path, capsys) -> None:
    words = ["run", name, "-p", f"{argument}={10**12}", "--output", str(tmp_path)]
    assert main(words) == 2
    assert argument in capsys.readouterr().err
