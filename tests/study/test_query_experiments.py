"""The computations behind the experiments, each against a second way or a known value."""

import math

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.streams import answered_shares, stream
from dpbayes.study import query_experiments as experiments

EXAMPLE = queries.worked_example()
WEIGHTS = queries.blue(EXAMPLE.H, EXAMPLE.scales, EXAMPLE.q).noise_weights


def test_monte_carlo_errors_follow_the_corollary() -> None:
    sizes = [100, 1000]
    mean, error = experiments.monte_carlo_errors(WEIGHTS, sizes, 40, np.random.default_rng(1))
    exact = queries.exact_masses(queries.NoiseLaw(WEIGHTS)).masses
    for m, e, size in zip(mean, error, sizes, strict=True):
        assert abs(m - queries.expected_squared_error(exact, size)) < 6 * e


def test_probability_calculation_stops_at_a_floor() -> None:
    errors, lost = experiments.probability_calculation_errors(WEIGHTS, [0.01, 1e-6, 1e-10])
    assert lost[1] == pytest.approx(1e-4 * lost[0], rel=0.05)
    assert errors[1] == pytest.approx(errors[2], rel=1e-3)
    assert errors[2] > 1e-9


@pytest.mark.parametrize(("answers", "gamma"), [(300_000, 0.01), (3000, 0.9)])
def test_noise_is_reported_where_hardly_any_mass_is_kept(answers: int, gamma: float) -> None:
    """The kept part of a sum of so many terms is normal, with the variance of a kept term."""
    one = queries.laplace_masses(0.7, gamma)
    ratio, missed = experiments.reported_noise([0.7], answers, gamma, 0.2)
    assert ratio[0] == pytest.approx(one.standard_deviation / (0.7 * np.sqrt(2.0)), rel=1e-6)
    assert 0.0 < missed[0] < 1.0


def test_kept_masses_are_those_of_the_convolution_over_their_sum() -> None:
    whole = queries.pmf_probability_calculation(np.full(30, 0.7), 0.3)
    kept = experiments._kept_masses(0.7, 30, 0.3)
    np.testing.assert_allclose(kept, whole.masses / whole.total, rtol=0, atol=1e-15)


def test_reported_noise_of_the_specification() -> None:
    ratio, missed = experiments.reported_noise([0.1, 5.0], 1000, 0.01, 0.05)
    assert ratio[0] * math.sqrt(20) == pytest.approx(2.596, abs=5e-4)
    assert 0.21 < missed[0] < 0.23
    assert ratio[1] > 0.9


def test_what_is_missed_is_not_one_minus_what_is_covered() -> None:
    # One minus a float near one is a multiple of 2^-53, and 0 where nearly all is covered.
    _, missed = experiments.reported_noise([3.0], 10, 1e-14, 1e-10)
    assert 0.0 < missed[0] < 2e-10
    assert not (missed[0] * 2.0**53).is_integer()


def test_coverages_by_hand() -> None:
    found = experiments.coverages(queries.NoiseLaw([2.0]), [0.5, 0.9])
    np.testing.assert_allclose(found["exact"], [0.5, 0.9], atol=1e-14)
    sigma = 2 * math.sqrt(2)
    gauss = 1 - math.exp(-0.6744897501960817 * sigma / 2)
    assert found["Gaussian"][0] == pytest.approx(gauss)
    assert found["Chebyshev"][1] == pytest.approx(1 - math.exp(-sigma / math.sqrt(0.1) / 2))


def test_joining_breaks_the_promise_near_one_over_e() -> None:
    deltas = np.array([0.05, 0.2, 0.36, 0.8])
    for ratio in (1.5, 3.0, 6.0, 20.0):
        miss = experiments.joined_miss(deltas, ratio)
        assert np.all(miss[:3] <= deltas[:3])
    assert experiments.joined_miss([0.8], 3.0)[0] > 0.8
    # With a finite ratio it breaks a little before 1/e, so a rule "below 1/e is safe" is not exact.
    assert experiments.joined_miss([0.3665], 6.0)[0] > 0.3665


def test_largest_of_fifty_by_simulation() -> None:
    noise = np.random.default_rng(3).laplace(size=(20_000, 50)).max(axis=1)
    share = np.mean(np.abs(noise) <= queries.NoiseLaw([1.0]).half_width(0.05))
    expected = experiments.largest_coverage([50.0], 0.05)[0]
    assert expected == pytest.approx(0.282, abs=5e-4)
    assert abs(share - expected) < 6 * math.sqrt(expected * (1 - expected) / 20_000)


def test_posterior_gain_grows_with_the_history() -> None:
    rng = np.random.default_rng(5)
    found = experiments.posterior_gain([6, 60], 4, 3, 120, 60, rng)
    assert found.gain[1] > 0.1
    assert found.gain[1] < 0.6
    assert abs(found.gain[0]) < 0.3


def test_measured_and_recorded_times_have_the_same_columns() -> None:
    measured = experiments.running_times([2], 100, 0.01, np.random.default_rng(0))
    recorded = experiments.recorded_times()
    assert list(recorded) == ["answers", *measured]
    assert all(np.all(values > 0) for values in recorded.values())


def test_stream_and_server_decide_alike() -> None:
    asked = queries.random_ranges((6,), 25, np.random.default_rng(4))
    for policy in ({}, {"spending": "direct"}, {"accounting": "sequential"}, {"inference": False}):
        outcomes = stream(asked, 40.0, 0.1, 0.8, queries.Policy(**policy)).outcomes  # type: ignore[arg-type]
        server = queries.QueryServer.simulated(
            np.arange(6), 0.8, np.random.default_rng(9), **policy
        )
        assert outcomes == tuple(server.ask(q, 40.0, 0.1).outcome for q in asked)


def test_stream_summaries() -> None:
    seen = stream(np.eye(2)[[0, 0, 1, 1]], [40, 50, 40, 1], 0.05, 0.2, queries.Policy())
    assert seen.outcomes == ("fresh", "derived", "fresh", "rejected")
    np.testing.assert_allclose(seen.answered, [1, 1, 1, 0.75])
    assert seen.first_rejection == 4
    assert seen.count("fresh") == 2
    assert stream(np.eye(2), 40, 0.05, 1.0, queries.Policy()).first_rejection == 3


def test_smallest_budget_is_myopic_under_load() -> None:
    asked = queries.random_ranges((32,), 130, np.random.default_rng(2))
    smallest = answered_shares(asked, [3.0], 40.0, 0.05, queries.Policy())
    direct = answered_shares(asked, [3.0], 40.0, 0.05, queries.Policy(spending="direct"))
    assert smallest[0] < direct[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: experiments.joined_miss([0.5], 0.0), "ratio must be positive"),
        (lambda: experiments.joined_miss([1.5], 1.0), "deltas must lie strictly"),
        (lambda: experiments.largest_coverage([0.0], 0.1), "candidates must be positive"),
        (lambda: experiments.reported_noise([1.0], 0, 0.1, 0.1), "answers must be an integer"),
        (
            lambda: experiments.posterior_gain([4], 4, 1, 2, 1, np.random.default_rng()),
            "sizes must be an integer of at least 5",
        ),
        (lambda: stream([[1.0]], 0.0, 0.1, 1.0, queries.Policy()), "lengths must be positive"),
        (lambda: stream([[1.0]], 1.0, 0.1, 0.0, queries.Policy()), "bound must be positive"),
        (lambda: stream([[1.0]], 1.0, 1.0, 1.0, queries.Policy()), "delta must lie strictly"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()
