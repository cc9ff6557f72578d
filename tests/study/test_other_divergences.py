from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import dpbayes as dp
from dpbayes.study import other_divergences as od

parameters = st.tuples(st.floats(0.3, 60.0), st.floats(0.3, 60.0))


def integral(function, a, b):
    """Integrate function(p, q) over [0, 1] for Beta densities p, q, 20 digits, naively."""
    with mpmath.workdps(30):

        def density(parameters, t):
            x, y = map(mpmath.mpf, parameters)
            return t ** (x - 1) * (1 - t) ** (y - 1) / mpmath.beta(x, y)

        points = [0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1]
        return float(mpmath.quad(lambda t: function(density(a, t), density(b, t)), points))


CASES = [((2.0, 5.0), (3.0, 4.0)), ((21.0, 1.5), (16.0, 6.5)), ((1.0, 1.0), (1.5, 0.5))]


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), CASES)
def test_closed_forms_against_integrals(a, b):
    def root(p, q):
        return (mpmath.sqrt(p) - mpmath.sqrt(q)) ** 2 / 2

    def shannon(p, q):
        m = (p + q) / 2
        return (p * mpmath.log(p / m) + q * mpmath.log(q / m)) / 2

    assert od.squared_hellinger(a, b) == pytest.approx(integral(root, a, b), rel=1e-8)
    assert od.kl(a, b) == pytest.approx(
        integral(lambda p, q: p * mpmath.log(p / q), a, b), rel=1e-8
    )
    assert od.reverse_kl(a, b) == pytest.approx(
        integral(lambda p, q: q * mpmath.log(q / p), a, b), rel=1e-8
    )
    assert od.jensen_shannon(a, b) == pytest.approx(integral(shannon, a, b), rel=1e-8)
    variation = integral(lambda p, q: abs(p - q) / 2, a, b)
    assert od.total_variation(a, b) == pytest.approx(variation, rel=2e-4)
    order = 0.7
    affinity = integral(lambda p, q: p**order * q ** (1 - order), a, b)
    assert od.renyi(a, b, order) == pytest.approx(np.log(affinity) / (order - 1), rel=1e-7)
    if min(2 * np.array(a) - b) > 0:
        square = integral(lambda p, q: p * p / q, a, b)
        assert od.chi_squared(a, b) == pytest.approx(square - 1, rel=1e-7)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(a=parameters, share=st.floats(0.05, 0.95))
def test_inequalities_that_hold_for_every_pair(a, share):
    total = sum(a)
    b = (share * total, (1 - share) * total)
    squared, variation = od.squared_hellinger(a, b), od.total_variation(a, b)
    assert squared - 1e-9 <= variation <= np.sqrt(squared * (2 - squared)) + 1e-9
    assert variation <= np.sqrt(0.5 * od.kl(a, b)) + 1e-9  # Pinsker
    assert od.renyi(a, b, 0.5) <= od.kl(a, b) + 1e-9
    assert od.kl(a, b) <= od.renyi(a, b, 2.0) + 1e-9
    shannon = od.jensen_shannon(a, b)
    assert 0.5 * squared - 1e-9 <= shannon <= np.log(2) * variation + 1e-9


@settings(max_examples=20, deadline=None)
@given(alpha=parameters, n=st.integers(2, 8), name=st.sampled_from(od.METRICS))
def test_metrics_satisfy_the_triangle_inequality(alpha, n, name):
    table = od.divergence_table(name, n, alpha)
    through = (table[:, :, None] + table[None, :, :]).min(axis=1)
    assert np.all(table <= through + 1e-7)


@pytest.mark.parametrize("name", sorted(set(od.DIVERGENCES) - set(od.METRICS)))
def test_the_others_do_not(name):
    table = od.divergence_table(name, 6, [9.0, 9.0])
    through = (table[:, :, None] + table[None, :, :]).min(axis=1)
    assert np.any(table > through * (1 + 1e-6))


@pytest.mark.slow
def test_small_parameters_of_jensen_shannon():
    a, b = (0.05, 3.05), (1.05, 2.05)

    def shannon(p, q):
        m = (p + q) / 2
        return (p * mpmath.log(p / m) + q * mpmath.log(q / m)) / 2

    with mpmath.workdps(30):

        def along(u):  # t = u^40 takes the pole at 0 away
            t = u**40
            ends = [
                t ** (mpmath.mpf(x) - 1) * (1 - t) ** (mpmath.mpf(y) - 1) / mpmath.beta(x, y)
                for x, y in (a, b)
            ]
            return shannon(*ends) * 40 * u**39

        exact = float(mpmath.quad(along, [0, 0.3, 0.6, 0.8, 0.9, 0.95, 1]))
    assert od.jensen_shannon(a, b) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((306604.0, 596256.0), (110947.0, 791913.0)),
        ((111.0, 193791.0), (188544.0, 5358.0)),
        ((2e-6, 30.0), (30.0, 2e-6)),
        ((1e6, 0.001), (1e6 - 400, 400.001)),
    ],
)
def test_jensen_shannon_of_posteriors_far_apart_is_ln_2(a, b):
    both = od.jensen_shannon([a, b, a], [b, a, a])
    assert both == pytest.approx([np.log(2), np.log(2), 0.0], abs=1e-5)
    assert od.jensen_shannon(a, b) == both[0] <= np.log(2)
    assert od.jensen_shannon([[a], [a]], [[b], [a]])[0, 0] == both[0]


@pytest.mark.parametrize(
    ("a", "b"),
    [((1.4e-3, 69.1), (64.0, 5.12)), ((1e-6, 3.0), (1.000001, 2.0)), ((487.0, 1e-3), (481.0, 6.0))],
)
def test_jensen_shannon_of_parameters_near_zero(a, b):
    def along(y, p, q):  # in logit t, to what t^p leaves at the ends
        def log_density(r):
            tails = r[0] * np.logaddexp(0.0, -y) + r[1] * np.logaddexp(0.0, y)
            return -tails - special.betaln(*r)

        first, second = log_density(p), log_density(q)
        return np.exp(first) * (np.log(2) - np.logaddexp(0.0, second - first))

    found = 0.0
    for p, q in ((a, b), (b, a)):
        for sign, end in ((1, p[1]), (-1, p[0])):
            x = np.linspace(-8.0, np.log(60.0 / end + 60.0), 400_001)
            # From the middle outwards, in equal steps of the logarithm.
            values = along(sign * np.exp(x), p, q) * np.exp(x)
            found += 0.5 * (values.sum() - 0.5 * values[[0, -1]].sum()) * (x[1] - x[0])
            found += 0.5 * along(0.0, p, q) * np.exp(-8.0)
    assert od.jensen_shannon(a, b) == pytest.approx(found, abs=1e-6)


def test_any_shape_and_order_one():
    a = np.array([[2.0, 3.0, 1.0], [4.0, 1.0, 1.0]])
    assert od.kl(a, [1.0, 2.0, 3.0]).shape == (2,)
    np.testing.assert_allclose(od.renyi(a, [1, 2, 3], 1.0), od.kl(a, [1, 2, 3]))
    assert np.isinf(od.chi_squared([1, 5], [3, 3]))


def test_bad_input():
    with pytest.raises(ValueError, match="equal totals"):
        od.total_variation([1, 2], [1, 3])
    with pytest.raises(ValueError, match="2 parameters"):
        od.jensen_shannon([1, 1, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="same number of parameters"):
        od.kl([1, 1, 1], [1, 1])
    with pytest.raises(ValueError, match="order must be positive"):
        od.renyi([1, 1], [1, 2], -1.0)
    with pytest.raises(ValueError, match="name must be one of"):
        od.divergence_table("hellnger", 3, [1, 1])
    with pytest.raises(ValueError, match="takes 2000"):
        od.divergence_table("kl", 3000, [1, 1])
    assert dp.hellinger is od.DIVERGENCES["hellinger"]
    assert list(od.PLAIN) == list(od.DIVERGENCES)
