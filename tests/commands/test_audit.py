"""`dpbayes audit`: the actual loss in one line, and what it refuses."""

from __future__ import annotations

import pytest

import dpbayes as dp
from dpbayes.cli import main


def test_audit_prints_the_actual_loss(capsys):
    assert main(["audit", "expMech-smooth", "--epsilon", "1", "--n", "100"]) == 0
    shown = capsys.readouterr().out
    found = float(shown.split("actual epsilon ")[1].split()[0])
    smooth = dp.mechanism("expMech-smooth", epsilon=1.0)
    assert found == pytest.approx(dp.audit(smooth, 100, [1, 1]).epsilon, rel=1e-8)
    assert "replacing one record" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epsilon", "1", "--n", "0"], "n must be an integer of at least 1"),
        (["--epsilon", "-1", "--n", "5"], "epsilon must be positive"),
        (["--epsilon", "1", "--n", "5", "--prior", "1,x"], "--prior must be numbers"),
        (["--epsilon", "1", "--n", "5", "-o", "gamma"], "an option is given as name=value"),
        (["--epsilon", "1", "--n", "5", "-o", "delta=1"], "has no option 'delta'"),
    ],
)
def test_audit_refuses_bad_input(capsys, words, message):
    assert main(["audit", "expMech-smooth", *words]) == 2
    assert message in capsys.readouterr().err
