"""What a release prints and leaves: what a reader finds in it, and what cannot break
out of it.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from pathlib import Path

import pytest

from dpbayes.__main__ import main
from dpbayes.commands import release as command
from dpbayes.tables.analysis import PARTS
from dpbayes.tables.opening import open_account
from dpbayes.tables.report import csv_text, drawing, html_text
from tests.tables.clinic import COUNTS, PLAN, released


def test_the_report_stands_alone_and_says_what_a_reader_needs(clinic, capsys):
    assert (
        main(["release", "people.csv", "--plan", "plan.toml", "--output", "out"]) == 0
    )
    printed = capsys.readouterr().out
    record = json.loads((clinic / "out" / "release.json").read_text())
    page = (clinic / "out" / "report.html").read_text()
    assert record["schema"] == "dpbayes.release/6"
    assert set(record["analysis"]) == set(PARTS) - {"within"}
    promise = record["guarantee"].replace("<", "&lt;").replace("'", "&#39;")
    for text in (promise, "<svg", "0.7 left", "at most 1.65 to 1"):
        assert text in page
    links = re.findall(r"http://(\S+?)[\"/]", page)
    assert set(links) <= {"www.w3.org", "purl.org", "creativecommons.org"}
    assert "<script" not in page
    assert record["receipt"] in printed
    lines = list(
        csv.DictReader((clinic / "out" / "release.csv").read_text().splitlines())
    )
    assert [line["health"] for line in lines] == list(COUNTS)
    assert [int(line["released"]) for line in lines] == record["counts"]
    for target in ("population", "table"):
        low, high = (float(lines[0][f"{target}_{end}"]) for end in ("low", "high"))
        assert low <= float(lines[0]["share"]) <= high
        assert low < high
    methods = " ".join(
        page.partition("For a methods section")[2].partition("</p>")[0].split()
    )
    for word in (
        "mechanism lattice",
        "epsilon 0.5,",
        "70, public",
        "|z| / scale), on the vectors z of whole numbers that sum to 0",
        "scale 4, standard deviation of one count",
        "parameters of the released posterior: all 1.",
        "any share to be equally likely beforehand",
        "exact law of the noise",
    ):
        assert word in methods
    for sentence in ("random sample", "a census, which holds everybody"):
        assert sentence in page
        assert sentence in printed
    assert record["analysis"]["count_error"]["sentence"] in page
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    screen, _, black = style[0].partition("@media print")
    assert "@media screen and (prefers-color-scheme: dark)" in screen
    assert "color-scheme: light" in black


def test_the_draw_is_printed_and_on_disk_before_the_analysis_begins(
    clinic, monkeypatch, capsys
):
    def stopped(record):
        files = {path.name for path in Path("out").iterdir()}
        assert files == {"release.json", "release.csv", "report.html"}
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "bounded_analysis", stopped)
    given = {"plan": "plan.toml", "table": "people.csv", "output": "out"}
    with pytest.raises(KeyboardInterrupt):
        command.run(argparse.Namespace(**given, show_values=False))
    printed = capsys.readouterr().out
    assert all(label in printed for label in COUNTS)
    assert "cost       0.5 of 1.2; 0.7 left" in printed
    assert "nothing new was spent" not in printed
    again = released(clinic)
    assert again.repeated
    assert f"{again.private.counts[0]:>12,}" in printed
    told = command.core_text(again, clinic)
    assert "drawn and paid before, nothing new was spent" in told


def test_no_label_is_a_formula_in_a_spreadsheet(clinic):
    record = released(clinic).record()
    record["labels"] = ["=1+1", "+cmd", "-5 to 5"]
    record["cells"] = [[label] for label in record["labels"]]
    lines = csv.DictReader(csv_text(record).splitlines())
    labels = [line["health"] for line in lines]
    assert labels == ["'=1+1", "'+cmd", "-5 to 5"]
    assert "<td>=1+1</td>" in html_text(record)


def test_labels_of_every_script_come_through_and_cannot_break_out_of_the_page(clinic):
    rows = [
        "<script>alert(1)</script>", "a & b, 'c' \"d\"", "Île — 健康", "صحة",
        "🙂 👩\u200d⚕️",
        "می\u200cخواهم", "18\u202fà 25",
    ]  # fmt: skip
    with (clinic / "people.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["health"], *[[row] for row in rows * 5]])
    open_account(clinic / "clinic.account").accept(clinic / "people.csv")
    listed = json.dumps(rows, ensure_ascii=False)
    record = released(clinic, PLAN.replace('["good", "fair", "poor"]', listed)).record()
    page = html_text(record)
    assert "<script" not in page
    assert "a &amp; b" in page
    assert all(label in page for label in rows[2:])
    lines = csv.DictReader(csv_text(record).splitlines())
    assert [line["health"] for line in lines] == rows


def test_an_alternative_text_cannot_break_out_of_its_attribute():
    plain = {"mean": [0.5] * 2, "intervals": [[0.0, 1.0]] * 2}
    picture = drawing(
        {"labels": ['a"><script>', "b"], "request": "s", "analysis": {"plain": plain}}
    )
    assert picture.startswith('<svg role="img" aria-label="')
    assert "<script" not in picture


@pytest.mark.parametrize("cells", [25, 2])
def test_a_figure_has_its_limit_and_needs_something_read(cells):
    reading = {"mean": [1 / cells] * cells, "intervals": [[0.0, 1.0]] * cells}
    part = {"missing": "late"} if cells == 2 else reading
    record = {"labels": ["c"] * cells, "analysis": {"noise_aware": part, "plain": part}}
    assert drawing(record) == ""


def test_a_place_for_the_report_is_refused_before_anything_is_paid(clinic, capsys):
    (clinic / "taken").write_text("a file")
    for place in ("taken", "taken/below"):
        command = ["release", "people.csv", "--plan", "plan.toml", "--output", place]
        assert main(command) == 2
        told = capsys.readouterr().err
        assert "--output must be a folder that can be written" in told
        assert told.count("\n") == 1
    assert open_account(clinic / "clinic.account").spent == 0


def test_a_refused_release_leaves_no_folder(clinic, capsys):
    (clinic / "people.csv").write_text("health\nelsewhere\n")
    command = ["release", "people.csv", "--plan", "plan.toml", "--output", "out/here"]
    assert main(command) == 2
    assert not (clinic / "out").exists()


def test_stopping_is_told_in_words(clinic, monkeypatch, capsys):
    """Before the draw is kept, and after: nothing is lost, and one line says so."""

    def stopped(*_):
        raise KeyboardInterrupt

    given = ["release", "people.csv", "--plan", "plan.toml", "--output", "out"]
    with monkeypatch.context() as patch:
        patch.setattr("dpbayes.tables.release.rehearse", stopped)
        assert main(given) == 130
        assert "stopped before the release was kept" in capsys.readouterr().err
        assert open_account(clinic / "clinic.account").spent == 0
    monkeypatch.setattr(command, "bounded_analysis", stopped)
    assert main(given) == 130
    told = capsys.readouterr().err
    assert "stopped after the release was made and paid (request" in told
    assert told.count("\n") == 1
