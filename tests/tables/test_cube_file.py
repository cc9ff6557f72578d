"""Cube and service files: every key with words, and every mistake with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpbayes.tables.files import CubeFile, PlanError, ServiceFile

CUBE = """source = "people.csv"
unit = "record"
bound = 1.0
[[attribute]]
name = "sex"
values = ["f", "m"]
"""
SERVICE = """cube = "people.toml"
account = "people.account"
[[analyst]]
name = "anna"
token = "{}"
budget = "0.4"
""".format("a" * 64)


def cube(folder: Path, text: str) -> CubeFile:
    (folder / "people.toml").write_text(text)
    return CubeFile.read(folder / "people.toml")


def service(folder: Path, text: str) -> ServiceFile:
    (folder / "service.toml").write_text(text)
    return ServiceFile.read(folder / "service.toml")


def attribute(line: str) -> str:
    return CUBE.replace('values = ["f", "m"]', line)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            attribute("categories = [1, 2, 3]"),
            "sex must have no key 'categories'.*values",
        ),
        (attribute("values = [1, 'a']"), "values of sex must be all text or all numb"),
        (attribute("values = [true, false]"), "values must be a real number"),
        (attribute("values = 'f'"), "values must be a list"),
        (attribute("values = []"), "values of sex must be distinct and at least 1"),
        (attribute("edges = [5]"), "edges of sex must be at least 2 numbers"),
        (attribute("edges = [0, nan]"), "-inf may be the first and inf the last"),
        (attribute("edges = [0, inf, 3]"), "-inf may be the first and inf the last"),
        (attribute("edges = ['a', 'b']"), "edges must be a real number, got 'a'"),
        (attribute("whole = true"), "sex must have either edges = .* or values ="),
        (attribute("values = ['a']\nedges = [0, 1]"), "sex must have either edges"),
        (attribute("values = ['a']\nwhole = true"), "must have whole with edges"),
        (
            CUBE.replace('name = "sex"', "name = 3"),
            "name must be that of a column, got 3",
        ),
        (CUBE.split("[[")[0], "attribute must be given"),
        (CUBE.split("[[")[0] + "attribute = 3", "attribute must be tables, each"),
        (CUBE.replace("1.0", "0"), "line 3: bound must be greater than 0"),
        (CUBE.replace("1.0", "'1'"), "line 3: bound must be a valid number"),
        (
            CUBE.replace("bound = 1.0", "bond = 1"),
            "line 3: no such key 'bond'; there are",
        ),
        (
            'missing = "x"\n' + CUBE,
            "line 1: missing must be .*a value that an attribute lists .f, m.",
        ),
        ('missing_values = ["f"]\n' + CUBE, "missing_values must not have what sex"),
        ('outside = "keep"\n' + CUBE, "outside must be 'refuse' or 'drop', got 'keep'"),
        ('neighbours = "x"\n' + CUBE, "neighbours must be 'add-or-remove' or 'replace"),
        ('count = "sex"\n' + CUBE, "line 1: count must be a column that is no attri"),
        (
            CUBE.replace('unit = "record"', ""),
            "must be given, and not both: it says who",
        ),
    ],
)
def test_a_mistake_in_a_cube_file_is_told_with_what_to_write(tmp_path, text, told):
    with pytest.raises(PlanError, match=told) as error:
        cube(tmp_path, text)
    assert str(error.value).startswith(str(tmp_path / "people.toml"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (r"token = .*\n", "", r"token of analyst 1 .anna. must be given"),
        (
            r"token = .*",
            'token = "secret"',
            r"line 5: token of analyst 1 .* the digest",
        ),
        (r"name = .*", 'name = "an na"', r"name of analyst 1 .* 1 to 64 letters and"),
        (r"budget = .*", 'budget = "-1"', r"budget of analyst 1 .* a positive number"),
        (r"budget = .*", 'budget = "1"\nlimit = 3', r"no such key limit of analyst 1"),
        (r"(?s)\[\[.*", "analyst = []", "analyst must"),
        (r"(?s)\[\[.*", "", "analyst must be given"),
        (r"cube = .*", "cube = 3", "line 1: cube must be the path of a file, got 3"),
        (r"^", "tick = 0\n", "line 1: tick must be greater than 0"),
        (r"^", "most_answers = 9999\n", "line 1: most_answers must be less than or"),
        (r"^", 'smallest_price = "x"\n', "line 1: smallest_price must be a positive"),
    ],
)
def test_a_mistake_in_a_service_file_is_told_with_what_to_write(
    tmp_path, old, new, told
):
    with pytest.raises(PlanError, match=told) as error:
        service(tmp_path, re.sub(old, new, SERVICE, count=1))
    assert "Field required" not in str(error.value)
    assert "secret" not in str(error.value)  # it may be the token itself


def test_every_key_is_on_the_page_and_in_the_docstring():
    root = Path(__file__).parents[2]
    page = (root / "book" / "chapters" / "questions.md").read_text()
    module = (root / "dpbayes" / "tables" / "files.py").read_text()
    for model in (CubeFile, ServiceFile):
        for name, field in model.model_fields.items():
            key = field.alias or name
            if key != "file":
                assert f"`{key}`" in page, key
                assert re.search(rf"^    (\[\[)?{key}\b", module, re.M) or (
                    f"{key} = " in module
                ), key
    for key in ("name", "edges", "values", "whole", "token", "budget"):
        assert f"`{key}`" in page, key


def test_empty_cells_are_named_and_the_message_says_what_to_write(tmp_path):
    (tmp_path / "people.csv").write_text('sex\nf\n""\nm\n')
    with pytest.raises(ValueError, match=r"row 2 has no value in 'sex' .an empty cell"):
        cube(tmp_path, CUBE).cube()
    assert cube(tmp_path, 'missing = "drop"\n' + CUBE).cube().counts.tolist() == [1, 1]
    unknown = 'missing = "unknown"\n' + CUBE.replace('"m"]', '"m", "unknown"]')
    assert cube(tmp_path, unknown).cube().counts.tolist() == [1, 1, 1]
    listed = CUBE.replace('"m"]', '"m", ""]')
    assert cube(tmp_path, listed).cube().counts.tolist() == [1, 1, 1]


def test_a_label_counts_missing_values_where_it_is_listed_and_nowhere_else(tmp_path):
    age = '[[attribute]]\nname = "age"\nedges = [0, 50, 100]\n'
    text = 'missing = "unknown"\n' + CUBE.replace('"m"]', '"m", "unknown"]') + age
    (tmp_path / "people.csv").write_text("sex,age\nf,5\nNA,60\n")
    assert cube(tmp_path, text).cube().counts.tolist() == [1, 0, 0, 0, 0, 1]
    (tmp_path / "people.csv").write_text("sex,age\nf,\n")
    with pytest.raises(ValueError, match=r"row 1 has no value in 'age' .an empty cell"):
        cube(tmp_path, text).cube()
