"""Sentences that compare mechanisms, each over the class it names, with every registered mechanism.

A mechanism that is added to the registry and is ahead of what a page calls ahead fails a test here.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

import dpbayes as dp
from dpbayes.mechanisms.guarantees import guarantee
from dpbayes.tables.reading import noise_aware
from dpbayes.sensitivity import profile
from dpbayes.study.asymptotics import step_law
from dpbayes.study.theorem_chain import corner_pair, enumerated_pair

ROOT = Path(__file__).parents[2]
FLAT, LAPLACE = [1.0, 1.0], ("lapMech", "ilapMech")


def registered(epsilon: float, k: int = 2) -> dict[str, dp.Mechanism]:
    """Return every registered mechanism that is proved epsilon-private, and what options add."""
    zoo = {name: dp.mechanism(name, epsilon) for name in dp.REGISTRY if name != "optimal"}
    zoo["permute-and-flip, smooth"] = dp.mechanism(
        "permute-and-flip", epsilon, sensitivity="smooth"
    )
    if k == 2:
        zoo["geometric, remap"] = dp.mechanism("geometric", epsilon, remap=True)
    promised = {name: guarantee(m, k) for name, m in zoo.items()}
    return {
        name: m
        for name, m in zoo.items()
        if promised[name].epsilon is not None
        and promised[name].delta == 0.0
        and promised[name].epsilon <= epsilon * (1.0 + 1e-12)
    }


def over_all(mechanism: dp.Mechanism, n: int, prior: list[float]) -> float:
    data = dp.compositions(n, len(prior))
    return float(np.mean([mechanism.law(x, prior).mean_distance() for x in data]))


@pytest.mark.parametrize(("n", "epsilon"), [(10, 0.1), (20, 0.05), (12, 1.0), (30, 0.5), (8, 5.0)])
def test_nothing_registered_has_a_smaller_mean_than_the_remapped_geometric(n, epsilon):
    # what-to-use, best-possible: two categories, mean over all data sets of n records.
    zoo = registered(epsilon, 2)
    zoo["calibrated"] = dp.calibrate(dp.mechanism("expMech-smooth", epsilon), n, FLAT, epsilon)
    means = {name: over_all(m, n, FLAT) for name, m in zoo.items()}
    least = means.pop("geometric, remap")
    assert len(means) >= 6
    assert {name for name, mean in means.items() if mean < least * (1.0 - 1e-9)} == set()


def test_without_the_remap_the_geometric_mechanism_falls_behind_at_small_budgets():
    # best-possible, what-to-use: "loses to the papers' mechanism at small n epsilon".
    geometric = over_all(dp.mechanism("geometric", 0.1), 10, FLAT)
    smooth = over_all(dp.mechanism("expMech-smooth", 0.1), 10, FLAT)
    remapped = over_all(dp.mechanism("geometric", 0.1, remap=True), 10, FLAT)
    assert geometric == pytest.approx(0.6103, abs=6e-5)
    assert smooth == pytest.approx(0.5996, abs=6e-5)
    assert remapped == pytest.approx(0.498, abs=6e-4)
    optimum = dp.mechanism("optimal", 0.1)
    assert remapped == pytest.approx(over_all(optimum, 10, FLAT), rel=1e-6)


def test_calibrated_is_ahead_of_ilap_at_balanced_data_and_behind_over_all_data():
    # landing page, README, what-to-use, D-C5: n = 300, epsilon = 1, gamma = 0.3, flat prior.
    gentle = dp.mechanism("expMech-smooth", 1.0, gamma=0.3)
    fair, ilap = dp.calibrate(gentle, 300, FLAT, 1.0), dp.mechanism("ilapMech", 1.0)
    errors = {
        m: np.array([m.law([x, 300 - x], FLAT).mean_distance() for x in range(301)])
        for m in (fair, ilap)
    }
    assert errors[fair][150] == pytest.approx(0.0366, abs=6e-5)
    assert errors[fair][150] < errors[ilap][150]
    assert errors[fair].mean() == pytest.approx(0.1057, abs=6e-5)
    assert errors[ilap].mean() == pytest.approx(0.0640, abs=6e-5)
    assert errors[fair][30] == pytest.approx(0.0846, abs=6e-5)
    assert errors[ilap][30] == pytest.approx(0.0731, abs=6e-5)
    assert errors[fair].max() == pytest.approx(0.923, abs=6e-4)
    assert errors[ilap].max() == pytest.approx(0.232, abs=6e-4)
    assert np.sum(errors[fair] > errors[ilap]) == 81


@pytest.mark.parametrize(
    ("epsilon", "last"), [(0.05, 100), (0.1, 54), (0.2, 29), (0.5, 13), (1.0, 7)]
)
def test_as_defined_the_smooth_mechanism_wins_on_few_balanced_records_only(epsilon, last):
    # what-to-use, D-C1: a law in n epsilon.
    sizes = np.arange(1, 3 * last)
    means = [
        dp.mean_distances(dp.mechanism(name, epsilon), [0.5, 0.5], FLAT, sizes)
        for name in ("expMech-smooth", "lapMech")
    ]
    won = sizes[means[0] < means[1]]
    assert won.max() == last
    assert 4.0 <= last * epsilon <= 7.5


def test_at_three_categories_others_are_ahead_of_lattice_noise_at_a_small_budget():
    # best-possible: at 8 records lattice noise is 28 % above the optimum at epsilon = 0.1.
    prior, names = [1.0] * 3, ("lattice", "expMech-smooth", "optimal")
    for epsilon, above in ((0.1, 1.28), (1.0, 1.0314)):
        means = {name: over_all(dp.mechanism(name, epsilon), 8, prior) for name in names}
        assert means["lattice"] / means["optimal"] == pytest.approx(above, abs=0.005)
        assert (means["expMech-smooth"] < means["lattice"]) == (epsilon == 0.1)


@pytest.mark.parametrize(("n", "epsilon"), [(4, 1.0), (4, 5.0), (5, 2.0)])
def test_at_three_categories_nothing_registered_has_a_smaller_mean_than_folded_noise(n, epsilon):
    # what-to-use, optimum-three: few records, a budget that is not small; it is the optimum there.
    zoo = registered(epsilon, 3)
    zoo["lattice, remap"] = dp.mechanism("lattice", epsilon, remap=True)
    means = {name: over_all(m, n, [1.0] * 3) for name, m in zoo.items()}
    least = means.pop("folded")
    assert len(means) >= 6
    assert {name for name, mean in means.items() if mean < least * (1.0 - 1e-9)} == set()


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "ahead"),
    [(3, 3, 0.4, True), (12, 3, 0.5, True), (5, 4, 0.5, True), (1, 3, 0.5, False),
     (8, 3, 1.0, False), (5, 4, 1.0, False), (3, 5, 1.0, False)],
)  # fmt: skip
def test_at_a_small_budget_lattice_noise_with_a_remap_is_ahead_of_folded_noise(
    n: int, k: int, epsilon: float, ahead: bool
) -> None:
    # what-to-use: a flat prior, few records over three and more categories.
    remapped = over_all(dp.mechanism("lattice", epsilon, remap=True), n, [1.0] * k)
    folded = over_all(dp.mechanism("folded", epsilon), n, [1.0] * k)
    assert (remapped < 0.99 * folded) == ahead
    assert (folded < 0.99 * remapped) != ahead
    said = (ROOT / "book/limits/what-to-use.md").read_text("utf-8")
    assert 'dp.mechanism("lattice", epsilon, remap=True)' in said


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "prior", "ahead"),
    [(8, 3, 0.5, 1.0, True), (8, 3, 5.0, 1.0, True), (4, 4, 1.0, 0.1, True),
     (12, 3, 0.35, 0.1, False)],
)  # fmt: skip
def test_folded_noise_against_lattice_noise_over_all_data(n, k, epsilon, prior, ahead):
    # what-to-use, optimum-three: ahead on few records where it exists, but not at every prior.
    folded, lattice = (
        over_all(dp.mechanism(name, epsilon), n, [prior] * k) for name in ("folded", "lattice")
    )
    assert (folded < lattice) == ahead


@pytest.mark.parametrize(("epsilon", "ahead"), [(5.0, False), (5.5, True), (8.0, True)])
def test_above_a_threshold_the_smooth_mechanism_is_ahead_of_lap_on_large_balanced_data(
    epsilon, ahead
):
    # what-to-use, five-ways, earlier-papers: 4 arcosh 2 = 5.27, two categories, flat prior.
    errors = [
        dp.mechanism(name, epsilon).law([5000, 5000], FLAT).mean_distance()
        for name in ("expMech-smooth", "lapMech")
    ]
    assert (errors[0] < errors[1]) == ahead == (epsilon > 4.0 * np.arccosh(2.0))


@pytest.mark.parametrize(
    ("n", "epsilon", "ahead"),
    [(10, 0.05, True), (20, 1.0, False), (50, 0.3, False), (10, 3.0, True), (50, 8.0, True)],
)
def test_the_calibrated_mechanism_against_ilap_in_the_mean_over_all_data(n, epsilon, ahead):
    # all-data, what-to-use, D-C5: at middle epsilon it is behind, at both ends ahead.
    gentle = dp.mechanism("expMech-smooth", epsilon, gamma=0.3)
    fair = dp.calibrate(gentle, n, FLAT, epsilon)
    ilap = dp.mechanism("ilapMech", epsilon)
    assert (over_all(fair, n, FLAT) < over_all(ilap, n, FLAT)) == ahead


@pytest.mark.parametrize(("rare", "ratio"), [(0, 1.180), (2, 0.882)])
def test_with_a_rare_first_category_lap_stays_ahead_of_the_mechanism_with_a_delta(rare, ratio):
    # earlier-papers, A-C2: three categories, 24 000 records, flat prior, epsilon = 0.8.
    counts = [720, 7680, 15600] if rare == 0 else [15600, 7680, 720]
    errors = [
        dp.mechanism(name, 0.8).law(counts, [1.0] * 3).mean_distance()
        for name in ("expMech-delta", "lapMech")
    ]
    assert errors[0] / errors[1] == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.5, 0.8, 1.0, 3.0, 10.0, 40.0])
def test_with_a_delta_the_baseline_is_overtaken_at_every_budget_and_its_proper_scale_is_not(
    epsilon,
):
    # earlier-papers: two categories, fixed shares, the limit of large data.
    step = {m: step_law(dp.mechanism(m, epsilon)).mean_step for m in ("expMech-delta", *LAPLACE)}
    assert step["expMech-delta"] < step["lapMech"]
    if epsilon <= 1.0:
        assert step["expMech-delta"] > step["ilapMech"]


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_on_more_than_a_few_records_laplace_noise_at_its_scale_stays_ahead_of_the_abstract(share):
    # a-abstract: two categories, flat prior, A's epsilon and delta; at two and four it is not so.
    sizes = [*range(2, 60, 2), 100, 300, 1000, 10_000, 100_000]
    delta = dp.mechanism("expMech-delta", 0.8, delta=1e-8, distance="l1")
    errors = [
        dp.mean_distances(m, [share, 1.0 - share], FLAT, sizes)
        for m in (delta, dp.mechanism("ilapMech", 0.8))
    ]
    behind = [n for n, a, b in zip(sizes, *errors, strict=True) if a < b]
    assert behind == ([2, 4] if share == 0.5 else [])


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 100.0])
def test_the_whole_part_of_laplace_noise_is_exact_less_than_half_of_the_time(epsilon):
    # tables/ranges: away from the ends, at either scale.
    for sensitivity in (1.0, 2.0):
        assert dp.laplace_step_probability([0], epsilon, sensitivity)[0] <= 0.5


def test_errors_fall_when_all_prior_parameters_grow_alike_and_may_rise_when_one_does() -> None:
    # earlier-papers, the exercise on a prior of records.
    for name in ("expMech", "expMech-smooth", "permute-and-flip", "lapMech", "geometric"):
        for epsilon, counts in ((0.3, [2, 10]), (1.0, [0, 12]), (8.0, [0, 12])):
            law = dp.mechanism(name, epsilon).law
            errors = [law(counts, [a, a]).mean_distance() for a in (1.0, 2.0, 4.0, 8.0)]
            assert errors == sorted(errors, reverse=True)
    for name in ("expMech", "permute-and-flip"):
        law = dp.mechanism(name, 8.0).law
        before, after = (law([0, 12], [a, 1.0]).mean_distance() for a in (1.0, 2.0))
        assert 1.99 < after / before < 2.1


@pytest.mark.parametrize(("n", "ahead"), [(6, False), (10, True), (30, True), (300, True)])
def test_the_two_choices_by_distance_have_the_two_largest_errors_of_five(n: int, ahead: bool):
    # five-ways: epsilon = 1, flat prior, balanced data of more than a few records.
    names = ("lapMech", "ilapMech", "geometric", "expMech", "expMech-smooth")
    errors = {
        name: dp.mechanism(name, 1.0).law([n // 2, n // 2], FLAT).mean_distance() for name in names
    }
    largest = set(sorted(errors, key=lambda name: errors[name])[-2:])
    assert (largest == {"expMech", "expMech-smooth"}) == ahead


@pytest.mark.parametrize(
    ("k", "ahead"), [(4, False), (8, False), (9, True), (10, True), (16, True)]
)
def test_where_records_and_categories_are_many_the_smooth_mechanism_passes_the_larger_laplace_noise(
    k: int, ahead: bool
):
    # paper, five-ways: epsilon = 1, flat prior, balanced data; lapMech has noise of scale k.
    counts, prior = [10**6] * k, [1.0] * k
    smooth, lap, ilap = (
        dp.mechanism(name, 1.0).law(counts, prior).mean_distance()
        for name in ("expMech-smooth", "lapMech", "ilapMech")
    )
    assert (smooth < lap) == ahead
    assert ilap < 0.5 * smooth


def test_the_paper_names_the_least_number_of_categories_from_which_it_passes() -> None:
    ahead = []
    for k in range(2, 13):
        counts, prior = [10**6] * k, [1.0] * k
        smooth, lap = (
            dp.mechanism(name, 1.0).law(counts, prior).mean_distance()
            for name in ("expMech-smooth", "lapMech")
        )
        ahead += [k] if smooth < lap else []
    words = dict(zip(("eight", "nine", "ten"), (8, 9, 10), strict=True))
    said = re.search(r"From (\w+) categories on", (ROOT / "book/paper.md").read_text("utf-8"))
    assert ahead == list(range(9, 13))
    assert said is not None
    assert words[said[1]] == min(ahead)


@pytest.mark.parametrize(("epsilon", "kept"), [(1.0, False), (20.0, True)])
def test_a_rare_answer_is_kept_where_epsilon_is_large_beside_the_logarithm(epsilon, kept):
    # what-to-use: three of a million records have the answer, flat prior.
    for name, options in (("expMech-smooth", {}), ("expMech-delta", {"delta": 1e-8})):
        law = dp.mechanism(name, epsilon, **options).law([3, 10**6 - 3], FLAT)
        assert (law.mean_distance() < 0.01) == kept
        assert (law.mean_distance() > 0.99) != kept


def test_a_bounded_score_with_a_small_sensitivity_keeps_a_rare_answer():
    # large-n-laws: candidates win against scores that are bounded in units of their sensitivity.
    means = []
    for n in (1_000, 10_000, 100_000):
        score, sensitivity = np.abs(np.arange(n + 1) - 1) / n, 1 / n  # from 0 to 1; epsilon is 1
        weight = np.exp(-score / (2 * sensitivity))
        near = np.flatnonzero(weight > 1e-18)
        distances = [dp.hellinger([2.0, n], [1.0 + m, n + 1.0 - m]) for m in near]
        means.append(float(weight[near] @ distances / weight.sum()))
    assert means == pytest.approx([0.286] * 3, abs=1e-3)
    assert "any bounded score" not in (ROOT / "book/limits/large-n-laws.md").read_text("utf-8")


@pytest.mark.parametrize(("epsilon", "failed"), [(1.0, True), (5.0, True), (20.0, False)])
def test_many_categories_are_none_too_many_where_epsilon_is_large(epsilon: float, failed: bool):
    # what-to-use: eight categories, a thousand evenly spread records, flat prior.
    counts, prior = [125] * 8, [1.0] * 8
    smooth, ilap = (
        dp.mechanism(name, epsilon).law(counts, prior).mean_distance()
        for name in ("expMech-smooth", "ilapMech")
    )
    assert (smooth > 3.0 * ilap) == failed
    assert (smooth < 0.5 * ilap) != failed


def test_a_million_records_are_not_many_for_sixteen_categories():
    # paper: from which number of records on depends on the number of categories.
    counts, prior = [62_500] * 16, [1.0] * 16
    smooth, lap = (
        dp.mechanism(name, 1.0).law(counts, prior).mean_distance()
        for name in ("expMech-smooth", "lapMech")
    )
    assert smooth > 5.0 * lap


@pytest.mark.parametrize(("epsilon", "ahead"), [(0.005, False), (0.02, True), (1.0, True)])
def test_lattice_noise_against_a_choice_among_too_many_candidates_to_visit(epsilon, ahead):
    # release: permute-and-flip is never worse than expMech, and more than 200,000 candidates here.
    counts, prior = [233, 233, 234], [1.0] * 3
    errors = [
        dp.mechanism(name, epsilon).law(counts, prior).mean_distance()
        for name in ("lattice", "expMech")
    ]
    assert (errors[0] < errors[1]) == ahead


@pytest.mark.parametrize(
    ("prior", "n", "epsilon", "noisy", "wider"),
    [([50.0, 1.0], 4, 0.1, 2, False), ([1000.0, 1.0], 4, 0.5, 2, False), (FLAT, 4, 0.5, 2, True)],
)
def test_a_noise_aware_interval_need_not_be_wider(prior, n, epsilon, noisy, wider):
    # reading-a-release, the exercise on three statements.
    found = noise_aware(dp.mechanism("geometric", epsilon), np.array([noisy]), n, np.array(prior))
    low, high = found.interval(0.95)[0]
    face = beta(prior[0] + noisy, prior[1] + n - noisy).ppf([0.025, 0.975])
    assert (high - low > face[1] - face[0]) == wider


@pytest.mark.parametrize(("ones", "probability"), [(0, 0.0), (1, 0.5), (2, 0.1967), (12, 0.1967)])
def test_a_step_of_minus_one_is_another_at_one_record_and_at_none(ones, probability):
    # full-paper, the exercise on the step at the edge: lapMech, epsilon = 1.
    law = dp.mechanism("lapMech", 1.0).law([ones, 12 - ones], FLAT)
    step = law.probability([ones - 1, 13 - ones]) if ones else 0.0
    assert step == pytest.approx(probability, abs=6e-5)


@pytest.mark.parametrize("k", [2, 3])
def test_permute_and_flip_is_never_behind_the_exponential_mechanism_at_hostile_priors(k):
    # glossary: with the same scores.
    rng = np.random.default_rng(k)
    for _ in range(25):
        n, epsilon = int(rng.integers(1, 9)), float(10 ** rng.uniform(-2, 2))
        prior = 10 ** rng.uniform(-4, 4, k)
        counts = rng.multinomial(n, rng.dirichlet([0.5] * k))
        for ours, theirs, sensitivity in (
            ("permute-and-flip", "expMech", "global"),
            ("permute-and-flip", "expMech-smooth", "smooth"),
        ):
            flip = dp.mechanism(ours, epsilon, sensitivity=sensitivity).law(counts, prior)
            choice = dp.mechanism(theirs, epsilon).law(counts, prior)
            assert flip.mean_distance() <= choice.mean_distance() * (1.0 + 1e-9)


def test_the_smooth_mechanism_never_spends_more_than_half_of_its_promise_where_it_was_tried():
    # promise, the chapter's second line: two categories, hostile priors and budgets.
    rng, most = np.random.default_rng(7), 0.0
    for _ in range(60):
        n, epsilon = int(10 ** rng.uniform(0, 1.7)), float(10 ** rng.uniform(-2, 1.5))
        prior = 10 ** rng.uniform(-4, 4, 2)
        spent = dp.audit(dp.mechanism("expMech-smooth", epsilon), n, prior).epsilon
        most = max(most, float(spent) / epsilon)
    assert 0.4 < most < 0.5


@pytest.mark.parametrize("prior", [(51119957.9, 15039612.0), (2e4, 2e4), (1.0, 1e8)])
def test_the_smooth_mechanism_comes_close_to_half_with_strong_priors_and_small_budgets(prior):
    # paper: "with two categories no setting that we tried spends half".
    spent = dp.audit(dp.mechanism("expMech-smooth", 1e-3), 157, list(prior)).epsilon
    assert 0.4 < spent / 1e-3 < 0.5


@pytest.mark.parametrize("n", [1, 2, 20, 300])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e3, 1e3), (1e-2, 1e2)])
def test_with_a_rate_of_one_it_spends_less_than_half_and_with_a_smaller_rate_it_may_not(n, prior):
    # README and paper: "its smoothing rate 1 ... less than half, at every size and prior audited".
    spent = dp.audit(dp.mechanism("expMech-smooth", 1.0), n, list(prior)).epsilon
    slower = dp.audit(dp.mechanism("expMech-smooth", 1.0, gamma=0.01), n, list(prior)).epsilon
    assert spent < 0.45
    assert 0.49 < slower < 0.72


def test_with_fifty_categories_the_smooth_mechanism_spends_more_than_half():
    # paper: "with fifty, three records can spend a little more than half".
    smooth, prior = dp.mechanism("expMech-smooth", 0.01), [1.0] + [1e8] * 49
    counts, neighbour = corner_pair(3, 50)
    spent = enumerated_pair(smooth, counts, neighbour, prior).epsilon
    assert 0.501 < spent / 0.01 < 0.502


def test_half_of_the_noise_is_enough_for_ten_records():
    # five-ways: "where half of that would do here".
    assert 0.5 < dp.audit(dp.mechanism("expMech-smooth", 2.0), 10, FLAT).epsilon <= 1.0


def test_noise_on_the_counts_is_lost_among_many_categories_as_well():
    # dimensions: each category brings noise of its own.
    lattice = dp.mechanism("lattice", 1.0)
    means = [float(lattice.law([20_000 // k] * k, [1.0] * k).mean_distance()) for k in (10, 100)]
    assert means[0] < 0.1
    assert means[1] > 0.5


SIZES = (20, 50, 100, 150, 200, 300, 400, 500)


def test_the_picture_of_the_readme_has_the_mechanism_of_the_paper_above_and_geometric_below():
    # README, caption: balanced data, epsilon = 1, five curves.
    names = ("expMech-smooth", "lapMech", "ilapMech", "geometric")
    share = [0.5, 0.5]
    means = {m: dp.mean_distances(dp.mechanism(m, 1.0), share, FLAT, SIZES) for m in names}
    for at, n in enumerate(SIZES):
        found = dp.calibrate(dp.mechanism("expMech-smooth", 1.0, gamma=0.3), n, FLAT, 1.0)
        every = {m: mean[at] for m, mean in means.items()}
        every["calibrated"] = float(found.law([n // 2, n // 2], FLAT).mean_distance())
        assert max(every, key=lambda m: every[m]) == "expMech-smooth"
        assert min(every, key=lambda m: every[m]) == "geometric"


@pytest.mark.parametrize("name", ["lapMech", "ilapMech", "geometric"])
def test_a_published_curve_falls_faster_than_the_true_one(name):
    # distances: the same law in both distances, balanced data.
    noise = dp.mechanism(name, 1.0)
    true, published = (
        np.array([float(noise.law([n // 2, n // 2], FLAT).mean_distance(m)) for n in SIZES])
        for m in ("hellinger", "published")
    )
    assert np.all(np.diff(published / true) < 0.0)


@pytest.mark.parametrize(
    ("name", "epsilon", "ones"), [("expMech-smooth", 0.5, 2), ("lapMech", 0.1, 50)]
)
def test_where_distances_are_large_a_published_curve_can_fall_more_slowly(name, epsilon, ones):
    # distances: one in so many records a one; the true means are above 0.4 at all of these sizes.
    law, sizes = dp.mechanism(name, epsilon).law, (100, 200) if ones == 2 else (400, 800)
    means = [
        [float(law([n // ones, n - n // ones], FLAT).mean_distance(m)) for n in sizes]
        for m in ("hellinger", "published")
    ]
    assert min(means[0]) > 0.4
    assert means[1][1] / means[0][1] > means[1][0] / means[0][0]


@pytest.mark.parametrize("equal", [True, False])
def test_one_record_moves_a_posterior_most_at_the_smallest_parameter_and_least_in_the_middle(equal):
    # posterior-and-distance, what to remember: two categories, hostile priors.
    rng = np.random.default_rng(8)
    for _ in range(25):
        n, prior = int(10 ** rng.uniform(0, 2.0)), 10 ** rng.uniform(-6, 6, 2)
        prior = np.full(2, prior[0]) if equal else prior
        moved, ones = profile(n, prior), np.arange(n + 1)
        parameters = np.stack([prior[0] + ones, prior[1] + n - ones])
        middle = np.argmin(np.abs(parameters[0] - parameters[1]))
        assert not equal or moved[middle] <= moved.min() * (1.0 + 1e-9)
        assert moved[np.argmin(parameters.min(axis=0))] >= moved.max() * (1.0 - 1e-9)


def test_with_unlike_prior_parameters_the_end_can_move_less_than_the_middle():
    # There is one step only at the end: (1, 2.001) moves less than (2, 1.001), which are nearer.
    moved = profile(2, np.array([1.0, 0.001]))
    assert moved[0] < 0.6 * moved[1]


@pytest.mark.parametrize("n", [1000, 10_000])
def test_at_a_large_budget_the_smooth_mechanism_is_exact_more_often_and_not_nearer(n):
    # verdicts: "At epsilon = 5 we do better than the Laplace mechanisms", balanced data.
    x = [n // 2, n // 2]
    smooth, *noise = (dp.mechanism(m, 5.0).law(x, FLAT) for m in ("expMech-smooth", *LAPLACE))
    assert all(smooth.probability(x) > law.probability(x) for law in noise)
    assert smooth.mean_distance() > noise[1].mean_distance()


@pytest.mark.parametrize(("k", "last"), [(2, 5), (3, 4), (4, 3)])
def test_against_noise_of_one_scale_the_draft_wins_up_to_few_records_in_each_category(k, last):
    # b-draft: epsilon = 0.8, delta = 5e-4, flat prior, equal counts from one to seven.
    draft = dp.mechanism("expMech-delta", 0.8, delta=5e-4)
    rival = dp.mechanism("lapMech" if k == 2 else "ilapMech", 0.8)
    won = [
        each
        for each in range(1, 8)
        if draft.law([each] * k, [1.0] * k).mean_distance()
        < rival.law([each] * k, [1.0] * k).mean_distance()
    ]
    assert won == list(range(1, last + 1))


def test_the_draft_loses_from_twelve_to_some_hundreds_of_balanced_records_and_wins_again():
    # b-draft, B-C3: two categories, flat prior, epsilon = 0.8, delta = 5e-4, as far as B looks.
    sizes = [*range(12, 60, 2), 100, 200, 400, 500, 1000, 5000]
    draft, lap = (
        dp.mean_distances(m, [0.5, 0.5], FLAT, sizes)
        for m in (dp.mechanism("expMech-delta", 0.8, delta=5e-4), dp.mechanism("lapMech", 0.8))
    )
    assert [n for n, a, b in zip(sizes, draft, lap, strict=True) if a < b] == [500, 1000, 5000]


@pytest.mark.parametrize("n", range(2, 13))
def test_on_few_records_the_draft_ends_less_often_at_an_end_of_the_range_than_its_baseline(n):
    # chapters/earlier-papers: two categories, flat prior, epsilon = 0.8, delta = 5e-4, even data.
    x, ends = dp.split(n, [0.5, 0.5]), [[0, n], [n, 0]]
    draft, lap = (
        sum(m.law(x, FLAT).probability(end) for end in ends)
        for m in (
            dp.mechanism("expMech-delta", 0.8, delta=5e-4, distance="hamming"),
            dp.mechanism("lapMech", 0.8),
        )
    )
    assert draft < lap
    assert (lap > 0.5) == (n <= 4)  # so many are not most of the releases where the draft is ahead
    assert n > 9 or lap > 0.2


@pytest.mark.parametrize("shares", [[0.1] * 10, [0.5, 0.1, *[0.05] * 8], [1.0, *[0.0] * 9]])
def test_with_ten_categories_every_choice_by_distance_is_lost_at_epsilon_one_and_not_at_five(
    shares,
):
    # chapters/scale: 20,000 records, a flat prior.
    x = dp.split(20_000, shares)
    for name in ("expMech", "expMech-local", "expMech-smooth", "expMech-delta", "expMech-repaired"):
        delta = {"delta": 1e-8} if name in ("expMech-delta", "expMech-repaired") else {}
        found = dp.mechanism(name, 1.0, **delta).law(x, [1.0] * 10).mean_distance()
        assert found > 0.9999
    if max(shares) == 0.1:
        assert dp.mechanism("expMech-smooth", 5.0).law(x, [1.0] * 10).mean_distance() < 0.1


@pytest.mark.parametrize(("epsilon", "first"), [(0.02, 232), (0.1, 55), (0.2, 30), (0.5, 14)])
def test_the_lead_on_few_records_ends_before_seven_over_epsilon_where_epsilon_is_small(
    epsilon, first
):
    # what-to-use: the product n epsilon at the end of the lead is no constant.
    sizes = np.arange(first - 5, first + 30)
    smooth, lap = (
        dp.mean_distances(dp.mechanism(name, epsilon), [0.5, 0.5], FLAT, sizes)
        for name in ("expMech-smooth", "lapMech")
    )
    assert sizes[smooth >= lap].min() == first
    assert first * epsilon <= 7.0


def test_up_to_a_million_candidates_of_three_categories_the_list_is_the_faster_way():
    # scale/speed: the rows of enumeration and series at equal size, and the targets of the series.
    path = ROOT / "book" / "scale" / "timings.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    seconds = {
        way: [
            float(row["seconds of one core"])
            for row in rows
            if row["task"] == f"mean distance by {way}" and row["k"] == "3"
        ]
        for way in ("enumeration", "series")
    }
    sizes = [float(row["log10 candidates"]) for row in rows if row["task"].endswith("by series")]
    assert max(sizes) == 6.0
    assert len(seconds["series"]) == len(sizes) == 3
    pairs = zip(seconds["enumeration"], seconds["series"], strict=True)
    assert all(listed < series for listed, series in pairs)
    met = [
        float(row["target"]) / float(row["seconds of one core"])
        for row in rows
        if row["task"].startswith("mean distance, expMech-smooth")
    ]
    assert len(met) >= 10
    assert min(met) > 10.0
