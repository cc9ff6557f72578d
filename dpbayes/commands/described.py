"""A mechanism described on the command line: its options and the numbers that go with it."""

from __future__ import annotations

import argparse
import ast

import dpbayes as dp


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a mechanism."""
    parser.add_argument(
        "-o",
        "--option",
        dest="options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the mechanism, such as gamma=0.3; once for each",
    )


def chosen_mechanism(arguments: argparse.Namespace) -> dp.Mechanism:
    """Return the mechanism that `mechanism`, `epsilon` and the options describe."""
    given = [option(words) for words in arguments.options]
    options = dict(given)
    twice = [name for name in options if [one for one, _ in given].count(name) > 1]
    if twice:
        raise ValueError(f"option {twice[0]} is given more than once")
    return dp.mechanism(arguments.mechanism, epsilon=arguments.epsilon, **options)


def numbers(name: str, text: str) -> list[float]:
    """Return the numbers of a list separated by commas."""
    try:
        return [float(plain(word)) for word in text.split(",")]
    except ValueError as error:
        raise ValueError(f"{name} must be numbers separated by commas, got {text!r}") from error


def plain(word: str) -> str:
    """Return a word unless Python reads more in it than digits: 1_0 as 10, and other alphabets.

    >>> plain("10")
    '10'
    """
    if "_" in word or not word.isascii():
        raise ValueError(f"a number must be written in the digits 0 to 9, got {word!r}")
    return word


def option(words: str) -> tuple[str, object]:
    """Return an option's name and value; what is no number is taken as a word."""
    name, equals, text = words.partition("=")
    if not equals:
        raise ValueError(f"an option is given as name=value, got {words!r}")
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return name, text
    return name, value if isinstance(value, str) else ast.literal_eval(plain(text))
