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
notebooks     what a notebook declares, its session, where its numbers came from
record        what a notebook keeps: numbers, tables, figures and claims
runner        notebooks run, rerun with other parameters, and verified
commands      the command line, one module a command
"""

from __future__ import annotations

from dpbayes._lazy import attach as _attach

__version__ = "0.3.0"

_MODULE_OF = {
    "Crossover": "accuracy",
    "RecordsNeeded": "accuracy",
    "crossover": "accuracy",
    "laplace_step_probability": "accuracy",
    "mean_distances": "accuracy",
    "records_needed": "accuracy",
    "split": "accuracy",
    "Calibrated": "auditing.calibration",
    "audit": "auditing",
    "audit_pair": "auditing",
    "calibrate": "auditing",
    "hellinger": "divergences",
    "hellinger_published": "divergences",
    "log_affinity": "divergences",
    "Law": "mechanisms",
    "Mechanism": "mechanisms",
    "REGISTRY": "mechanisms",
    "mechanism": "mechanisms",
    "Guarantee": "mechanisms.protocol",
    "Posterior": "posteriors",
    "compositions": "posteriors",
    "neighbours": "posteriors",
    "number_of_candidates": "posteriors",
    "posterior": "posteriors",
    "Sensitivity": "sensitivity",
    "global_sensitivity": "sensitivity",
    "local_sensitivity": "sensitivity",
    "smooth_sensitivity": "sensitivity",
    "Release": "tables.drawn",
    "release": "tables.drawn",
    "CountError": "tables.forecast",
    "count_error": "tables.forecast",
    "read": "tables.published",
    "NoiseAwarePosterior": "tables.reading",
}
"""The module of every public name; ``__init__.pyi`` says it to type checkers."""

_MODULES = ("figures", "laws", "tables")

__all__ = sorted(_MODULE_OF)
__getattr__, __dir__ = _attach(__name__, _MODULE_OF, _MODULES)
