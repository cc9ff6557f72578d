"""A release is data: its file has a schema and is read back with its reading."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.__main__ import main
from dpbayes.mechanisms.geometric import IndependentNoise
from dpbayes.tables.analysis import parts_of
from dpbayes.tables.published import PublishedRelease, json_schema, noise_of
from dpbayes.tables.report import csv_text, html_text
from tests.tables.clinic import PLAN, released, stored

BOOK = Path(__file__).parents[2] / "book"


@pytest.mark.parametrize(
    "more",
    [
        "",
        "prior = 2\n",
        'records = "secret"\n',
        'mechanism = "ilapMech"\noptions = {rounding = "nearest"}\n',
    ],
)
def test_a_release_is_read_back_as_it_was(clinic, more):
    paid = released(clinic, PLAN + more)
    file = clinic / "release.json"
    file.write_text(json.dumps(paid.record()))
    found = dp.read(file)
    assert repr(found) == repr(paid.private)
    assert np.array_equal(found.interval(), paid.private.interval())
    assert found.shares().design_effect == paid.private.design_effect
    assert np.array_equal(found.noise_aware().mean, paid.private.noise_aware().mean)
    assert found.guarantee == paid.private.guarantee


def test_what_the_command_writes_is_what_the_schema_says(clinic, capsys):
    assert main(["release", "people.csv", "--plan", "plan.toml", "--output", "o"]) == 0
    record = json.loads((clinic / "o" / "release.json").read_text())
    PublishedRelease.model_validate(record)
    assert dp.read(clinic / "o" / "release.json").n == 70
    assert set(json_schema()["properties"]) == set(record)


def test_the_schema_of_the_book_is_the_model_s():
    published = json.loads((BOOK / "chapters" / "release.schema.json").read_text())
    assert published == json_schema()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "schema is missing"),
        ("[1", "must be a release.json, got"),
        (
            json.dumps({**stored(["a", "b"], counts=[1, 2], noisy=[1, 2]), "x": 1}),
            "x :",
        ),
        (json.dumps({"schema": "dpbayes.release/5"}), "schema : Input should be"),
    ],
)
def test_a_file_that_is_no_release_is_refused_in_words(tmp_path, text, told):
    (tmp_path / "release.json").write_text(text)
    with pytest.raises(ValueError, match=r"path must be a release\.json") as error:
        dp.read(tmp_path / "release.json")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_the_noise_is_described_by_the_spread_of_its_draws():
    rng = np.random.default_rng(3)
    for k, epsilon in ((2, 1.0), (5, 0.3)):
        lattice = dp.mechanism("lattice", epsilon)
        drawn = lattice.noise(rng, k, 20_000)[:, 0]
        found = noise_of(lattice, k)
        assert found.scale == 2 / epsilon
        assert found.standard_deviation == pytest.approx(drawn.std(), rel=0.03)
    a = math.exp(-0.5)
    alone = noise_of(IndependentNoise(0.5), 4)
    assert alone.standard_deviation == pytest.approx(math.sqrt(2 * a) / (1 - a))
    laplace = noise_of(dp.mechanism("ilapMech", 0.2), 4)
    rounded = np.floor(rng.laplace(scale=10.0, size=40_000)).std()
    assert (laplace.scale, "rounded down" in laplace.law) == (10.0, True)
    assert laplace.standard_deviation == pytest.approx(rounded, rel=0.03)
    assert noise_of(dp.mechanism("permute-and-flip", 1.0), 3) is None


def test_a_csv_has_one_variable_a_column():
    record = stored(
        ["f, no", "f, yes", "m, no", "m, yes"], columns=["sex", "smokes"],
        counts=[40, 10, 25, 25], noisy=[40, 10, 25, 25],
    )  # fmt: skip
    record["analysis"] = {name: part() for name, part in parts_of(record).items()}
    lines = list(csv.DictReader(csv_text(record).splitlines()))
    assert [(line["sex"], line["smokes"]) for line in lines] == [
        ("f", "no"), ("f", "yes"), ("m", "no"), ("m", "yes"),
    ]  # fmt: skip
    assert float(lines[1]["within_share"]) == 0.2
    assert float(lines[1]["within_table_low"]) < 0.2
    assert float(lines[1]["within_population_high"]) > 0.2
    assert {line["noise_law"] for line in lines} == {"geometric"}
    assert lines[0]["noise_standard_deviation"] == "5.0"
    page = html_text(record)
    assert "Shares within each sex" in page
    assert "no further epsilon" in page
    assert "<td>0.200</td>" in page or "<td>0.20</td>" in page
