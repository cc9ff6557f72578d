"""The full posterior: exact for one unknown, by Gibbs sampling for a history."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes import queries

answers = st.lists(
    st.tuples(st.integers(-20, 20).map(float), st.floats(0.2, 5.0), st.sampled_from([1.0, -2.0])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(answers)
def test_equals_numerical_integration(data: list[tuple[float, float, float]]) -> None:
    y, b, c = (np.array(column) for column in zip(*data, strict=True))
    exact = queries.posterior_one_unknown(y, b, c)
    edges = np.linspace(-150.0, 150.0, 300_001)
    t = 0.5 * (edges[1:] + edges[:-1])
    logs = -(np.abs(y[:, None] - c[:, None] * t) / b[:, None]).sum(axis=0)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    assert exact.mean == pytest.approx(float(p @ t), abs=1e-4)
    assert exact.variance == pytest.approx(float(p @ (t - exact.mean) ** 2), rel=1e-3)
    for theta in (-3.7, 0.0, 4.2):
        assert exact.cdf(theta) == pytest.approx(float(p[t <= theta].sum()), abs=2e-3)
    np.testing.assert_allclose(exact.density(t[::30_000]), p[::30_000] / 1e-3, rtol=0.01, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(answers, st.floats(0.001, 0.999))
def test_quantile_inverts_the_distribution(
    data: list[tuple[float, float, float]], probability: float
) -> None:
    y, b, c = (np.array(column) for column in zip(*data, strict=True))
    exact = queries.posterior_one_unknown(y, b, c)
    assert exact.cdf(exact.quantile(probability)) == pytest.approx(probability, abs=1e-12)
    box = exact.interval(0.1)
    assert exact.mass(box.low, box.high) == pytest.approx(0.9, abs=1e-12)


def test_one_answer_gives_back_the_laplace_law() -> None:
    exact = queries.posterior_one_unknown([3.0], [2.0])
    assert exact.mean == pytest.approx(3.0)
    assert exact.variance == pytest.approx(8.0)
    assert exact.cdf(5.0) == pytest.approx(1 - 0.5 * math.exp(-1.0))


@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-13, 1e-15, 1e-40, 1e-300])
def test_both_ends_of_an_interval_are_right_at_any_confidence(delta: float) -> None:
    # Of answers 3 apart from 0 the tail beyond t is e^(6 - 2t)/14.
    end = (6.0 - math.log(7.0) - math.log(delta)) / 2.0
    box = queries.posterior_one_unknown([-3.0, 3.0], [1.0, 1.0]).interval(delta)
    if delta < 1.0 / 7.0:
        assert box.high == pytest.approx(end, rel=1e-12)
    assert box.low == pytest.approx(-box.high, rel=1e-12)


@pytest.mark.parametrize("low", [5.0, 19.0, 40.0, 300.0])
def test_both_tails_keep_their_digits(low: float) -> None:
    exact = queries.posterior_one_unknown([-3.0, 3.0], [1.0, 1.0])
    right = math.exp(6.0 - 2.0 * low) / 14.0 * -math.expm1(-2.0)
    assert exact.mass(low, low + 1.0) == pytest.approx(right, rel=1e-12, abs=0.0)
    assert exact.mass(-low - 1.0, -low) == pytest.approx(right, rel=1e-12, abs=0.0)


@pytest.mark.parametrize(("far", "near", "wide"), [(1e3, 1.0, 0.5), (1e3, 0.5, 1.0)])
@pytest.mark.parametrize("times", [0.7, 0.75, 1.0, 1e3, 1e6, 1e12])
def test_answers_far_apart_leave_the_surer_one(
    far: float, near: float, wide: float, times: float
) -> None:
    # Between the two the density falls from the surer answer at rate r, beyond it at rate s.
    gap = far * times
    exact = queries.posterior_one_unknown([0.0, gap], [near, wide])
    peak, inward = (0.0, 1.0) if near < wide else (gap, -1.0)
    r, s = 1.0 / min(near, wide) - 1.0 / max(near, wide), 1.0 / near + 1.0 / wide
    inside, outside = s / (r + s), r / (r + s)  # masses on the two sides of the peak
    assert exact.mean - peak == pytest.approx(inward * (inside / r - outside / s), abs=1e-15 * gap)
    square = 2 * inside / r**2 + 2 * outside / s**2
    assert exact.variance == pytest.approx(square - (inside / r - outside / s) ** 2, rel=1e-9)
    assert float(exact.density(np.array(peak))) == pytest.approx(r * s / (r + s), rel=1e-9)
    half = float(exact.cdf(peak + 0.5 * inward * gap))
    assert half == pytest.approx(1.0 if inward > 0 else 0.0, abs=1e-12)
    for p in (1e-12, 0.1, 0.5, 0.9, 1 - 1e-12, 1 - 2.0**-53):
        assert exact.cdf(exact.quantile(p)) == pytest.approx(p, abs=1e-9 + 1e-15 * gap)
    low = 30.0
    left, right = sorted((peak + inward * low, peak + inward * (low + 1.0)))
    right_mass = inside * math.exp(-r * low) * -math.expm1(-r)
    assert exact.mass(left, right) == pytest.approx(right_mass, rel=1e-9 + 1e-15 * gap)


def test_an_interval_from_the_estimate_is_not_one_from_the_answers() -> None:
    half = queries.NoiseLaw([0.5, 0.5]).half_width(0.05)
    exact = queries.posterior_one_unknown([-3.0, 3.0], [1.0, 1.0])
    assert exact.mass(-half, half) == pytest.approx(0.588, abs=5e-4)
    # Averaged over answers drawn from the model the interval does hold its 95 %.
    noise = np.random.default_rng(1).laplace(size=(4000, 2))
    masses = [
        queries.posterior_one_unknown(y, [1.0, 1.0]).mass(y.mean() - half, y.mean() + half)
        for y in noise
    ]
    assert np.mean(masses) == pytest.approx(0.95, abs=6 * np.std(masses) / math.sqrt(4000))


def test_gibbs_agrees_with_the_exact_posterior_of_one_unknown() -> None:
    y, b = np.array([1.0, 4.0, -2.0, 7.0]), np.array([1.0, 2.0, 0.5, 3.0])
    exact = queries.posterior_one_unknown(y, b)
    chain = queries.posterior_draws(
        np.ones((4, 1)), b, np.tile(y, (40, 1)), [1.0], 500, np.random.default_rng(3)
    )
    means = chain.mean
    error = np.std(means) / math.sqrt(means.size)
    assert abs(means.mean() - exact.mean) < 6 * error
    assert chain.draws.var() == pytest.approx(exact.variance, rel=0.1)
    for p in (0.1, 0.5, 0.9):
        shares = (chain.draws <= exact.quantile(p)).mean(axis=1)
        assert abs(shares.mean() - p) < 6 * np.std(shares) / math.sqrt(shares.size)


def test_full_posterior_beats_blue_on_range_histories() -> None:
    rng = np.random.default_rng(8)
    H = queries.random_ranges((8,), 64, rng)
    b = np.full(64, 5.0)
    q = queries.range_query((8,), [2], [6])
    weights = queries.blue(H, b, q).weights
    noise = rng.laplace(size=(300, 64)) * b
    chain = queries.posterior_draws(H, b, noise, q, 300, rng)
    gain = 1 - np.mean(chain.mean**2) / np.mean((noise @ weights) ** 2)
    assert 0.05 < gain < 0.45


def test_gibbs_shapes() -> None:
    rng = np.random.default_rng(0)
    one = queries.posterior_draws(np.eye(2), [1.0, 1.0], [3.0, 4.0], [1.0, 1.0], 7, rng)
    assert one.draws.shape == (7,)
    assert one.mean.shape == ()
    assert one.quantile(0.5).shape == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queries.posterior_one_unknown([1.0], [0.0]), "scales must be positive"),
        (lambda: queries.posterior_one_unknown([1.0], [1.0, 1.0]), "scales must have 1"),
        (lambda: queries.posterior_one_unknown([1.0], [1.0], [0.0]), "must not be 0"),
        (lambda: queries.posterior_one_unknown([np.nan], [1.0]), "y must be finite"),
        (
            lambda: queries.posterior_draws(
                [[1.0, 0.0]], [1.0], [1.0], [0.0, 1.0], 5, np.random.default_rng()
            ),
            "row space",
        ),
        (
            lambda: queries.posterior_draws(
                [[1.0]], [1.0], [1.0, 2.0], [1.0], 5, np.random.default_rng()
            ),
            "y must have shape",
        ),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("p", [1e-9, 0.1, 0.5, 0.9])
def test_a_precise_answer_keeps_its_digits_beside_a_far_one(far: float, p: float) -> None:
    """Between the two the density grows by far more e-folds than a float holds."""
    one = queries.posterior_one_unknown([0.0, far], [1e-4, 1.0])
    other = queries.posterior_one_unknown([0.0, -far], [1e-4, 1.0])
    rises, falls = 1e4 + 1.0, 1e4 - 1.0  # of the log density left of 0, and right of it
    left = falls / (rises + falls)
    low = np.log(p / left) / rises
    high = -np.log((1.0 - p) / (1.0 - left)) / falls
    assert one.quantile(p) == pytest.approx(low if p < left else high, rel=1e-9, abs=1e-18)
    assert other.quantile(1.0 - p) == pytest.approx(-one.quantile(p), rel=1e-6, abs=1e-18)
