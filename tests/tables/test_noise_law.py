"""The exact law against mpmath's partial fractions and E's closed form, far into the
tails.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbayes.tables import NoiseLaw

weight_lists = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12)


def partial_fractions_tail(weights: np.ndarray, x: float, digits: int) -> mp.mpf:
    """P(Z > x) = sum_i prod_j w_i^2 / (w_i^2 - w_j^2) exp(-x / w_i) / 2, distinct
    weights.
    """
    with mp.workdps(digits):
        w = [mp.mpf(float(value)) for value in weights]
        total = mp.mpf(0)
        for i, a in enumerate(w):
            product = mp.mpf(1)
            for j, b in enumerate(w):
                if j != i:
                    product *= a * a / (a * a - b * b)
            total += product * mp.exp(-mp.mpf(x) / a) / 2
        return total


def equal_scale_tail(n: int, b: float, x: float) -> mp.mpf:
    """The integral of E's equation 23 from x, term by term."""
    with mp.workdps(80):
        z = mp.mpf(x) / mp.mpf(b)
        terms = (
            mp.factorial(n - 1 + k)
            / (mp.factorial(k) * mp.factorial(n - 1 - k))
            * mp.gammainc(n - k, z)
            / mp.mpf(2) ** k
            for k in range(n)
        )
        return mp.fsum(terms) / (mp.factorial(n - 1) * mp.mpf(2) ** n)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 30, 100])
@pytest.mark.parametrize("kind", ["uniform", "exponential", "decades"])
def test_tail_equals_partial_fractions(m: int, kind: str) -> None:
    rng = np.random.default_rng(m)
    draws = {
        "uniform": rng.random(m) + 0.1,
        "exponential": rng.exponential(size=m) + 1e-3,
        "decades": 10 ** rng.uniform(-3, 1, m),
    }[kind]
    law = NoiseLaw(draws)
    for deviations in (0.01, 1.0, 4.0, 10.0):
        x = deviations * law.standard_deviation
        reference = partial_fractions_tail(draws, x, 60 + 6 * m)
        assert abs(law.tail(x) / reference - 1) < 1e-13


@pytest.mark.parametrize(
    ("n", "b"), [(1, 2.0), (2, 1.0), (30, 1.0), (100, 5.0), (1000, 0.1)]
)
def test_tail_of_equal_scales(n: int, b: float) -> None:
    law = NoiseLaw([b] * n)
    for deviations in (0.01, 1.0, 8.0):
        x = deviations * law.standard_deviation
        assert abs(law.tail(x) / equal_scale_tail(n, b, x) - 1) < 1e-13


@settings(max_examples=60, deadline=None)
@given(weight_lists, st.floats(1e-9, 0.999))
def test_half_width_inverts_the_tail(weights: list[float], delta: float) -> None:
    law = NoiseLaw(weights)
    c = law.half_width(delta)
    assert 2 * law.tail(c) == pytest.approx(delta, rel=1e-11)


@pytest.mark.parametrize(
    ("delta", "half_width"),
    [
        (0.5, 9.7508415762),
        (0.1, 25.4529605741),
        (0.05, 31.2076075267),
        (0.01, 43.5845955682),
    ],
)
def test_half_widths_of_the_worked_example(delta: float, half_width: float) -> None:
    w = np.array([34 * 20, 66 * 10, 101 * 10, 16 * 10, 101 * 10, 32 * 20]) / 167
    assert NoiseLaw(w).half_width(delta) == pytest.approx(half_width, abs=5e-11)


@pytest.mark.parametrize("dust", [1e-15, 1e-13, 1e-11, 1e-9])
@pytest.mark.parametrize("count", [100, 1440])
def test_one_weight_beside_dust_gives_the_half_width_of_one_weight(
    dust: float, count: int
) -> None:
    law = NoiseLaw([1.0] + [dust] * count)
    assert law.half_width(0.05) == pytest.approx(math.log(20.0), rel=1e-13)


@pytest.mark.parametrize(
    ("n", "x"), [(1000, 2e4), (1350, 36_000.0), (30, 1e6), (3, 1e15)]
)
def test_deep_tails_of_many_equal_weights(n: int, x: float) -> None:
    # A product of n factors loses everything here: it is e^-100 beside rounding of
    # 1e-16.
    reference = float(mp.log(equal_scale_tail(n, 1.0, x)))
    assert NoiseLaw([1.0] * n).log_tail(x) == pytest.approx(reference, rel=4e-16)


def test_tails_of_weights_over_twelve_decades() -> None:
    rng = np.random.default_rng(3)
    for _ in range(8):
        w = np.append(1.0, 10.0 ** rng.uniform(-11.9, 0.0, int(rng.integers(1, 8))))
        for x in (1e-9, 0.3, 40.0, 1e4):
            reference = float(mp.log(partial_fractions_tail(w, x, 400)))
            assert abs(NoiseLaw(w).log_tail(x) - reference) <= 2e-15 * max(
                1.0, abs(reference)
            )


def test_far_tails_stay_finite_in_logarithms_and_beyond_0_mirror() -> None:
    law = NoiseLaw([1.0, 0.5])
    assert NoiseLaw([1.0]).log_tail(5000.0) == pytest.approx(
        math.log(0.5) - 5000.0, rel=1e-15
    )
    assert NoiseLaw([1.0]).half_width(1e-300) == pytest.approx(
        300 * math.log(10), rel=1e-14
    )
    assert (NoiseLaw([1.0]).tail(1e4), law.tail(0.0)) == (0.0, 0.5)
    assert law.tail(-2.0) == pytest.approx(1.0 - law.tail(2.0), abs=1e-15)
    assert law.log_tail(-2.0) == pytest.approx(math.log(law.tail(-2.0)), rel=1e-13)
    assert NoiseLaw([1e200]).variance == math.inf
    with pytest.raises(ValueError, match="all zeros"):
        NoiseLaw([0.0, 0.0])


def test_adversarial_weights_neither_hang_nor_give_nan() -> None:
    """Dust, ties, extreme scales, one that dominates."""
    rng = np.random.default_rng(20)
    for run in range(300):
        m = int(
            rng.choice(
                [1, 2, 3, 10, 40, 200, 1000], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.09, 0.01]
            )
        )
        weights = [
            10.0 ** rng.uniform(-300, 300, m),
            np.append(1.0, np.full(m, 10.0 ** rng.uniform(-20, 0))),
            np.full(m, 10.0 ** rng.uniform(-300, 300)),
            np.append(np.ones(3), 10.0 ** rng.uniform(-18, -6, m)),
            np.nextafter(np.ones(m), 2.0 * (run % 2)) * rng.choice([1e-300, 1, 1e300]),
            np.append(10.0 ** rng.uniform(-12.5, -10, m), [1.0, 1.0 - 1e-16]),
        ][run % 6]
        law = NoiseLaw(weights)
        delta = 10.0 ** rng.uniform(-300, -1e-9) if run % 3 else rng.random()
        c = law.half_width(delta)
        assert 0.0 <= c < math.inf
        if law.weights.max() > 1e-290:
            target = math.log(delta / 2.0)
            assert abs(law.log_tail(c) - target) < 1e-10 * max(1.0, -target)
        assert law.log_tail(10.0 ** rng.uniform(-300, 305)) <= 0.0


def test_samples_follow_the_law_and_not_one_ten_percent_wider() -> None:
    law = NoiseLaw([1.0, 3.0, 0.2])
    draws = law.sample(np.random.default_rng(7), 60_000)
    for x, wider in ((-4.0, 1.0), (0.5, 1.0), (6.0, 1.0), (6.0, 1.1)):
        p = NoiseLaw(wider * law.weights).tail(x)
        near = abs(np.mean(draws > x) - p) < 6 * math.sqrt(p * (1 - p) / draws.size)
        assert near == (wider == 1.0)
