"""``dpbayes release TABLE --plan``: refused before payment, printed, and drawn as a figure."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from dpbayes.commands import release as paid
from dpbayes.tables.report import drawing
from tests.tables.clinic import COUNTS, released


def test_a_place_that_cannot_hold_the_report_is_refused(clinic):
    (clinic / "file").write_text("")
    for place in ("file", "file/below"):
        with pytest.raises(ValueError, match=f"--output must be a folder .* got '{place}'"):
            paid.require_folder(Path(place))
    paid.require_folder(Path("new/folder"))
    assert (clinic / "new" / "folder").is_dir()


def test_the_draw_is_printed_and_on_disk_before_the_analysis_begins(clinic, monkeypatch, capsys):
    def stopped(record):
        assert {p.name for p in Path("out").iterdir()} == {
            "release.json",
            "release.csv",
            "report.html",
        }
        raise KeyboardInterrupt

    monkeypatch.setattr(paid, "bounded_analysis", stopped)
    given = argparse.Namespace(
        plan="plan.toml", table="people.csv", output="out", show_values=False, json=False
    )
    with pytest.raises(KeyboardInterrupt):
        paid.publish(given)
    printed = capsys.readouterr().out
    assert all(label in printed for label in COUNTS)
    assert "cost       0.5 of 1.2; 0.7 left" in printed
    again = released(clinic)
    assert again.repeated
    assert f"{again.private.counts[0]:>12,}" in printed


def test_what_was_paid_before_says_so(clinic):
    first, second = released(clinic), released(clinic)
    assert "nothing new was spent" not in paid.core_text(first, clinic)
    assert "drawn and paid before, nothing new was spent" in paid.core_text(second, clinic)


def reading(cells):
    return {"mean": [1 / cells] * cells, "intervals": [[0.0, 1.0]] * cells}


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "drawn"), [(2, True), (24, True), (25, False)])
def test_a_figure_is_drawn_up_to_a_number_of_cells(cells, drawn):
    record = {
        "labels": [f"c{i}" for i in range(cells)],
        "analysis": {"noise_aware": reading(cells), "plain": reading(cells)},
    }
    picture = drawing(record, "x", "s")
    assert bool(picture) == drawn
    assert not drawn or picture.startswith('<svg role="img" aria-label="')
    record["analysis"] = {part: {"missing": "late"} for part in ("noise_aware", "plain")}
    assert drawing(record, "x", "s") == ""


@pytest.mark.slow
def test_an_alternative_text_cannot_break_out_of_its_attribute():
    picture = drawing({"labels": ['a"><script>', "b"], "analysis": {"plain": reading(2)}}, "x", "s")
    assert "<script" not in picture
