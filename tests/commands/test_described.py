"""A mechanism described in words on the command line."""

from __future__ import annotations

import argparse

import pytest

import dpbayes as dp
from dpbayes.commands.described import add_options, chosen_mechanism, numbers, option


def described(*words: str) -> dp.Mechanism:
    parser = argparse.ArgumentParser()
    parser.add_argument("mechanism")
    parser.add_argument("--epsilon", type=float, default=1.0)
    add_options(parser)
    return chosen_mechanism(parser.parse_args(words))


def test_options_reach_the_mechanism() -> None:
    chosen = described("expMech-smooth", "--epsilon", "0.5", "-o", "gamma=0.3")
    assert chosen == dp.mechanism("expMech-smooth", epsilon=0.5, gamma=0.3)
    with pytest.raises(ValueError, match=r"^option gamma is given more than once$"):
        described("expMech-smooth", "-o", "gamma=0.3", "-o", "gamma=0.5")


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("gamma=0.3", ("gamma", 0.3)),
        ("remap=True", ("remap", True)),
        ("rounding=nearest", ("rounding", "nearest")),
        ("projection='l_2'", ("projection", "l_2")),
        ("a=b=c", ("a", "b=c")),
        ("a=__import__('os')", ("a", "__import__('os')")),
        ("a=", ("a", "")),
    ],
)
def test_a_value_is_a_literal_or_a_word_and_never_run(words: str, value: object) -> None:
    assert option(words) == value


def test_numbers_are_named_when_they_are_none() -> None:
    assert numbers("--prior", "1,2.5,1e-3") == [1.0, 2.5, 1e-3]
    with pytest.raises(ValueError, match="--prior must be numbers separated by commas, got '1,x'"):
        numbers("--prior", "1,x")
    for words, message in (("gamma", "given as name=value"), ("gamma=1_0", "in the digits 0 to 9")):
        with pytest.raises(ValueError, match=message):
            option(words)
