"""The product law of the Laplace family against the grid of all outputs."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import dpbayes as dp
from dpbayes.divergences import affinity_of_counts, distance_from_log_affinity
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.product import excess
from dpbayes.laws.product import law as product_law
from dpbayes.laws.product.excess import merged_affinity
from dpbayes.laws.product.law import Marginal, ProductLaw, product_grid
from tests.strategies import histograms, priors

NAMES = ["lapMech", "ilapMech", "draft-laplace"]


def product(mechanism, counts, prior):
    n, k = int(counts.sum()), counts.size
    windows = tuple(mechanism.window(int(count), n, k) for count in counts[:-1])
    return ProductLaw(prior, counts, windows)


@st.composite
def cases(draw):
    k = draw(st.integers(3, 4))
    return draw(histograms(k, 60 if k == 3 else 25)), draw(priors(k))


@given(cases(), st.floats(0.1, 50.0), st.sampled_from(NAMES))
@settings(max_examples=25, deadline=None)
def test_agrees_with_the_grid_within_the_stated_error(case, epsilon, name):
    counts, prior = case
    mechanism = dp.mechanism(name, epsilon)
    listed = mechanism.law(counts, prior)
    assert isinstance(listed, FiniteLaw)
    law = product(mechanism, counts, prior)
    estimate = law.mean_distance()
    assert abs(estimate.value - listed.mean_distance()) <= estimate.error
    beyond = listed.outputs.sum(axis=1) > counts.sum()
    excess = listed.probabilities[beyond].sum()
    assert law.probability_of_excess == pytest.approx(excess, abs=1e-12)
    assert law.probability(counts) == pytest.approx(listed.probability(counts), rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_exact_where_the_last_count_exceeds_the_noise(name, epsilon):
    counts, prior = np.array([3, 10, 300]), np.array([1.0, 0.4, 2.0])
    mechanism = dp.mechanism(name, epsilon)
    listed, law = mechanism.law(counts, prior), product(mechanism, counts, prior)
    assert law.mean_distance().how == "series"
    assert law.error_bound < 2e-12
    for metric in (dp.hellinger, dp.hellinger_published):
        exact = listed.mean_distance(metric)
        assert law.mean_distance(metric) == pytest.approx(exact, abs=1e-13)


@given(cases())
@settings(max_examples=10, deadline=None)
def test_moments_are_those_of_the_grid(case):
    counts, prior = case
    mechanism = dp.mechanism("ilapMech", 1.0)
    listed, law = mechanism.law(counts, prior), product(mechanism, counts, prior)
    inside = listed.outputs.sum(axis=1) == counts.sum()
    affinity = 1.0 - listed.distances**2
    for power in (0.0, 1.0, 3.5, 40.0):
        exact = listed.expectation(np.where(inside, affinity**power, 0.0))
        assert law.affinity_moments(power)[0] == pytest.approx(exact, abs=1e-12)


def test_sizes_no_grid_could_hold():
    mechanism = dp.mechanism("lapMech", 0.1)
    law = mechanism.law([2000, 2500, 3000, 2500], [1.0] * 4)
    assert isinstance(law, ProductLaw)
    draws = law.sample(np.random.default_rng(2), 40_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    spread = 6.0 * distances.std() / np.sqrt(distances.size)
    assert law.mean_distance() == pytest.approx(distances.mean(), abs=spread)
    low, high = law.simulated().quantile_interval(0.5)
    assert low <= law.quantile(0.5) <= high
    assert low <= np.median(distances) + 1e-3
    assert law.probability([2000, 2500, 3000, 2501]) == 0.0


def test_a_scale_wrong_by_a_tenth_is_seen():
    law = dp.mechanism("lapMech", 1.0).law([2000, 2500, 3000, 2500], [1.0] * 4)
    other = dp.mechanism("lapMech", 1.1).law([2000, 2500, 3000, 2500], [1.0] * 4)
    draws = other.sample(np.random.default_rng(2), 40_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    spread = 6.0 * distances.std() / np.sqrt(distances.size)
    assert abs(law.mean_distance() - distances.mean()) > spread


def test_samples_follow_the_marginals():
    mechanism = dp.mechanism("ilapMech", 0.5)
    law = product(mechanism, np.array([4, 9, 30]), np.ones(3))
    draws = law.sample(np.random.default_rng(9), 30_000)
    for column, marginal in enumerate(law.marginals):
        seen = np.bincount(draws[:, column], minlength=marginal.stop) / 30_000
        deviation = np.sqrt(marginal.probabilities / 30_000) + 1e-3
        assert np.all(np.abs(seen - marginal.probabilities) <= 6 * deviation)
    np.testing.assert_array_equal(draws[:, 2], np.clip(43 - draws[:, :2].sum(1), 0, 43))


@pytest.mark.parametrize("name", ["lapMech", "ilapMech", "geometric"])
def test_two_categories_at_a_thousand_million_records(name):
    counts = [10**8, 9 * 10**8]
    law = dp.mechanism(name, 1.0).law(counts, [1.0, 1.0])
    assert len(law.outputs) < 300
    assert law.mass_outside < 1e-18
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    if name != "lapMech":
        return
    small = dp.mechanism(name, 1.0).law([100, 100], [1.0, 1.0])
    centre = law.probability(counts)
    assert centre == pytest.approx(small.probability([100, 100]), rel=1e-12)


def test_windows_of_the_noise_hold_all_but_what_they_say():
    for name in NAMES:
        mechanism = dp.mechanism(name, 0.7)
        full = np.exp(mechanism.marginal(500, 2000, 3))
        window = mechanism.window(500, 2000, 3)
        kept = full[window.start : window.stop]
        np.testing.assert_allclose(window.probabilities, kept, rtol=1e-13)
        assert full.sum() - kept.sum() <= window.outside + 1e-15


def test_refuses_what_it_cannot_do():
    good = Marginal(0, np.log([0.5, 0.5]))
    with pytest.raises(ValueError, match="marginals must be 2, one less"):
        ProductLaw(np.ones(3), np.array([1, 1, 1]), (good,))
    with pytest.raises(ValueError, match="probabilities must sum to 1"):
        Marginal(0, np.log([0.5, 0.4]))
    with pytest.raises(ValueError, match="marginals must stay within 0"):
        ProductLaw(np.ones(2), np.array([0, 1]), (Marginal(2, np.log([0.5, 0.5])),))
    law = product_grid(np.ones(2), np.array([0, 1]), [good])
    assert law.probabilities.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="spreads the noise"):
        dp.mechanism("lapMech", 1e-6).law([10**9, 10**9], [1.0, 1.0])


@pytest.mark.parametrize("name", ["lapMech", "ilapMech"])
@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([3, 5, 2], 1.0), ([4, 0, 0], 1.0), ([10, 20, 3], 2.0), ([3, 2, 1, 4], 1.5)],
)
def test_released_totals_above_n_are_summed_exactly(
    name: str, counts: list[int], epsilon: float
) -> None:
    mechanism, x, prior = dp.mechanism(name, epsilon), np.array(counts), np.ones(len(counts))
    n = int(x.sum())
    marginals = [Marginal(0, mechanism.marginal(int(c), n, x.size)) for c in x[:-1]]
    listed, law = product_grid(prior, x, marginals), ProductLaw(prior, x, tuple(marginals))
    assert law.probability_of_excess > 0.01
    mean, square = law.mean_distance(), law.mean_square()
    assert (mean.how, square.how) == ("series", "series")
    assert max(mean.error, square.error) < 1e-10
    assert abs(mean - listed.mean_distance()) <= mean.error
    assert abs(square - listed.mean_square()) <= square.error


def test_mean_where_totals_exceed_n_at_ten_categories() -> None:
    counts = [5000, 2500, 1250, 625, 312, 156, 78, 39, 20, 20]
    law = dp.mechanism("lapMech", 1.0).law(counts, np.ones(10))
    mean = law.mean_distance()
    assert mean.how == "series"
    assert mean.error < 1e-9
    draws = law.sample(np.random.default_rng(8), 20_000)
    distances = dp.hellinger(np.ones(10) + counts, np.ones(10) + draws)
    assert abs(distances.mean() - mean) < 6 * distances.std() / np.sqrt(20_000)


def mean_by_all_steps(law: ProductLaw) -> float:
    """Return E[H] over every pair of released counts of the first two of three categories."""
    (one, two), n = law.marginals, int(law.counts.sum())
    first = np.arange(one.start, one.stop)[:, None]
    second = np.arange(two.start, two.stop)[None, :]
    last = np.clip(n - first - second, 0, n)
    logs = -affinity_of_counts(float(law.prior.sum()), n, first + second + last)
    for alpha, count, out in zip(law.prior, law.counts, (first, second, last), strict=True):
        logs = logs + affinity_of_counts(alpha, count, out)
    distances = distance_from_log_affinity(logs)
    return float(one.probabilities @ distances @ two.probabilities)


@pytest.mark.parametrize("counts", [[600, 300, 0], [500, 480, 0], [300, 200, 3]])
@pytest.mark.parametrize("alpha", [1.0, 0.02])
def test_released_totals_in_proportion_to_the_truth_are_summed_exactly(
    counts: list[int], alpha: float
) -> None:
    mechanism, x, prior = dp.mechanism("lapMech", 0.3), np.array(counts), np.full(3, alpha)
    n = int(x.sum())
    marginals = tuple(Marginal(0, mechanism.marginal(int(c), n, 3)) for c in x[:-1])
    law = ProductLaw(prior, x, marginals)
    mean = law.mean_distance()
    assert mean.how == "series"
    assert mean.error < 1e-9
    assert abs(mean - mean_by_all_steps(law)) <= mean.error


@pytest.mark.parametrize(
    ("counts", "epsilon", "alpha"),
    [([900, 40, 0], 0.03, 1.0), ([900, 40, 2], 0.05, 0.1), ([450, 450, 0], 0.01, 0.3)],
)
def test_wide_noise_that_ends_at_zero_is_summed_exactly(
    counts: list[int], epsilon: float, alpha: float
) -> None:
    # Noise below zero is collected at zero, so that the weights are not log-concave there.
    mechanism, x, prior = dp.mechanism("lapMech", epsilon), np.array(counts), np.full(3, alpha)
    n = int(x.sum())
    marginals = tuple(Marginal(0, mechanism.marginal(int(c), n, 3)) for c in x[:-1])
    law = ProductLaw(prior, x, marginals)
    mean = law.mean_distance()
    assert mean.how == "series"
    assert mean.error < 1e-10
    assert abs(mean - mean_by_all_steps(law)) <= mean.error


@pytest.mark.parametrize(
    ("name", "counts", "epsilon"),
    [
        ("lapMech", [10**6 // 2**i for i in range(1, 35)] + [0], 1.41),
        ("lapMech", [100] * 25 + [0] * 25, 1.0),
        ("lapMech", [5000, 5000, 20, 0], 0.1),
        ("lapMech", [2500, 1000, 0], 0.01),
        ("ilapMech", [999_000, 500, 300, 12, 0], 0.1),
    ],
)
def test_means_that_were_drawn_or_took_long_are_exact(
    name: str, counts: list[int], epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = dp.mechanism(name, epsilon).law(counts, np.ones(len(counts)))
    tracemalloc.start()
    mean = law.mean_distance()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6
    assert mean.how == "series"
    assert mean.error < 1e-10
    monkeypatch.setattr(product_law, "_MISSED", 0.0)
    all_powers = law.mean_distance()
    assert all_powers.how == "series"
    assert abs(mean - all_powers) <= mean.error + all_powers.error < 2e-10


def test_equal_totals_over_long_ranges_take_few_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    law = dp.mechanism("lapMech", 0.05).law([3000, 2000, 4000], np.ones(3))
    all_powers = law.mean_distance()
    monkeypatch.setattr(product_law, "_LONG", 0)
    few = law.mean_distance()
    assert few.how == all_powers.how == "series"
    assert few.value != all_powers.value
    assert abs(few - all_powers) <= few.error + all_powers.error < 1e-10


@pytest.mark.slow
def test_wide_noise_over_many_records_beside_an_empty_last_category() -> None:
    law = dp.mechanism("lapMech", 0.001).law([10**5, 5 * 10**4, 0], np.ones(3))
    mean = law.mean_distance()
    assert mean.how == "series"
    assert mean.error < 1e-9
    draws = law.sample(np.random.default_rng(11), 40_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    assert abs(distances.mean() - mean) < 6.0 * distances.std() / np.sqrt(40_000)


def test_no_affinity_of_an_excess_passes_its_bound() -> None:
    counts, prior = np.array([7, 3, 0]), np.array([1.0, 0.3, 0.5])
    steps = np.arange(-3, 12)
    first, second = (one.ravel() for one in np.meshgrid(steps, steps, indexing="ij"))
    sums = first + second
    out = np.stack([7 + first, 3 + second, 0 * first], axis=1)[sums > 0]
    logs = affinity_of_counts(prior, counts, out).sum(axis=1)
    logs -= affinity_of_counts(float(prior.sum()), 10, out.sum(axis=1))
    bounds = merged_affinity(prior, counts, out.sum(axis=1) - 10)
    assert np.all(logs <= bounds + 1e-14)
    two = np.array([[10 + step, 0] for step in range(1, 12)])  # nothing to merge
    exact = affinity_of_counts(prior[:2], np.array([10, 0]), two).sum(axis=1)
    exact -= affinity_of_counts(float(prior[:2].sum()), 10, two.sum(axis=1))
    tight = merged_affinity(prior[:2], np.array([10, 0]), np.arange(1, 12))
    np.testing.assert_allclose(tight, exact, rtol=1e-12)


def test_what_takes_too_many_tilts_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excess, "LARGEST_WORK", 300_000)
    mean = dp.mechanism("lapMech", 0.1).law([5000, 2500, 0], np.ones(3)).mean_distance()
    assert mean.how == "draws"
    assert abs(mean - 0.5815770928) < mean.error < 0.01


@pytest.mark.parametrize("zeros", [(0, 1), (0, 1, 3)])
def test_counts_that_cannot_be_released_do_not_shift_the_others(zeros):
    # Noise that only adds, on counts whose last category is empty, and noise with a hole in it.
    counts, prior, masses = np.array([2, 2, 0]), np.array([1.0, 2.0, 0.5]), np.ones(5)
    masses[list(zeros)] = 0.0
    with np.errstate(divide="ignore"):
        marginal = Marginal(0, np.log(masses / masses.sum()))
    law = ProductLaw(prior, counts, (marginal, marginal))
    list_of_all = product_grid(prior, counts, (marginal, marginal))
    for name in ("mean_distance", "mean_square", "variance"):
        found, expected = getattr(law, name)(), getattr(list_of_all, name)()
        assert found.how == "series"
        assert abs(found - expected) <= found.error + expected.error


@pytest.mark.parametrize("tiny", [1e-13, 1e-14, 1e-17, 1e-250])
def test_a_tiny_prior_of_an_empty_last_category_has_its_mean(tiny):
    # All that merged categories tell is below the rounding of psi: the gap is 0, or below 0.
    counts, prior = np.array([20, 20, 0]), np.array([1.0, 1.0, tiny])
    mechanism = dp.mechanism("lapMech", 0.1)
    marginals = tuple(Marginal(0, mechanism.marginal(20, 40, 3)) for _ in range(2))
    found = ProductLaw(prior, counts, marginals).mean_distance()
    expected = product_grid(prior, counts, marginals).mean_distance()
    assert found.how == "series"
    assert abs(found - expected) <= found.error + expected.error < 1e-8


def test_no_law_of_the_laplace_family_stops_at_a_tiny_prior_of_an_empty_last_category():
    law = dp.mechanism("lapMech", 0.5).law([500, 500, 500, 0], [1.0, 1.0, 1.0, 1e-250])
    assert isinstance(law, ProductLaw)
    distances = dp.hellinger(
        law.prior + law.counts, law.prior + law.sample(np.random.default_rng(3), 20_000)
    )
    mean = law.mean_distance()
    assert abs(mean - distances.mean()) < 6.0 * distances.std() / np.sqrt(distances.size)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_a_probability_states_the_rounding_it_has(epsilon):
    law = dp.mechanism("lapMech", epsilon).law([50] * 4, [1.0] * 4)
    assert isinstance(law, ProductLaw)
    with mp.workdps(40):
        share = mp.exp(-mp.mpf(epsilon) / 4)
        each = [(share**t - share ** (t + 1)) / 2 for t in (3, 0, 0)]
        found = law.probability([53, 50, 50, 47])
        assert 0.0 < abs(mp.mpf(float(found)) - mp.fprod(each)) <= found.error < 1e-13 * found


@pytest.mark.slow
def test_ten_counts_in_a_million_under_very_wide_noise_take_less_than_300_mb():
    # In a process of its own, and read from /proc: `ru_maxrss` starts at the parent's peak.
    program = (
        "import pathlib, dpbayes as dp\n"
        "counts = [130_000 - 7_000 * i for i in range(10)]\n"
        "dp.mechanism('lapMech', 0.001).law(counts[::-1], [1.0] * 10).mean_distance()\n"
        "print(pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) / 1024 < 300


def test_factors_stand_in_the_order_of_the_categories_whatever_their_lengths():
    counts, prior = np.array([3, 40, 11, 40, 6]), np.array([1.0, 1.0, 2.0, 1.0, 1.0])
    law = product(dp.mechanism("lapMech", 30.0), counts, prior)
    starts = [marginal.start - int(x) for marginal, x in zip(law.marginals, counts, strict=False)]
    assert [factor.first for factor in law._factors] == starts[:3]
    assert [factor.copies for factor in law._factors] == [1, 2, 1]


def test_a_first_tilt_beyond_the_first_sums_is_halved():
    counts, prior = [0] * 8 + [10_386, 0], [1e-3] * 10
    law = dp.mechanism("lapMech", 0.599).law(counts, prior)
    found = law.mean_distance()
    assert found.how == "series"
    assert found.error < 1e-10
    assert abs(found - law.simulated().distances.mean()) < 4e-3


@pytest.mark.parametrize(
    ("counts", "epsilon", "prior"),
    [([0, 0, 99_312_807, 0, 0], 0.0026, 0.0745), ([0] * 5 + [39_583_861] + [0] * 4, 1.1, 0.001)],
)
def test_a_root_that_is_followed_to_one_is_unsure_only_where_outputs_are(counts, epsilon, prior):
    mean = dp.mechanism("draft-laplace", epsilon).law(counts, [prior] * len(counts)).mean_distance()
    assert mean.how == "series"
    assert mean.error < 1e-10


def test_a_mean_square_does_not_depend_on_what_was_asked_before(monkeypatch):
    counts, prior = [50, 3, 0, 0], [1.0] * 4
    mechanism = dp.mechanism("ilapMech", 0.01)
    windows = tuple(mechanism.window(count, 53, 4) for count in counts[:-1])
    alone = ProductLaw(np.array(prior), np.array(counts), windows)
    expected = alone.mean_square()
    assert expected.how == "series"
    law = ProductLaw(np.array(prior), np.array(counts), windows)
    law._excess.work = -1  # as after a mean that took all of it
    found = law.mean_square()
    assert found == expected
    assert found.error == expected.error


def test_few_powers_are_enough_where_posteriors_may_be_all_but_alike(monkeypatch):
    counts = [600_000_000, 400_000_000, 0, 0]
    mechanism = dp.mechanism("lapMech", 0.1)
    asked, through = [], excess.ExcessMoments.moment

    def counted(self, power):
        asked.append(power)
        return through(self, power)

    monkeypatch.setattr(excess.ExcessMoments, "moment", counted)
    few = mechanism.law(counts, np.ones(4)).mean_distance()
    used = len(asked)
    monkeypatch.setattr("dpbayes.laws.product.law.mean_root", lambda *_, **__: (0.0, np.inf))
    all_of_them = mechanism.law(counts, np.ones(4)).mean_distance()
    assert few.how == all_of_them.how == "series"
    assert used < 0.8 * (len(asked) - used)
    assert few.error < 1e-10
    assert abs(few - all_of_them) <= few.error + all_of_them.error


def test_windows_that_reach_neither_end_are_one_array():
    law = dp.mechanism("lapMech", 0.5).law([90_000, 60_000, 50_000, 3, 1000], np.ones(5))
    logs = [one.log_probabilities for one in law.marginals]
    assert np.shares_memory(logs[0], logs[1])
    assert np.shares_memory(logs[0], logs[2])
    assert not np.shares_memory(logs[0], logs[3])
    for count, marginal in zip(law.counts[:-1].tolist(), law.marginals, strict=True):
        one = dp.mechanism("lapMech", 0.5).window(count, 201_003, 5)
        assert (one.start, one.outside) == (marginal.start, marginal.outside)
        assert np.array_equal(one.log_probabilities, marginal.log_probabilities)
