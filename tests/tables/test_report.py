"""The files of a release: what a reader finds in them, and what cannot break out of them."""

from __future__ import annotations

import csv
import json
import re

import pytest

from dpbayes.cli import main
from dpbayes.tables.analysis import PARTS
from dpbayes.tables.citations import entries
from dpbayes.tables.opening import open_account
from dpbayes.tables.report import csv_text, html_text, methods
from tests.tables.clinic import COUNTS, PLAN, released


@pytest.mark.slow
def test_the_report_stands_alone_and_says_what_a_reader_needs(clinic, capsys):
    assert main(["release", "people.csv", "--plan", "plan.toml", "--output", "out"]) == 0
    printed = capsys.readouterr().out
    record = json.loads((clinic / "out" / "release.json").read_text())
    page = (clinic / "out" / "report.html").read_text()
    assert record["schema"] == "dpbayes.release/4"
    assert set(record["analysis"]) == set(PARTS)
    for text in (
        record["guarantee"].replace("<", "&lt;").replace("'", "&#39;"),
        "<svg",
        "0.7 left",
    ):
        assert text in page
    assert "http" not in page.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")
    assert "<script" not in page
    assert record["receipt"] in printed
    lines = list(csv.DictReader((clinic / "out" / "release.csv").read_text().splitlines()))
    assert [line["label"] for line in lines] == list(COUNTS)
    assert [int(line["released"]) for line in lines] == record["counts"]
    assert float(lines[0]["noise_aware_low"]) < float(lines[0]["noise_aware_high"])


def test_no_label_is_a_formula_in_a_spreadsheet(clinic):
    record = released(clinic).record()
    record["labels"] = ["=1+1", "+cmd", "-5 to 5"]
    labels = [line["label"] for line in csv.DictReader(csv_text(record).splitlines())]
    assert labels == ["'=1+1", "'+cmd", "-5 to 5"]
    assert "<td>=1+1</td>" in html_text(record)


def test_labels_cannot_break_out_of_the_page(clinic):
    rows = ["<script>alert(1)</script>", "a & b"]
    with (clinic / "people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["health"], *[[row] for row in rows * 5]])
    open_account(clinic / "clinic.account").accept(clinic / "people.csv")
    text = PLAN.replace('["good", "fair", "poor"]', json.dumps(rows))
    page = html_text(released(clinic, text).record())
    assert "<script" not in page
    assert "a &amp; b" in page


def test_the_methods_paragraph_names_everything(clinic):
    text = methods(released(clinic).record())
    for word in ("lattice", "epsilon 0.5", "P[M(x) in S] <= e^0.5", "70, public", "all 1"):
        assert word in text


@pytest.mark.slow
def test_a_page_holds_the_entries_to_cite_of_all_that_was_used(clinic):
    record = released(clinic).record()
    plain = html_text(record)
    for key, there in (("mironov-bits", True), ("ghosh-universally", True), ("bernstein", False)):
        assert (key in plain) == there
    record["analysis"] = {
        part: {"mean": [0.5, 0.3, 0.2], "intervals": [[0, 1]] * 3}
        for part in ("noise_aware", "plain")
    }
    assert "bernstein-sheldon" in html_text(record)
    secret = released(clinic, PLAN.replace('"0.5"', '"0.1"') + 'records = "secret"\n').record()
    assert entries()["canonne-discrete"].partition("\n")[0] in html_text(secret)


@pytest.mark.slow
def test_a_page_follows_the_reader_s_theme_and_prints_in_black_on_white(clinic):
    style = re.findall(r"<style>(.*?)</style>", html_text(released(clinic).record()), re.DOTALL)
    assert len(style) == 1
    screen, _, printed = style[0].partition("@media print")
    assert "@media screen and (prefers-color-scheme: dark)" in screen
    assert "color-scheme: light" in printed
