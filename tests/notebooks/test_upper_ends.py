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
        ("scale/work-by-categories", "n"),
        ("tables/laplace-steps", "largest_step"),
        ("tables/odd-steps", "beta"),
        ("tables/ranges", "largest_n"),
        ("tables/smooth-property", "sizes_two"),
        ("tables/two-sided-steps", "largest_step"),
    ],
)
def test_too_many_are_refused_by_name(name, argument, tmp_path, capsys) -> None:
    words = ["run", name, "-p", f"{argument}={10**12}", "--output", str(tmp_path)]
    assert main(words) == 2
    assert argument in capsys.readouterr().err
