"""What leaves a notebook: files with all digits, the same bytes each time, and their provenance."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dpbayes.figures.densities import densities
from dpbayes.press import record as results
from dpbayes.press.shown import SHOWN_ROWS


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> results.Record:
    monkeypatch.setenv("DPBAYES_RESULTS", str(tmp_path))
    return results.record("part/name", parameters={"n": np.int64(3), "sizes": [1, 2]}, seed=7)


def test_numbers_keep_all_their_digits(record: results.Record) -> None:
    record.number("third", np.float64(1) / 3)
    record.number("count", np.int64(12))
    numbers = json.loads((record.folder / "numbers.json").read_text())
    assert numbers == {"count": 12, "third": 1 / 3}
    assert isinstance(numbers["count"], int)


def test_a_table_keeps_all_digits_and_its_columns(record: results.Record) -> None:
    values = np.array([1 / 3, 1e-300, 12345678.9])
    record.table("means", {"n": np.arange(3), "mean": values, "who": ["a", "b,c", 'd"']})
    with (record.folder / "means.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["n", "mean", "who"]
    assert [float(row[1]) for row in rows] == values.tolist()
    assert [row[2] for row in rows] == ["a", "b,c", 'd"']


def test_a_shown_table_names_the_rows_it_hides(record: results.Record) -> None:
    shown = record.table("long", {"<i>": list(range(SHOWN_ROWS + 5))})
    page = shown._repr_html_()
    assert page.count("<tr>") == SHOWN_ROWS + 1
    assert "5 more rows" in page
    assert "&lt;i&gt;" in page
    assert "17 rows" in repr(shown)


def test_one_thing_is_no_plural_in_an_alternative_text(record: results.Record) -> None:
    figure, _ = densities([0.0, 0.5, 1.0], {"prior": [1.0, 1.0, 1.0]})
    shown = record.figure("curve", figure, "The density after 1 records; after 11 records.")
    assert shown.alt == "The density after 1 record; after 11 records."


def test_a_figure_is_shown_with_its_alternative_text(record: results.Record) -> None:
    figure, alt = densities([0.0, 0.5, 1.0], {"prior": [1.0, 1.0, 1.0]})
    bundle, metadata = record.figure("curve", figure, alt)._repr_mimebundle_()
    assert bundle["image/svg+xml"].encode() == (record.folder / "curve.svg").read_bytes()
    assert metadata["image/svg+xml"]["alt"] == alt
    assert (record.folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (record.folder / "curve.narrow.svg").read_bytes()


def test_numbers_show_themselves_outside_the_book(record: results.Record) -> None:
    shown = record.numbers({"third": 1 / 3, "count": 12})
    assert repr(shown) == "third: 0.3333333333\ncount: 12"
    bundle, metadata = shown._repr_mimebundle_()
    assert "<td>third</td><td>0.3333333333</td>" in bundle["text/html"]
    assert metadata == {"dpbayes": {"numbers": True}}


MAKE = """
from dpbayes.press import record as results
from dpbayes.press.shown import SHOWN_ROWS
from dpbayes.figures.densities import densities
record = results.record("part/name", parameters={"n": 3}, seed=1)
record.number("third", 1 / 3)
record.table("table", {"x": [0.1, 0.2]})
record.figure("curve", *densities([0.0, 0.5, 1.0], {"prior": [1, 1, 1], "posterior": [0, 2, 0]}))
"""


def test_same_inputs_same_bytes_in_two_processes(tmp_path: Path) -> None:
    contents = []
    for run in ("one", "two"):
        folder = tmp_path / run
        folder.mkdir()
        subprocess.run([sys.executable, "-c", MAKE], cwd=folder, check=True)
        made = folder / "results" / "part" / "name"
        contents.append({path.name: path.read_bytes() for path in made.iterdir()})
    first, second = (
        {name: content for name, content in one.items() if name != "provenance.json"}
        for one in contents
    )
    assert first == second
    assert sorted(first) == [
        "curve.narrow.svg",
        "curve.png",
        "curve.svg",
        "numbers.json",
        "table.csv",
    ]


def test_provenance_says_how_the_files_were_made(record: results.Record) -> None:
    record.number("one", 1)
    record.table("means", {"n": [1]})
    provenance = json.loads((record.folder / "provenance.json").read_text())
    assert provenance["notebook"] == "part/name"
    assert provenance["parameters"] == {"n": 3, "sizes": [1, 2]}
    assert provenance["seed"] == 7
    assert provenance["versions"]["numpy"] == np.__version__
    assert provenance["seconds"] >= 0
    assert {"commit", "python"} <= provenance.keys()
    for file, digest in provenance["sha256"].items():
        assert hashlib.sha256((record.folder / file).read_bytes()).hexdigest() == digest
    assert provenance["sha256"].keys() == {"numbers.json", "means.csv"}


def test_no_half_written_file_stays(record: results.Record) -> None:
    record.number("one", 1)
    assert not list(record.folder.glob("*.part"))


def test_without_the_variable_results_go_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DPBAYES_RESULTS", raising=False)
    monkeypatch.chdir(tmp_path)
    results.record("a/b", parameters={}).number("x", 1.5)
    assert json.loads((tmp_path / "results/a/b/numbers.json").read_text()) == {"x": 1.5}


@pytest.mark.parametrize("name", ["", "a b", "../x", "/etc", "A", "a//b", "a/", 3])
def test_a_record_needs_a_plain_name(name: object) -> None:
    with pytest.raises(ValueError, match="name must be"):
        results.record(name, parameters={})  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [True, 1.5, "1"])
def test_a_seed_is_an_integer(seed: object) -> None:
    with pytest.raises(TypeError, match="seed must be"):
        results.record("a", parameters={}, seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("-inf")])
def test_a_number_is_finite(record: results.Record, value: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        record.number("x", value)


@pytest.mark.parametrize("value", [True, "1", None, 1j, [1.0]])
def test_a_number_is_a_number(record: results.Record, value: object) -> None:
    with pytest.raises(TypeError, match="must be a real number"):
        record.number("x", value)  # type: ignore[arg-type]


def test_a_name_is_used_once(record: results.Record) -> None:
    record.number("x", 1)
    record.table("x", {"x": [1]})
    with pytest.raises(ValueError, match="'x' twice"):
        record.number("x", 2)
    with pytest.raises(ValueError, match="'x' twice"):
        record.table("x", {"x": [1]})


def test_columns_have_one_length(record: results.Record) -> None:
    with pytest.raises(ValueError, match="one length"):
        record.table("x", {"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="one length"):
        record.table("y", {})


def test_a_figure_needs_a_figure_and_words(record: results.Record) -> None:
    figure, _ = densities([0.0, 1.0], {"prior": [1.0, 1.0]})
    with pytest.raises(TypeError, match="matplotlib Figure"):
        record.figure("x", "figure", "words")
    with pytest.raises(ValueError, match="alt must say"):
        record.figure("x", figure, "  ")


def test_results_import_no_plotting_library() -> None:
    script = "import sys; import dpbayes.press.record; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_two_writers_of_one_file_leave_no_mixture_and_no_error(tmp_path):
    place, contents = tmp_path / "file", [bytes([letter]) * 300_000 for letter in b"ab"]
    results.write_atomically(place, contents[0])

    def writing(content):
        for _ in range(100):
            results.write_atomically(place, content, durable=False)
            assert place.read_bytes() in contents

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(writing, contents))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path, monkeypatch):
    place = tmp_path / "file"
    results.write_atomically(place, b"old")

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "synced", full)
    with pytest.raises(OSError, match="No space left"):
        results.write_atomically(place, b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}
