"""What nothing can beat: programs against their duals, remaps against plain
minimisation.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog

import dpbayes as dp
from dpbayes.mechanisms import geometric
from dpbayes.mechanisms.geometric import TruncatedGeometric, best_answers
from dpbayes.mechanisms.optimum import (
    OptimalMechanism,
    Remapped,
    _program,
    distance_table,
    record_distances,
    solve_program,
)
from tests.reference.laws import Reference

RIVALS = (
    "ilapMech",
    "lapMech",
    "geometric",
    "expMech",
    "expMech-smooth",
    "permute-and-flip",
)


def means(mechanism, n, prior):
    laws = (mechanism.law(x, prior) for x in dp.compositions(n, len(prior)))
    return np.array([law.mean_distance() for law in laws])


@pytest.mark.parametrize(
    ("n", "epsilon", "prior"),
    [
        (12, 0.8, (1.0, 1.0)),
        (12, 5.0, (1.0, 1.0)),
        (7, 12.0, (7e3, 7e3)),
        (6, 8.0, (20.0, 3.0)),
    ],
)
def test_a_minimax_remap_attains_the_best_worst_case_also_where_losses_are_small(
    n, epsilon, prior
):
    base = dp.mechanism("geometric", epsilon)
    rivals = OptimalMechanism(epsilon, "worst"), Remapped(base, "minimax"), base
    best, remapped, plain = (means(one, n, prior).max() for one in rivals)
    assert remapped == pytest.approx(best, rel=1e-5)
    assert remapped <= plain * (1.0 + 1e-9 if prior != (1.0, 1.0) else 0.997)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mean", "worst"])
@pytest.mark.parametrize(
    ("n", "prior"), [(9, (1.0, 0.2)), (3, (1.0, 1.0, 2.0)), (2, (1.0,) * 4)]
)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_optimum_is_private_and_no_mechanism_passes_it(
    objective, n, prior, epsilon
):
    optimum = OptimalMechanism(epsilon, objective)
    # At a small epsilon the best may be one answer for everybody.
    assert (
        epsilon - 1e-6 <= dp.audit(optimum, n, prior).epsilon <= epsilon + 1e-12
        or epsilon < 1
    )
    reduce = np.mean if objective == "mean" else np.max
    best = reduce(means(optimum, n, prior))
    # With more categories outputs of the Laplace family leave the candidate set.
    for name in RIVALS if len(prior) == 2 else RIVALS[3:]:
        assert reduce(means(dp.mechanism(name, epsilon), n, prior)) >= best - 1e-6


def test_weak_duality_certifies_the_optimum():
    """A second road: the dual of the program, solved apart, gives the same number from
    below.
    """
    n, prior, epsilon = 6, [1.0, 1.0], 1.0
    losses, apart, unit = (
        distance_table(n, prior),
        record_distances(n, 2),
        np.eye(n + 1),
    )
    # maximise sum_x u_x with u_x + sum of (price of (x, x', r)) terms <= loss, prices
    # >= 0.
    first, second = np.nonzero(apart == 1)
    rows = np.kron(unit, np.ones((n + 1, 1)))
    prices = np.kron(np.exp(epsilon) * unit[:, second] - unit[:, first], unit)
    matrix, size = np.hstack((rows, -rows, prices)), n + 1
    cost = np.repeat([-1.0, 1.0, 0.0], [size, size, prices.shape[1]])
    dual = linprog(cost, A_ub=matrix, b_ub=losses.ravel() / size, bounds=(0, None))
    table = _program(losses, apart, epsilon, "mean")
    assert -dual.fun == pytest.approx((table * losses).sum() / size, abs=1e-8)
    assert means(OptimalMechanism(epsilon), n, prior).mean() >= -dual.fun - 1e-12


@pytest.mark.parametrize("objective", ["mean", "worst"])
@pytest.mark.parametrize("epsilon", [0.02, 17.0, 40.0])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_one_record_is_best_released_by_randomised_response(k, epsilon, objective):
    # All histograms of one record are neighbours, and renaming the categories makes
    # every off-diagonal probability of an optimal table the same: e^-epsilon of the
    # diagonal one.
    for a in (1e-3, 1.0):
        apart = float(dp.hellinger([1 + a, a], [a, 1 + a]))
        others = (k - 1) * np.exp(-epsilon)
        found = means(OptimalMechanism(epsilon, objective), 1, (a,) * k).max()
        assert found == pytest.approx(others / (1.0 + others) * apart, rel=1e-5)


@pytest.mark.parametrize("objective", ["mean", "worst"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 69.0])
@pytest.mark.parametrize(
    "counts",
    [[1, 0], [3, 4], [2, 1, 1], pytest.param([20, 20], marks=pytest.mark.slow)],
)
def test_a_table_keeps_its_promise_with_a_margin_up_to_the_ends_of_the_range(
    epsilon, objective, counts
):
    optimal = dp.mechanism("optimal", epsilon, objective=objective)
    table = optimal.table(sum(counts), [1] * len(counts))
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
    assert not table.flags.writeable
    logs = np.log(table)
    apart = record_distances(sum(counts), len(counts))
    ratios = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert np.all(ratios <= (epsilon - 9e-10 * (epsilon > 1e-3)) * apart)


def test_bayes_remap_is_the_best_guess_for_each_output():
    base, n, prior = dp.mechanism("ilapMech", 0.7), 7, [1.0, 0.5]
    remapped = Remapped(base, "bayes")
    table = np.array([base.law(x, prior).probabilities for x in dp.compositions(n, 2)])
    losses = distance_table(n, prior)
    best = sum(
        min(table[:, r] @ losses[:, s] for s in range(n + 1)) for r in range(n + 1)
    )
    after = means(remapped, n, prior).mean()
    assert after == pytest.approx(best / (n + 1), rel=1e-12)
    assert after < means(base, n, prior).mean()
    assert dp.audit(remapped, n, prior).epsilon <= 0.7 + 1e-12
    assert remapped.guarantee(2).bound == base.guarantee(2).bound
    assert "post-processing" in remapped.guarantee(2).basis


@pytest.mark.parametrize(("name", "n", "k"), [("lattice", 8, 2), ("lattice", 4, 3)])
def test_the_option_answers_as_the_general_remap_does(name, n, k):
    general, option = (
        Remapped(dp.mechanism(name, 0.4)),
        dp.mechanism(name, 0.4, remap=True),
    )
    for x in dp.compositions(n, k):
        expected = general.law(x, [1.0] * k).mean_distance()
        assert option.law(x, [1.0] * k).mean_distance() == pytest.approx(
            expected, rel=1e-9
        )


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e-9, 3.0)])
def test_a_remapped_release_is_the_best_guess_of_each_noisy_count(epsilon, prior):
    # The answer with the least weighted distance over all data; the closest of equally
    # good.
    n, answers, expected = 7, [], []
    with mp.workdps(30):
        exact = Reference(prior, n)
        for noisy in range(n + 1):
            weights = [mp.exp(-mp.mpf(epsilon) * abs(x - noisy)) for x in range(n + 1)]
            losses = [
                mp.fsum(
                    w * exact.distance((x, n - x), (s, n - s))
                    for x, w in enumerate(weights)
                )
                for s in range(n + 1)
            ]
            tied = [
                s
                for s in range(n + 1)
                if losses[s] <= min(losses) * (1 + mp.mpf(10) ** -12)
            ]
            answers.append(min(tied, key=lambda s: abs(s - noisy)))
            expected.append(float(min(losses) / mp.fsum(weights)))
    found = best_answers(prior, n, epsilon, 0, n)
    assert found[0].tolist() == answers
    assert found[1] == pytest.approx(expected, rel=1e-12)
    for first in range(n + 1):
        kinds = (TruncatedGeometric(epsilon, remap) for remap in (False, True))
        plain, remapped = (kind.law([first, n - first], prior) for kind in kinds)
        assert remapped.outputs[:, 0].tolist() == list(range(n + 1))
        shares = np.bincount(answers, plain.probabilities, n + 1)
        assert remapped.probabilities == pytest.approx(shares, rel=1e-12)


def test_a_window_gives_the_answers_of_the_whole_and_far_from_the_ends_the_count(
    monkeypatch,
):
    whole, expected = best_answers((1.0, 2.0), 700, 0.3, 0, 700)
    part, part_expected = best_answers((1.0, 2.0), 700, 0.3, 0, 40)
    assert np.array_equal(whole[:41], part)
    assert expected[:41] == pytest.approx(part_expected, rel=1e-12)
    monkeypatch.setattr(geometric, "_COLUMNS", 7)
    best_answers.cache_clear()
    assert np.array_equal(best_answers((1.0, 2.0), 700, 0.3, 0, 40)[0], part)
    far, _ = best_answers((1.0, 1.0), 10**9, 0.1, 5 * 10**8, 5 * 10**8 + 100)
    assert np.array_equal(far, np.arange(5 * 10**8, 5 * 10**8 + 101))
    near = [3, 99_997], [1, 1]
    plain, law = (TruncatedGeometric(0.5, remap).law(*near) for remap in (False, True))
    assert law.mean_distance() < 0.9 * plain.mean_distance()
    assert 0.0 < law.mass_outside < 1e-19


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: OptimalMechanism(1.0).law([50, 50], [1, 1]),
            ValueError,
            r"101 histograms.*k = 2 the linear program takes n up to 65",
        ),
        (
            lambda: OptimalMechanism(70.0).law([2, 1], [1, 1]),
            ValueError,
            r"epsilon must lie in \[1e-06, 69\] .*, got 70.0",
        ),
        (
            lambda: Remapped(dp.mechanism("ilapMech", 1.0)).law([1, 1, 1], [1, 1, 1]),
            TypeError,
            "base must list every histogram",
        ),
        (
            lambda: solve_program(np.array([1.0]), np.ones((1, 1)), np.ones((1, 1))),
            ArithmeticError,
            "not solved",
        ),
        (
            lambda: best_answers((1.0, 1.0), 10**6, 0.001, 0, 10**6),
            ValueError,
            r"epsilon = 0.001 .* compares at most 4000",
        ),
        (
            lambda: dp.mechanism("lattice", 1.0, remap=True).law(
                [30, 30, 40], [1, 1, 1]
            ),
            ValueError,
            r"5151 histograms.* a remap of lattice noise",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_does(call, error, words):
    with pytest.raises(error, match=words):
        call()
