"""One question for each value: together they are the whole, and each is a question of its own."""

from __future__ import annotations

import numpy as np
import pytest

from dpbayes.queries import Bins, Categories, Cube
from dpbayes.queries.groups import by_value, conditions

CUBE = Cube(
    (
        Bins("age", (18, 38, 58.5, 78)),
        Categories("sex", ("f", "m")),
        Categories("visits", (0, 1, 2)),
    ),
    np.arange(18),
)


@pytest.mark.parametrize("attribute", ["age", "sex", "visits"])
@pytest.mark.parametrize(
    "question", ["all", "sex = 'f' or age between 18 and 38", "not visits = 1"]
)
def test_the_parts_add_up_to_the_question(attribute, question):
    parts = by_value(CUBE, question, attribute)
    rows = np.array([CUBE.query(text) for text, _ in parts])
    assert rows.sum(axis=0).tolist() == CUBE.query(question).tolist()
    assert len(parts) == CUBE.shape[[a.name for a in CUBE.attributes].index(attribute)]
    assert {request for _, request in parts} == {None}


def test_without_an_attribute_it_is_the_question_itself():
    assert by_value(CUBE, "all", None, request="a") == [("all", "a")]


def test_an_unknown_attribute_is_named():
    with pytest.raises(ValueError, match=r"--by must be .* \(age, sex, visits\), got 'income'"):
        by_value(CUBE, "all", "income", "--by")


def test_conditions_are_written_as_the_attribute_declares_them():
    assert conditions(CUBE.attributes[1]) == ["sex = 'f'", "sex = 'm'"]
    assert conditions(CUBE.attributes[2]) == ["visits = 0", "visits = 1", "visits = 2"]
    assert len(conditions(CUBE.attributes[0])) == 3


@pytest.mark.parametrize(
    "attribute",
    [
        Categories("sex", ("f", "o'neil", 'say "m"')),
        Categories("größe in cm", ("s", "l")),
        Categories("not", (-1.5, 2)),
        Categories("visits", tuple(np.arange(3.0))),
        Bins("all", (-1e-7, 0.1, 1e22)),
    ],
)
def test_every_name_and_value_can_be_asked_for(attribute):
    cube = Cube((attribute,), np.arange(attribute.size))
    rows = [cube.query(text) for text, _ in by_value(cube, "all", attribute.name)]
    np.testing.assert_array_equal(rows, np.eye(attribute.size))


def test_a_value_that_no_query_can_write_is_refused_before_anything_is_asked():
    cube = Cube((Categories("sex", ("f", 'o\'neil "m"')),), [1, 2])
    with pytest.raises(ValueError, match="must not have both kinds of quotation mark"):
        by_value(cube, "all", "sex")
