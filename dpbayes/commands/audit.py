"""``dpbayes audit``: the actual privacy loss of a mechanism, by going through all neighbours."""

from __future__ import annotations

import argparse
import ast

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("mechanism", choices=sorted(REGISTRY), help="the mechanism's name")
    parser.add_argument("--epsilon", type=float, required=True, help="nominal privacy parameter")
    parser.add_argument("--n", type=int, required=True, help="records in the data set")
    parser.add_argument("--prior", default="1,1", metavar="A,B,…", help="default: 1,1")
    parser.add_argument(
        "-o",
        "--option",
        dest="options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the mechanism, such as gamma=0.3; may be repeated",
    )
    parser.add_argument(
        "--delta-at", type=float, metavar="EPSILON", help="also print delta at this epsilon"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the actual epsilon, where it is attained and, when asked, delta."""
    prior = [number("--prior", word) for word in arguments.prior.split(",")]
    options = dict(option(words) for words in arguments.options)
    mechanism = dp.mechanism(arguments.mechanism, epsilon=arguments.epsilon, **options)
    audit = dp.audit(mechanism, arguments.n, prior)
    witness = audit.witness
    print(f"nominal epsilon {arguments.epsilon:g}, actual epsilon {audit.epsilon:.9g}")
    print(
        f"attained by output {witness.output.tolist()} for counts {witness.counts.tolist()} "
        f"against {witness.neighbour.tolist()}"
    )
    if arguments.delta_at is not None:
        print(f"delta at epsilon {arguments.delta_at:g}: {audit.delta(arguments.delta_at):.9g}")
    print(f"for data sets of {arguments.n} records that differ by replacing one record")
    return 0


def number(name: str, word: str) -> float:
    """Return the number a word stands for, or refuse it by name."""
    try:
        return float(word)
    except ValueError as error:
        raise ValueError(f"{name} must be numbers separated by commas, got {word!r}") from error


def option(words: str) -> tuple[str, object]:
    """Return an option's name and value; what is no number is taken as a word."""
    name, equals, text = words.partition("=")
    if not equals:
        raise ValueError(f"an option is given as name=value, got {words!r}")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return name, text
