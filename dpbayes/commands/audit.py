"""``dpbayes audit``: the actual privacy loss of a mechanism, by going through all
neighbours.
"""

from __future__ import annotations

import argparse
import ast
import contextlib

import dpbayes as dp
from dpbayes.mechanisms import REGISTRY
from dpbayes.notebooks.parameters import Parameter, from_words


def listed_options() -> str:
    """Return the options of every mechanism with their defaults, for the help."""
    lines = ["options of the mechanisms, each with its default:"]
    for name, spec in REGISTRY.items():
        lines += ["", f"  {name}"] + [
            f"    {option}={spec.defaults[option]}: {declared.words}"
            for option, declared in spec.options.items()
        ]
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add, what = parser.add_argument, "an option of the mechanism, as listed below"
    parser.epilog = listed_options()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add("mechanism", choices=sorted(REGISTRY), help="the mechanism's name")
    add("--epsilon", required=True, help="nominal privacy parameter")
    add("--n", type=int, required=True, help="records in the data set")
    add("--prior", default="1,1", metavar="A,B,…", help="default: 1,1")
    add("-o", "--option", action="append", default=[], metavar="NAME=VALUE", help=what)
    add(
        "--delta-at",
        type=float,
        metavar="EPSILON",
        help="also print delta at this epsilon",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the actual epsilon, where it is attained and, when asked, delta."""
    prior = Parameter("--prior", "list[float]", None).parse(arguments.prior)
    options: dict[str, object] = dict(from_words(arguments.option))
    for name, text in from_words(arguments.option).items():
        with contextlib.suppress(ValueError, SyntaxError):  # it is a word
            options[name] = ast.literal_eval(text)
    mechanism = dp.mechanism(arguments.mechanism, epsilon=arguments.epsilon, **options)
    audit = dp.audit(mechanism, arguments.n, prior)
    found = audit.witness
    actual = f"{audit.epsilon:.9g} (± {audit.epsilon.error:.1g})"
    print(f"nominal epsilon {mechanism.epsilon:g}, actual epsilon {actual}")
    counts = f"counts {found.counts.tolist()} against {found.neighbour.tolist()}"
    print(f"attained by output {found.output.tolist()} for {counts}")
    if arguments.delta_at is not None:
        print(
            f"delta at epsilon {arguments.delta_at:g}:"
            f" {audit.delta(arguments.delta_at):.9g}"
        )
    print(f"for data sets with n = {arguments.n} that differ by replacing one record")
    return 0
