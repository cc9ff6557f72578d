"""The four calls of a notebook: what they write, what they show, what they refuse."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from dpbayes import record
from dpbayes._tabulated import as_markdown
from dpbayes.figures.alternative import alternative_text
from dpbayes.figures.typeset import typeset


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """A run that somebody began, of its own."""
    record.begin("documents/D-fig9", tmp_path)
    yield tmp_path / "documents" / "D-fig9"
    record._runs.clear()


def test_a_number_is_kept_and_returned(folder: Path) -> None:
    assert record.number("half", np.float64(0.5)) == 0.5
    record.number("drawn", 3, error=0.25)
    record.number("seconds", 1.5, error=math.inf)
    assert json.loads((folder / "numbers.json").read_text()) == {
        "half": 0.5, "drawn": 3, "seconds": 1.5
    }  # fmt: skip
    assert json.loads((folder / "errors.json").read_text()) == {
        "drawn": 0.25,
        "seconds": None,
    }


ONE = {"a": [1]}


def tabled(*, data: object = ONE, **options: Any) -> Callable[[], None]:
    return partial(record.table, "t", data, **options)


@pytest.mark.parametrize(
    ("said", "call"),
    [
        *(("number 'x' must be finite", partial(record.number, "x", one))
          for one in (math.nan, math.inf, np.float64("-inf"))),
        *(("number 'x' must be a real number", partial(record.number, "x", one))
          for one in ("1", None, True, 1j, [1.0])),
        *(("error of 'x' must be", partial(record.number, "x", 1.0, error=one))
          for one in (-1.0, math.nan, True)),
        *(("letters and digits", partial(record.claim, one, "It holds.", True))
          for one in ("", "a b", "../x", "a.b", "-a", "ε")),
        ("one length, got {'a': 1, 'b': 2}", tabled(data={"a": [1], "b": [1, 2]})),
        ("'c', which is no column", tabled(errors={"c": 1.0})),
        ("must be a DataFrame or columns", tabled(data=[1])),
        ("names 'c'; the columns are a", tabled(headers={"c": ""})),
        ("names 'c'; the columns are a", tabled(format={"c": "d"})),
        ("must be 1, one a column", tabled(headers=["x", "y"])),
        ("such as .3g, or s, got '.3q'", tabled(format=".3q")),
        ("setting of 'x' in words", partial(record.number, "x", 1.0, given=1)),
        ("check 'x' needs a sentence", partial(record.check, "x", "", True)),
        ("holds must be True or False", partial(record.check, "x", "It is.", 1)),
        ("alt must say", partial(record.figure, "x", Figure(), alt=" ")),
        ("needs a sentence", partial(record.claim, "x", " ", True)),
        ("without nan", partial(record.claim, "x", f"It is {math.nan:.2f}.", True)),
        *(("holds must be True or False", partial(record.claim, "x", "It holds.", one))
          for one in (None, 1, "yes")),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(said: str, call: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(said)):
        call()


def test_a_name_is_given_once() -> None:
    record.number("x", 1.0)
    record.claim("x", "Another kind may have the name.", True)
    with pytest.raises(ValueError, match="have 'x' already"):
        record.number("x", 2.0)


def test_a_table_has_all_digits(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {"n": np.arange(2), "mean": [0.1, np.float64(1e-9)], "who": ["a", "b"]}
    record.table("means", columns, errors={"mean": np.array([0.5, math.inf])})
    assert (folder / "means.csv").read_text() == "n,mean,who\n0,0.1,a\n1,1e-09,b\n"
    assert json.loads((folder / "errors.json").read_text()) == {
        "means.mean": [0.5, None]
    }
    assert "1 × 10⁻⁹" in capsys.readouterr().out


def test_a_frame_is_shown_with_caption_headings_and_formats(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"n": [10, 20000], "mean": [0.125, math.nan], "who": "a|b"})
    record.table(
        "means", frame, caption="Means at ε = -1.",
        headers={"who": "rule", "mean": "error"}, format={"mean": ".2f"},
    )  # fmt: skip
    assert capsys.readouterr().out.splitlines() == [
        "*Table.* Means at ε = −1.",
        "",
        "| rule | error |",
        "| --: | --: |",
        "| a\\|b | 0.12 |",
        "| a\\|b | – |",
    ]
    written = (folder / "means.csv").read_text()
    assert written == "n,mean,who\n10,0.125,a|b\n20000,nan,a|b\n"


def test_a_figure_speaks_in_every_file(folder: Path) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2], [3, 5], label="mean")
    axes.set(xlabel="records", ylabel="<error>", title="It rises")
    record.figure("line", figure, caption="Up.")
    spoken = alternative_text(figure)
    assert "<error>" in spoken
    svg = ElementTree.fromstring((folder / "line.svg").read_bytes())
    space = {"": "http://www.w3.org/2000/svg"}
    assert svg.get("aria-label") == svg.findtext("desc", namespaces=space) == spoken
    assert svg.findtext("title", namespaces=space) == "It rises"
    with Image.open(folder / "line.png") as picture:
        assert picture.info["Description"] == spoken


def test_a_figure_is_drawn_twice_with_the_same_bytes(folder: Path) -> None:
    def drawn() -> bytes:
        figure = Figure()
        figure.subplots().plot([1, 2])
        record.figure("line", figure, alt="A line.", caption="It rises.")
        record.begin("documents/D-fig9", folder.parents[1])
        return (folder / "line.svg").read_bytes()

    assert drawn() == drawn()
    assert (folder / "line.png").read_bytes().startswith(b"\x89PNG")


def test_a_claim_is_one_sentence_and_whether_it_holds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record.claim(
        "less", f"The step is at most {3e-12:.0e}.", np.bool_(True), given="n = -1"
    )
    record.claim("rises", f"It rises by {-0.25:.2f}.", False)
    assert capsys.readouterr().out.splitlines() == [
        "The step is at most 3 × 10⁻¹². *(n = −1)*",
        "No longer so with these parameters: It rises by −0.25.",
    ]
    kept = json.loads((folder / "claims.json").read_text())
    assert kept["rises"] == {
        "sentence": "It rises by −0.25.",
        "holds": False,
        "theorem": None,
    }
    assert kept["less"]["given"] == "n = −1"


def test_a_check_is_not_a_claim(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record.check("roads", "Both ways give 0.5.", np.bool_(True))
    record.check("runs", f"Off by {-0.25:.2f}.", False)
    said = capsys.readouterr().out.splitlines()
    assert said == ["✓ Both ways give 0.5.", "✗ Off by −0.25."]
    kept = json.loads((folder / "checks.json").read_text())
    assert kept["runs"] == {"sentence": "Off by −0.25.", "holds": False}
    assert not (folder / "claims.json").exists()


def test_a_number_has_its_setting(folder: Path) -> None:
    record.number("ratio", 2.5, given="300 balanced records, ε = 1e-03")
    record.number("bare", 1.0)
    kept = json.loads((folder / "given.json").read_text())
    assert kept == {"ratio": "300 balanced records, ε = 1 × 10⁻³"}


def test_a_theorem_cannot_fail(folder: Path) -> None:
    record.claim("half", "It is one half.", True, theorem="thm-floor")
    with pytest.raises(AssertionError, match="thm-floor says otherwise: It is two"):
        record.claim("two", "It is two.", False, theorem="thm-floor")
    assert "two" not in (folder / "claims.json").read_text()


def test_a_session_of_ones_own_is_named_by_jupyter_or_by_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPBAYES_RESULTS", raising=False)
    for variable, value, folder in (
        ("", "", "results/notebook"),
        ("JPY_SESSION_NAME", "/x/D-fig5.ipynb", "results/D-fig5"),
        ("DPBAYES_RESULTS", "elsewhere", "elsewhere/D-fig5"),
    ):  # fmt: skip
        record._runs.clear()
        monkeypatch.setenv(variable or "UNUSED", value)
        for again in (1.0, 2.0):  # as when a cell is run again
            record.number("x", again)
        assert json.loads((tmp_path / folder / "numbers.json").read_text()) == {
            "x": 2.0
        }


def test_signs_and_powers_are_typeset() -> None:
    for text, shown in {
        "1e-12, 2.5e+03, 0.0e+00 and 1.0e+00": "1 × 10⁻¹², 2.5 × 10³, 0.0 and 1.0",
        "(-1) [-2, -inf] -.5 % ε = -1.5e-300": "(−1) [−2, −∞] −.5 % ε = −1.5 × 10⁻³⁰⁰",
        "k-3, a 95-100 range, D-fig5, `x = -1e-5`": (
            "k-3, a 95-100 range, D-fig5, `x = -1e-5`"
        ),
        "-0.000 is zero, -0.001 and $-10^{-3}$ not": (
            "0.000 is zero, −0.001 and $-10^{-3}$ not"
        ),
    }.items():
        assert typeset(text) == shown == typeset(shown)


def test_a_table_without_formats_shows_three_digits_and_eight_rows() -> None:
    rows = [0.123456, 1234.5, 7, 1e-7, *range(5)]
    text = as_markdown({"x": rows}, {"x": "x"}, {})
    shown = [line.strip("| ") for line in text.splitlines()[2:]]
    assert shown[:4] == ["0.123", "1,234", "7", "1 × 10⁻⁷"]
    assert shown[-1] == "… and 1 more row"
