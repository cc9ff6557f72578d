"""Differentially private release of Beta and Dirichlet posteriors, computed exactly.

The modules in the order of the work, counts and prior first:

posteriors    prior and counts give a posterior; the candidate set R
divergences   Hellinger distance that keeps its digits, and the published variant
sensitivity   local, global and smooth sensitivity, each with its witness
laws          exact output distributions
samplers      exact draws from fair bits
mechanisms    the papers' mechanisms and the references beside them
accuracy      step probabilities, exact mean distances, crossovers, records needed
auditing      actual epsilon, delta(epsilon), calibration, composition
tables        a table of people: publish it, ask it, from one account
figures       arrays in, figure and alternative text out
study         what only the pages need: experiments, lemmas, real counts
record        what a notebook keeps: numbers, tables, figures and claims
runner        notebooks run, rerun with other parameters, and verified
commands      the command line, one module a command
"""

from __future__ import annotations

from importlib import import_module as _import_module

__version__ = "0.2.0"

# Names are loaded when they are first asked for: a command line or a page build that
# needs none of the mathematics does not wait for scipy. Where each lives is said once,
# to type checkers.
with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:
    _MODULE_OF = {
        line.split()[-1]: line.split()[1].removeprefix("dpbayes.")
        for line in _stub
        if line.startswith("from dpbayes.")
    }

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dpbayes' has no attribute {name!r}")
    value = getattr(_import_module(f"dpbayes.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
