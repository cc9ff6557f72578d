"""Bayesian inference from private answers to linear queries, and the online query system (E).

`workload` queries, sensitivities, scales · `blue` best linear unbiased estimate · `noise` exact law
of its error · `masses` the two approximations and the exact mass vector · `intervals` credible
intervals and hypotheses · `belief`, `gibbs` the full posterior · `budget` the smallest budget for
an interval · `cost` overall privacy cost · `factor` a factorisation that grows · `example` the
worked example.
"""

from dpbayes.queries.belief import OneUnknown, posterior_one_unknown
from dpbayes.queries.blue import (
    Blue,
    NotEstimableError,
    blue,
    chebyshev_delta,
    chebyshev_half_width,
)
from dpbayes.queries.budget import Allocation, allocation, budget, budget_with_history, combine
from dpbayes.queries.cost import CellCosts, cost_of_cells, cost_of_scales, no_cost, privacy_cost
from dpbayes.queries.example import WorkedExample, worked_example
from dpbayes.queries.factor import Factor, empty_factor
from dpbayes.queries.gibbs import PosteriorDraws, posterior_draws
from dpbayes.queries.intervals import (
    CellInterval,
    Interval,
    confidence,
    credible_interval,
    gaussian_half_width,
    interval,
    probability_at_least,
)
from dpbayes.queries.masses import (
    MassVector,
    combined_loss,
    convolution_work,
    exact_masses,
    expected_squared_error,
    laplace_masses,
    pmf_monte_carlo,
    pmf_probability_calculation,
)
from dpbayes.queries.noise import NoiseLaw, equal_scale_density
from dpbayes.queries.workload import (
    all_intervals,
    laplace_scales,
    random_ranges,
    range_query,
    sensitivity,
    sensitivity_witness,
    tree_workload,
)

__all__ = [
    "Allocation",
    "Blue",
    "CellCosts",
    "CellInterval",
    "Factor",
    "Interval",
    "MassVector",
    "NoiseLaw",
    "NotEstimableError",
    "OneUnknown",
    "PosteriorDraws",
    "WorkedExample",
    "all_intervals",
    "allocation",
    "blue",
    "budget",
    "budget_with_history",
    "chebyshev_delta",
    "chebyshev_half_width",
    "combine",
    "combined_loss",
    "confidence",
    "convolution_work",
    "cost_of_cells",
    "cost_of_scales",
    "credible_interval",
    "empty_factor",
    "equal_scale_density",
    "exact_masses",
    "expected_squared_error",
    "gaussian_half_width",
    "interval",
    "laplace_masses",
    "laplace_scales",
    "no_cost",
    "pmf_monte_carlo",
    "pmf_probability_calculation",
    "posterior_draws",
    "posterior_one_unknown",
    "privacy_cost",
    "probability_at_least",
    "random_ranges",
    "range_query",
    "sensitivity",
    "sensitivity_witness",
    "tree_workload",
    "worked_example",
]
