from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.optimum import (
    OptimalMechanism,
    Remapped,
    _program,
    distance_table,
    record_distances,
    solve_program,
)

FIVE = ("ilapMech", "lapMech", "geometric", "expMech", "expMech-smooth", "permute-and-flip")


def means(mechanism, n, prior):
    return np.array(
        [mechanism.law(x, prior).mean_distance() for x in dp.compositions(n, len(prior))]
    )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.8, 1.0, 5.0])
@pytest.mark.parametrize("n", [5, 20, 40])
def test_the_geometric_mechanism_attains_the_best_mean_for_two_categories(epsilon, n):
    best = means(OptimalMechanism(epsilon), n, [1, 1]).mean()
    geometric = means(dp.mechanism("geometric", epsilon), n, [1, 1]).mean()
    assert abs(best - geometric) <= 1e-6
    assert best >= geometric - 1e-6


@pytest.mark.parametrize("epsilon", [0.8, 1.0, 5.0])
def test_remapped_geometric_attains_the_best_worst_case_for_two_categories(epsilon):
    best = means(OptimalMechanism(epsilon, "worst"), 12, [1, 1]).max()
    base = dp.mechanism("geometric", epsilon)
    assert means(Remapped(base, "minimax"), 12, [1, 1]).max() == pytest.approx(best, abs=1e-6)
    assert means(base, 12, [1, 1]).max() > best * 1.003


@pytest.mark.parametrize(
    ("n", "epsilon", "prior"),
    [
        (7, 8.7, (7e3, 6.3e3)),
        (7, 12.0, (7e3, 7e3)),
        (12, 9.4, (204.5, 17.0)),
        (6, 8.0, (20.0, 3.0)),
    ],
)
def test_a_minimax_remap_is_not_worse_than_none_where_losses_are_small(n, epsilon, prior):
    base = dp.mechanism("geometric", epsilon)
    best = means(OptimalMechanism(epsilon, "worst"), n, prior).max()
    remapped = means(Remapped(base, "minimax"), n, prior).max()
    assert remapped <= means(base, n, prior).max() * (1.0 + 1e-9)
    assert remapped <= best * (1.0 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mean", "worst"])
@pytest.mark.parametrize(("n", "prior"), [(9, (1.0, 0.2)), (3, (1.0, 1.0, 2.0)), (2, (1.0,) * 4)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_optimum_is_private_and_no_mechanism_passes_it(objective, n, prior, epsilon):
    optimum = OptimalMechanism(epsilon, objective)
    audited = dp.audit(optimum, n, prior).epsilon
    # At a small epsilon the best may be one answer for everybody.
    assert audited <= epsilon + 1e-12
    assert audited >= epsilon - 1e-6 or epsilon < 1.0
    reduce = np.mean if objective == "mean" else np.max
    best = reduce(means(optimum, n, prior))
    for name in FIVE:
        if name == "geometric" and len(prior) > 2:
            continue
        if name in ("ilapMech", "lapMech") and len(prior) > 2:
            continue  # their outputs leave the candidate set
        assert reduce(means(dp.mechanism(name, epsilon), n, prior)) >= best - 1e-6
    table = optimum.table(n, prior)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
    assert not table.flags.writeable


def test_weak_duality_certifies_the_optimum():
    """A second road: the dual of the program, solved apart, gives the same number from below."""
    n, prior, epsilon = 6, [1.0, 1.0], 1.0
    losses, apart = distance_table(n, prior), record_distances(n, 2)
    size = n + 1
    first, second = np.nonzero(apart == 1)
    # maximise sum_x u_x with u_x + sum of (price of (x, x', r)) terms <= loss, prices >= 0.
    matrix = np.zeros((size * size, 2 * size + first.size * size))
    for x in range(size):
        for r in range(size):
            matrix[x * size + r, [x, size + x]] = [1.0, -1.0]
    for pair, (x, other) in enumerate(zip(first, second, strict=True)):
        for r in range(size):
            column = 2 * size + pair * size + r
            matrix[x * size + r, column] -= 1.0
            matrix[other * size + r, column] += np.exp(epsilon)
    from scipy.optimize import linprog

    cost = np.concatenate((-np.ones(size), np.ones(size), np.zeros(first.size * size)))
    dual = linprog(cost, A_ub=matrix, b_ub=losses.ravel() / size, bounds=(0, None))
    table = _program(losses, apart, epsilon, "mean")
    assert -dual.fun == pytest.approx((table * losses).sum() / size, abs=1e-8)
    assert means(OptimalMechanism(epsilon), n, prior).mean() >= -dual.fun - 1e-12


def test_bayes_remap_is_the_best_guess_for_each_output():
    base, n, prior = dp.mechanism("ilapMech", 0.7), 7, [1.0, 0.5]
    remapped = Remapped(base, "bayes")
    before, after = means(base, n, prior).mean(), means(remapped, n, prior).mean()
    table = np.array([base.law(x, prior).probabilities for x in dp.compositions(n, 2)])
    losses = distance_table(n, prior)
    best = sum(min(table[:, r] @ losses[:, s] for s in range(n + 1)) for r in range(n + 1))
    assert after == pytest.approx(best / (n + 1), rel=1e-12)
    assert after < before
    assert dp.audit(remapped, n, prior).epsilon <= 0.7 + 1e-12


def test_bad_input_says_how_large_and_what_fits():
    with pytest.raises(
        ValueError, match=r"101 histograms.*k = 2 the linear program takes n up to 65"
    ):
        OptimalMechanism(1.0).law([50, 50], [1, 1])
    with pytest.raises(ValueError, match="at k = 3 the linear program takes n up to 10"):
        OptimalMechanism(1.0).table(20, [1, 1, 1])
    with pytest.raises(ValueError, match="objective must be one of mean, worst"):
        OptimalMechanism(1.0, "median")
    with pytest.raises(ValueError, match="rule must be one of bayes, minimax"):
        Remapped(dp.mechanism("geometric", 1.0), "mean")
    with pytest.raises(TypeError, match="base must list every histogram"):
        Remapped(dp.mechanism("ilapMech", 1.0), "bayes").law([1, 1, 1], [1, 1, 1])
    infeasible = np.ones((1, 1))
    with pytest.raises(ArithmeticError, match="not solved"):
        solve_program(np.array([1.0]), infeasible, infeasible)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon", "objective"), [(40, 1.0, "worst"), (40, 0.5, "worst")])
def test_larger_programs_keep_their_promise_with_a_margin(n, epsilon, objective):
    optimal = dp.mechanism("optimal", epsilon, objective=objective)
    table = np.log(optimal.table(n, [1, 1]))
    assert np.abs(np.diff(table, axis=0)).max() < epsilon - 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mean", "worst"])
@pytest.mark.parametrize("epsilon", [0.02, 1.0, 17.0, 18.5, 20.0, 40.0])
@pytest.mark.parametrize("k", [2, 3, 4, 10])
def test_one_record_is_best_released_by_randomised_response(k, epsilon, objective):
    # All histograms of one record are neighbours, and renaming the categories makes every
    # off-diagonal probability of an optimal table the same: e^-epsilon of the diagonal one.
    for a in (1e-3, 1.0):
        apart = float(dp.hellinger([1 + a, a], [a, 1 + a]))
        others = (k - 1) * np.exp(-epsilon)
        want = others / (1.0 + others) * apart
        found = np.asarray(means(OptimalMechanism(epsilon, objective), 1, (a,) * k)).max()
        assert found == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("objective", ["mean", "worst"])
@pytest.mark.parametrize("epsilon", [1e-9, 2e-7, 70.0, 800.0, 1e5])
def test_an_epsilon_that_no_solver_takes_is_refused_by_name(epsilon, objective):
    optimal = dp.mechanism("optimal", epsilon, objective=objective)
    allowed = rf"epsilon must lie in \[1e-06, 69\] .*, got {epsilon!r}"
    with pytest.raises(ValueError, match=allowed):
        optimal.law([2, 1], [1, 1])


@pytest.mark.parametrize("objective", ["mean", "worst"])
@pytest.mark.parametrize("epsilon", [1e-6, 69.0])
@pytest.mark.parametrize("counts", [[1, 0], [3, 4], [2, 1, 1]])
def test_the_ends_of_the_range_of_epsilon_are_solved(epsilon, objective, counts):
    optimal = dp.mechanism("optimal", epsilon, objective=objective)
    table = optimal.table(sum(counts), [1] * len(counts))
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
    logs = np.log(table)
    apart = record_distances(sum(counts), len(counts))
    ratios = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert np.all(ratios <= epsilon * apart)
