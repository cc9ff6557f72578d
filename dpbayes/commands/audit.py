"""``dpbayes audit``: the actual privacy loss of a mechanism, by going through all neighbours."""

from __future__ import annotations

import argparse
import ast

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.tables.decimals import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("mechanism", choices=sorted(REGISTRY), help="the mechanism's name")
    add("--epsilon", required=True, help="nominal privacy parameter")
    add("--n", type=int, required=True, help="records in the data set")
    add("--prior", default="1,1", metavar="A,B,…", help="default: 1,1")
    what = "an option of the mechanism, such as gamma=0.3; once for each"
    add(
        "-o",
        "--option",
        dest="options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=what,
    )
    add("--delta-at", type=float, metavar="EPSILON", help="also print delta at this epsilon")


def run(arguments: argparse.Namespace) -> int:
    """Print the actual epsilon, where it is attained and, when asked, delta."""
    try:
        prior = [float(word) for word in arguments.prior.split(",")]
    except ValueError:
        raise ValueError(f"--prior must be numbers, got {arguments.prior!r}") from None
    options = dict(map(option, arguments.options))
    mechanism = dp.mechanism(arguments.mechanism, epsilon=arguments.epsilon, **options)
    audit = dp.audit(mechanism, arguments.n, prior)
    witness = audit.witness
    print(f"nominal epsilon {mechanism.epsilon:g}, actual epsilon {audit.epsilon:.9g}")
    counts = f"counts {witness.counts.tolist()} against {witness.neighbour.tolist()}"
    print(f"attained by output {witness.output.tolist()} for {counts}")
    if arguments.delta_at is not None:
        print(f"delta at epsilon {arguments.delta_at:g}: {audit.delta(arguments.delta_at):.9g}")
    print(f"for data sets of {counted(arguments.n, 'record')} that differ by replacing one record")
    return 0


def option(words: str) -> tuple[str, object]:
    """Return an option's name and value; what is no literal is taken as a word.

    >>> option("gamma=0.3"), option("rounding=nearest")
    (('gamma', 0.3), ('rounding', 'nearest'))
    """
    name, equals, text = words.partition("=")
    if not equals:
        raise ValueError(f"an option is given as name=value, got {words!r}")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return name, text
