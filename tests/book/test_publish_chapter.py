"""The chapter "Publish a histogram": its own text, run in order in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dpbayes as dp
from dpbayes.tables.release import planned_mechanism

PAGE = Path(__file__).parents[2] / "book" / "chapters" / "publish.md"
BLOCK = re.compile(
    r"^```(?:\{code-block\} \w+\n:caption: (?P<file>\S+)\n\n|(?P<console>console)\n)"
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def blocks():
    return list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))


def test_the_chapter_has_its_files_and_commands():
    files = [one["file"] for one in blocks() if one["file"]]
    commands = "".join(one["text"] for one in blocks() if one["console"])
    assert {"release.toml", "cross.toml", "counts.csv", "counts.toml"} <= set(files)
    for command in ("plan", "account create", "release people.csv", "release counts"):
        assert f"dpbayes {command}" in commands


@pytest.mark.slow
def test_the_commands_of_the_chapter_run_in_their_order(tmp_path):
    keys = {"DPBAYES_KEYS": str(tmp_path / "keys"), "HOME": str(tmp_path)}
    work = tmp_path / "empty"
    work.mkdir()
    said = []
    for block in blocks():
        if block["file"]:
            (work / block["file"]).write_text(block["text"], encoding="utf-8")
            continue
        for line in re.sub(r"\\\n\s*", "", block["text"]).splitlines():
            words = shlex.split(line.removeprefix("$ "))
            start = {"python": [], "dpbayes": ["-m", "dpbayes"]}[words[0]]
            done = subprocess.run(
                [sys.executable, *start, *words[1:]],
                cwd=work,
                env={**os.environ, **keys},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (line, done.stderr)
            assert done.stderr == ""
            said.append(done.stdout)
    record = json.loads((work / "cross" / "release.json").read_text())
    assert record["columns"] == ["sex", "smokes"]
    assert len(record["analysis"]["within"]["shares"]) == 12
    assert dp.read(work / "earlier" / "release.json").n == 500
    assert dp.read(work / "report" / "release.json").n == 600
    assert any("Shares within each sex" in text for text in said)


def test_paragraphs_are_short():
    text = BLOCK.sub("", PAGE.read_text(encoding="utf-8")).partition("## What else")[0]
    text = re.sub(r"^(```|:::).*?^(```|:::)$", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith(("---", "|", "#")):
            continue
        plain = re.sub(r"\]\([^)]*\)|\{\w+[^}]*\}`[^`]*`", "", paragraph)
        for item in re.split(r"^\* |^\d\. ", plain, flags=re.MULTILINE):
            assert len(item.split()) <= 90, item
            assert len(re.findall(r"(?<![\w`.])\d[\d,.]*", item)) <= 5, item


def test_nothing_is_advised_that_plan_and_release_refuse(tmp_path):
    """Every mechanism named as one to take, with its options, is planned."""
    from tests.tables.clinic import PLAN, planned

    text = PAGE.read_text(encoding="utf-8").partition("## A table that matters")[0]
    assert "expMech-repaired" not in text
    assert "small δ" not in text
    two = PLAN.replace('"good", "fair", "poor"', '"good", "poor"')
    named = re.findall(r'`(mechanism = "[\w-]+")`(?: with `(options = .*?)`)?', text)
    assert named
    for mechanism, options in named:
        plan = planned(tmp_path, f"{two}{mechanism}\n{options}\n")
        assert planned_mechanism(plan).name in mechanism
