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
datasets      real counts shipped with the package
figures       arrays in, figure and alternative text out
study         what only the pages need: experiments, lemmas, closed forms, broken mechanisms
record        what a notebook keeps: numbers, tables, figures and claims
runner        notebooks run, rerun with other parameters, and verified
commands      the command line, one module a command
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from dpbayes._version import VERSION

if TYPE_CHECKING:
    from dpbayes.accuracy import Crossover as Crossover
    from dpbayes.accuracy import MonteCarlo as MonteCarlo
    from dpbayes.accuracy import RecordsNeeded as RecordsNeeded
    from dpbayes.accuracy import crossover as crossover
    from dpbayes.accuracy import laplace_step_probability as laplace_step_probability
    from dpbayes.accuracy import mean_distances as mean_distances
    from dpbayes.accuracy import records_needed as records_needed
    from dpbayes.accuracy import simulate as simulate
    from dpbayes.accuracy import split as split
    from dpbayes.auditing import audit as audit
    from dpbayes.auditing import audit_pair as audit_pair
    from dpbayes.auditing import calibrate as calibrate
    from dpbayes.divergences import hellinger as hellinger
    from dpbayes.divergences import hellinger_published as hellinger_published
    from dpbayes.divergences import log_affinity as log_affinity
    from dpbayes.mechanisms import REGISTRY as REGISTRY
    from dpbayes.mechanisms import Law as Law
    from dpbayes.mechanisms import Mechanism as Mechanism
    from dpbayes.mechanisms import mechanism as mechanism
    from dpbayes.mechanisms.protocol import Guarantee as Guarantee
    from dpbayes.posteriors import Posterior as Posterior
    from dpbayes.posteriors import compositions as compositions
    from dpbayes.posteriors import neighbours as neighbours
    from dpbayes.posteriors import number_of_candidates as number_of_candidates
    from dpbayes.posteriors import posterior as posterior
    from dpbayes.sensitivity import Sensitivity as Sensitivity
    from dpbayes.sensitivity import global_sensitivity as global_sensitivity
    from dpbayes.sensitivity import local_sensitivity as local_sensitivity
    from dpbayes.sensitivity import smooth_sensitivity as smooth_sensitivity
    from dpbayes.tables.drawn import Release as Release
    from dpbayes.tables.drawn import release as release
    from dpbayes.tables.reading import NoiseAwarePosterior as NoiseAwarePosterior

__version__ = VERSION

# Where each public name lives. Names are loaded when they are first asked for, so that a command
# line or a page build that needs none of the mathematics does not wait for scipy.
_HOME = {
    "accuracy": (
        "Crossover",
        "MonteCarlo",
        "RecordsNeeded",
        "crossover",
        "laplace_step_probability",
        "mean_distances",
        "records_needed",
        "simulate",
        "split",
    ),
    "auditing": ("audit", "audit_pair", "calibrate"),
    "divergences": ("hellinger", "hellinger_published", "log_affinity"),
    "mechanisms": ("REGISTRY", "Law", "Mechanism", "mechanism"),
    "posteriors": ("Posterior", "compositions", "neighbours", "number_of_candidates", "posterior"),
    "mechanisms.protocol": ("Guarantee",),
    "tables.drawn": ("Release", "release"),
    "tables.reading": ("NoiseAwarePosterior",),
    "sensitivity": ("Sensitivity", "global_sensitivity", "local_sensitivity", "smooth_sensitivity"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dpbayes' has no attribute {name!r}")
    value = getattr(_import_module(f"dpbayes.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
