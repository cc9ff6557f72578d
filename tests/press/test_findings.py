"""Findings: the sentence follows the computation, filled in, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbayes.press.findings import filled
from dpbayes.press.record import Record, record
from dpbayes.press.shown import ShownFinding

SENTENCES = {"true": "Yes, {x:.1f}.", "false": "No, {x:.1f}.", "undecided": "Nobody knows."}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    monkeypatch.setenv("DPBAYES_RESULTS", str(tmp_path))
    return record("part/name", parameters={})


def findings(kept: Record) -> dict[str, Any]:
    return dict(json.loads((kept.folder / "findings.json").read_text()))


@pytest.mark.parametrize(
    ("sentence", "x", "said"),
    [
        ("{x:.4f}", 0.000123456, "0.00012"),
        ("{x:.4f}", 0.00001256, "1.3 × 10⁻⁵"),
        ("{x:.4f}", 0.0034, "0.0034"),
        ("{x:.3f}", 0.0049, "0.0049"),
        ("{x:+.3f}", -0.00023, "−0.00023"),
        ("{x:+.3f}", 0.00023, "+0.00023"),
        ("{x:.2f}", 0.03, "0.03"),
        ("{x:.2f}", 0.0041, "0.0041"),
        ("{x:.1f}", 0.2, "0.2"),
        ("{x:.0%}", 0.0031, "0.31%"),
        ("{x:.1%}", 0.00000031, "3.1 × 10⁻⁵%"),
        ("{x:.0%}", 0.03, "3%"),
        ("{x:.4f}", 0.0, "0.0000"),
        ("{x:.4f}", 3e-17, "0.0000"),
        ("{x:.4f}", [0.5, 0.00011], "0.5000 and 0.00011"),
        ("{x:.3g}", 0.9999970, "0.999997"),
        ("{x:.1%}", [0.9996, 0.99996, 0.9994], "99.96%, 99.996% and 99.9%"),
        ("{x:.4f}", 0.99992, "0.9999"),
        ("{x:.4f}", 0.99997, "0.99997"),
        ("{x:.0%}", 0.996, "99.6%"),
        ("{x:.1%}", [1.0, 1.0 - 1e-13, 1.0 + 1e-5], "100.0%, 100.0% and 100.0%"),
    ],
)
def test_what_a_format_would_round_away_keeps_two_digits(sentence: str, x: Any, said: str) -> None:
    assert filled(sentence, {"x": x}) == said


@pytest.mark.parametrize(
    ("holds", "sentence"),
    [
        (True, "Yes, −0.5."),
        (False, "No, −0.5."),
        (None, "Nobody knows."),
        (np.bool_(True), "Yes, −0.5."),
        (np.float64(1) > 2, "No, −0.5."),
    ],
)
def test_the_sentence_follows_the_outcome(kept: Record, holds: Any, sentence: str) -> None:
    kept.finding("x", holds, x=-0.5, **SENTENCES)
    plain = None if holds is None else bool(holds)
    assert findings(kept) == {"x": {"holds": plain, "sentence": sentence, "values": {"x": -0.5}}}


def test_a_sentence_knows_the_recorded_numbers_and_the_parameters(kept: Record) -> None:
    kept.parameters["epsilon"] = 1.0
    kept.numbers({"at-one": 0.25, "other": 3})
    kept.finding("x", True, true="{at-one:.1%} at ε = {epsilon:g}, {own}.", false="No.", own=2)
    assert findings(kept)["x"] == {
        "holds": True,
        "sentence": "25.0% at ε = 1, 2.",
        "values": {"at-one": 0.25, "epsilon": 1.0, "own": 2},
    }


def test_a_theorem_stands_for_the_false_sentence(kept: Record) -> None:
    kept.finding("x", True, true="Yes.", by_theorem="thm-a")
    assert findings(kept)["x"]["by_theorem"] == "thm-a"
    with pytest.raises(ValueError, match="holds by thm-a, yet it came out false"):
        kept.finding("y", False, true="Yes.", by_theorem="thm-a")


@pytest.mark.parametrize("holds", ["yes", 1, 0.0, np.array([True]), []])
def test_a_condition_is_one_of_three(kept: Record, holds: Any) -> None:
    with pytest.raises(TypeError, match="holds must be True, False or None"):
        kept.finding("x", holds, x=1.0, **SENTENCES)


def test_every_outcome_needs_its_sentence(kept: Record) -> None:
    with pytest.raises(ValueError, match="came out None and has no sentence"):
        kept.finding("x", None, true="Yes.", false="No.")
    with pytest.raises(TypeError, match=r"either false=\.\.\. or by_theorem"):
        kept.finding("x", True, true="Yes.")
    with pytest.raises(TypeError, match=r"either false=\.\.\. or by_theorem"):
        kept.finding("x", True, true="Yes.", false="No.", by_theorem="thm-a")


@pytest.mark.parametrize(
    ("sentence", "values", "problem"),
    [
        ("{y:.1f}", {"x": 1.0}, "no value 'y' for the sentence; given are x"),
        ("{x.real}", {"x": 1.0}, "no value 'x.real'"),
        ("{x[0]}", {"x": [1.0]}, r"no value 'x\[0\]'"),
        ("{x:.1f}", {"x": float("nan")}, "not a number"),
    ],
)
def test_a_sentence_that_cannot_be_filled_is_refused(
    sentence: str, values: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        filled(sentence, values)


@pytest.mark.parametrize(
    ("sentence", "value", "shown"),
    [
        ("{x}", 1000, "1000"),
        ("{x}", 1 / 3, "0.333"),
        ("{x:d}", 3.0, "3"),
        ("{x:.1e}", np.float64(2e-7), "2.0 × 10⁻⁷"),
        ("{x:.2f}", np.array([-1.0, 2.0]), "−1.00 and 2.00"),
        ("x = ({x}), 3", [1, 2], "x = (1, 2), 3"),
        ("{x} of a", {"b": 1, "c": 2}, "b 1 and c 2 of a"),
        ("{x:.1f}", float("inf"), "∞"),
        ("{x}", "lapMech", "lapMech"),
        ("{x:.1f}", "1", None),
        (r"$\frac{{1}}{{2}}$ {x}", 2, r"$\frac{1}{2}$ 2"),
    ],
)
def test_values_are_shown_as_the_pages_show_them(sentence: str, value: Any, shown: str) -> None:
    if shown is None:
        with pytest.raises(ValueError):
            filled(sentence, {"x": value})
    else:
        assert filled(sentence, {"x": value}) == shown


def test_a_name_is_used_once(kept: Record) -> None:
    kept.finding("x", True, true="Yes.", false="No.")
    with pytest.raises(ValueError, match="'x' twice"):
        kept.finding("x", True, true="Yes.", false="No.")


def test_every_viewer_is_served() -> None:
    text = "`n` < 3 by {prf:ref}`the theorem <thm-a>`, *almost* $a_1 < b$."
    bundle, metadata = ShownFinding("x", text)._repr_mimebundle_()
    assert bundle["text/plain"] == "Finding: `n` < 3 by the theorem, *almost* $a_1 < b$."
    assert (
        "<code>n</code> &lt; 3 by the theorem, <em>almost</em> $a_1 &lt; b$." in bundle["text/html"]
    )
    assert metadata["dpbayes"]["finding"] == {"name": "x", "sentence": text}


def test_numbers_are_kept_together(kept: Record) -> None:
    kept.numbers({"a": 1, "b": np.float64(0.5)})
    assert json.loads((kept.folder / "numbers.json").read_text()) == {"a": 1, "b": 0.5}
    with pytest.raises(ValueError, match="must be finite, got inf for 'c'"):
        kept.numbers({"c": float("inf")})
