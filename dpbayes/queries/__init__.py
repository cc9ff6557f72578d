"""Bayesian inference from private answers to linear queries, and the online query system (E).

`workload` queries, sensitivities, scales · `blue` best linear unbiased estimate · `boxes` the same
for boxes of cubes too large for matrices · `consistent`
estimates that fit counts of at least 0 · `noise` exact law of its error · `masses` the two
approximations and the exact mass vector · `intervals` credible intervals and hypotheses · `belief`,
`gibbs` the full posterior · `budget` the smallest budget for an interval · `cost` overall privacy
cost · `factor`, `growing` a factorisation that grows · `decision`, `answers`, `server` the online
system · `grid` exact noise for real answers · `ledger` the spend on disk · `cube`, `edges`,
`predicate` real tables and query texts · `rand_hie` the real table · `example` the worked example.
"""

from dpbayes.queries.answers import Answer, Source
from dpbayes.queries.belief import OneUnknown, posterior_one_unknown
from dpbayes.queries.blue import (
    Blue,
    NotEstimableError,
    blue,
    chebyshev_delta,
    chebyshev_half_width,
)
from dpbayes.queries.boxes import Boxes, BoxEstimates, blue_of_boxes
from dpbayes.queries.budget import Allocation, allocation, budget, budget_with_history, combine
from dpbayes.queries.consistent import Consistent
from dpbayes.queries.cost import CellCosts, cost_of_cells, cost_of_scales, no_cost, privacy_cost
from dpbayes.queries.cube import Bins, Categories, Cube, build_cube
from dpbayes.queries.decision import Decision, Policy, decide, empty_state
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
from dpbayes.queries.ledger import Entry, Ledger, LedgerError, open_ledger
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
from dpbayes.queries.predicate import PredicateError
from dpbayes.queries.rand_hie import rand_hie_cells, rand_hie_cube
from dpbayes.queries.server import QueryServer
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
    "Answer",
    "Bins",
    "Blue",
    "BoxEstimates",
    "Boxes",
    "Categories",
    "CellCosts",
    "CellInterval",
    "Consistent",
    "Cube",
    "Decision",
    "Entry",
    "Factor",
    "Interval",
    "Ledger",
    "LedgerError",
    "MassVector",
    "NoiseLaw",
    "NotEstimableError",
    "OneUnknown",
    "Policy",
    "PosteriorDraws",
    "PredicateError",
    "QueryServer",
    "Source",
    "WorkedExample",
    "all_intervals",
    "allocation",
    "blue",
    "blue_of_boxes",
    "budget",
    "budget_with_history",
    "build_cube",
    "chebyshev_delta",
    "chebyshev_half_width",
    "combine",
    "combined_loss",
    "confidence",
    "convolution_work",
    "cost_of_cells",
    "cost_of_scales",
    "credible_interval",
    "decide",
    "empty_factor",
    "empty_state",
    "equal_scale_density",
    "exact_masses",
    "expected_squared_error",
    "gaussian_half_width",
    "interval",
    "laplace_masses",
    "laplace_scales",
    "no_cost",
    "open_ledger",
    "pmf_monte_carlo",
    "pmf_probability_calculation",
    "posterior_draws",
    "posterior_one_unknown",
    "privacy_cost",
    "probability_at_least",
    "rand_hie_cells",
    "rand_hie_cube",
    "random_ranges",
    "range_query",
    "sensitivity",
    "sensitivity_witness",
    "tree_workload",
    "worked_example",
]
