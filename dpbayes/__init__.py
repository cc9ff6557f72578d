"""Differentially private release of Beta and Dirichlet posteriors, computed exactly.

The modules in the order of the work, counts and prior first:

posteriors     prior and counts give a posterior; the candidate set R
divergences    Hellinger distance that keeps its digits, and the published variant
sensitivity    local, global and smooth sensitivity, each with its witness
laws           exact output distributions
mechanisms     the papers' mechanisms and the references beside them
accuracy       step probabilities, exact mean distances, crossovers
audit          actual epsilon, delta(epsilon), calibration
queries        inference from private answers to linear queries
release        releases of real data from the operating system's randomness
figures        arrays in, figure and alternative text out
results        numbers, tables and figures leave a notebook here
"""

from __future__ import annotations

from dpbayes.accuracy import (
    Crossover,
    crossover,
    laplace_step_probability,
    mean_distances,
    simulate,
    split,
)
from dpbayes.divergences import hellinger, hellinger_published, log_affinity
from dpbayes.mechanisms import REGISTRY, Law, Mechanism, mechanism
from dpbayes.posteriors import (
    Posterior,
    compositions,
    neighbours,
    number_of_candidates,
    posterior,
)
from dpbayes.sensitivity import (
    Sensitivity,
    global_sensitivity,
    local_sensitivity,
    smooth_sensitivity,
)

__version__ = "0.1.0"

__all__ = [
    "REGISTRY",
    "Crossover",
    "Law",
    "Mechanism",
    "Posterior",
    "Sensitivity",
    "compositions",
    "crossover",
    "global_sensitivity",
    "hellinger",
    "hellinger_published",
    "laplace_step_probability",
    "local_sensitivity",
    "log_affinity",
    "mean_distances",
    "mechanism",
    "neighbours",
    "number_of_candidates",
    "posterior",
    "simulate",
    "smooth_sensitivity",
    "split",
]
