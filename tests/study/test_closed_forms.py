"""The closed forms of D, section 6, against mpmath and against the laws of the mechanisms."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.study import closed_forms as cf

parameters = st.floats(0.5, 200.0)


def reference(alpha: float, beta: float, step: int) -> float:
    with mpmath.workdps(40):
        a, b, t = mpmath.mpf(alpha), mpmath.mpf(beta), mpmath.mpf(step)
        top = mpmath.gamma(a + t / 2) * mpmath.gamma(b - t / 2)
        bottom = mpmath.sqrt(
            mpmath.gamma(a) * mpmath.gamma(b) * mpmath.gamma(a + t) * mpmath.gamma(b - t)
        )
        return float(1 - top / bottom)


@given(parameters, parameters, st.integers(0, 10))
def test_all_forms_agree_with_the_gamma_functions(alpha, extra, step):
    beta = step + extra
    right = reference(alpha, beta, step)
    product = cf.squared_distance_odd if step % 2 else cf.squared_distance_even
    assert cf.squared_distance(alpha, beta, step) == pytest.approx(right, rel=1e-11, abs=1e-15)
    assert product(alpha, beta, step) == pytest.approx(right, rel=1e-9, abs=1e-12)


@given(parameters, parameters, st.sampled_from([1, 3, 5, 7, 9]))
def test_the_printed_odd_product_lacks_one_factor(alpha, extra, step):
    beta = step + extra
    printed = 1 - cf.squared_distance_odd(alpha, beta, step, printed=True)
    missing = math.sqrt((beta - step) / (alpha + step - 1))
    assert printed * missing == pytest.approx(1 - reference(alpha, beta, step), rel=1e-9)


@pytest.mark.parametrize(("alpha", "step"), [(1.0, 1), (3.5, 1), (2.0, 3), (20.0, 5)])
def test_the_printed_odd_product_is_right_where_the_missing_factor_is_one(alpha, step):
    right = alpha + 2 * step - 1
    for beta, same in ((right, True), (right + 1, False), (right + 0.5, False)):
        printed = cf.squared_distance_odd(alpha, beta, step, printed=True)
        assert (printed == pytest.approx(cf.squared_distance(alpha, beta, step), abs=1e-12)) is same


def test_the_printed_odd_product_is_wrong_for_every_odd_step_tried():
    for step in (1, 3, 5, 7, 9):
        printed = cf.squared_distance_odd(51, 51, step, printed=True)
        assert abs(printed - reference(51, 51, step)) > 0.004
    assert cf.squared_distance_odd(51, 51, 1, printed=True) < 0
    assert cf.squared_distance_odd(51, 51, 3, printed=True) < 0


@pytest.mark.parametrize(("a", "b"), [(51.0, 51.0), (1e12, 1e12), (1e9, 12.0001), (1e-9, 1e9)])
def test_the_tabulated_head_keeps_its_digits_where_it_is_small(a, b):
    with mpmath.workdps(60):
        right = float(
            1 - mpmath.sqrt(mpmath.mpf(a) / (mpmath.mpf(a) + 1) * (1 - 1 / mpmath.mpf(b)))
        )
    assert cf.squared_distance_tabulated(a, b, 2) == pytest.approx(right, rel=1e-14)


def test_the_tabulated_head_for_two_steps_has_beta_for_beta_minus_one():
    head = cf.squared_distance_tabulated(20, 30, 2)
    assert head == pytest.approx(1 - math.sqrt(20 / 21 * 29 / 30), rel=1e-14)
    right = 1 - math.sqrt(20 / 21 * 28 / 29)
    assert cf.squared_distance(20, 30, 2) == pytest.approx(right, rel=1e-12)
    assert head != pytest.approx(right, rel=1e-3)
    assert cf.squared_distance_tabulated(20, 30, 0) == 0.0


@settings(max_examples=20)
@given(st.integers(3, 60), st.integers(3, 60), st.floats(0.1, 5.0))
def test_table_entries_are_probabilities_of_the_law(first, second, epsilon):
    prior = [1.0, 1.5]
    law = dp.mechanism("expMech-smooth", epsilon).law([first, second], prior)
    for step in (0, 1, 2):
        entry = cf.expmech_row([first, second], prior, epsilon, step)
        assert entry.corrected == pytest.approx(
            law.probability([first + step, second - step]), rel=1e-10
        )


def test_the_row_of_one_step_has_no_value_on_balanced_data():
    assert math.isnan(cf.expmech_row([50, 50], [1, 1], 1.0, 1).printed)
    assert not math.isnan(cf.expmech_row([50, 51], [1, 1], 1.0, 1).printed)


def test_step_probabilities_tend_to_their_limit():
    limit = cf.limit_step_probability([0, 1, 2], 1.0)
    seen = cf.balanced_step_probabilities([100, 1000, 10000], [1, 1], 1.0, [0, 1, 2])
    gaps = np.abs(seen - limit).max(axis=1)
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 2e-4
    steps = np.arange(-60, 61)
    assert cf.limit_step_probability(steps, 1.0).sum() == pytest.approx(1.0, abs=1e-6)


def test_ranges_solve_the_equations():
    sizes, steps = np.arange(6, 60, 2), [0, 1, 2]
    left = cf.balanced_step_probabilities(sizes, [1, 1], 1.0, steps)
    for sides in (1, 2):
        for row in cf.step_ranges(sizes, left, 1.0, steps, sides):
            inside = {n for first, last in row.better for n in range(first, last + 1, 2)}
            copies = sides if row.step else 1
            for n, probability in zip(sizes, left[:, row.step], strict=True):
                assert (int(n) in inside) == (copies * probability > row.laplace)


def test_the_order_at_step_zero_changes_at_the_solved_epsilon():
    for rival, sensitivity in cf.RIVALS.items():
        epsilon = cf.exact_release_epsilon(100, [1, 1], rival)
        for factor, ahead in ((0.999, False), (1.001, True)):
            smooth = cf.balanced_step_probabilities([100], [1, 1], factor * epsilon, [0])[0, 0]
            laplace = dp.laplace_step_probability([0], factor * epsilon, sensitivity)[0]
            assert bool(smooth > laplace) is ahead


def test_the_first_display_has_the_wrong_sign():
    steps = np.arange(-3, 4)
    printed = cf.printed_step_probability(steps, 1.0, 2.0)
    right = dp.laplace_step_probability(steps, 1.0, 2.0)
    assert np.all(printed[steps < 0] < 0)
    assert np.array_equal(np.abs(printed), right)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cf.squared_distance(0, 5, 1), "alpha must be positive"),
        (lambda: cf.squared_distance(5, 5, 5), "step must be below beta"),
        (lambda: cf.squared_distance(5, 5, -1), "step must be an integer of at least 0"),
        (lambda: cf.squared_distance_even(5, 5, 1), "step must be even, got 1"),
        (lambda: cf.squared_distance_odd(5, 5, 2), "step must be odd, got 2"),
        (lambda: cf.squared_distance_tabulated(9, 9, 3), "step must be 0, 1 or 2"),
        (lambda: cf.limit_step_probability([0], -1.0), "epsilon must be positive"),
        (lambda: cf.smooth_step_probability([3, 3, 3], [1, 1, 1], 1.0, 0.0), "2 entries"),
        (lambda: cf.balanced_step_probabilities([7], [1, 1], 1.0, [0]), "sizes must be even"),
        (lambda: cf.balanced_step_probabilities([4], [1, 1], 1.0, [2]), "above 4, got 4"),
        (lambda: cf.step_ranges([6], [[0.1]], 1.0, [0], sides=3), "sides must be 1 or 2"),
        (lambda: cf.step_ranges([6], [0.1], 1.0, [0]), "probabilities must have shape"),
        (lambda: cf.exact_release_epsilon(100, [1, 1], "geometric"), "rival must be one of"),
        (lambda: cf.exact_release_epsilon(100, [1, 1], "lapMech", 0.1, 0.2), "does not change"),
        (lambda: cf.ranges([1, 2], [True]), "one shape"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("table", [1, 2])
def test_the_printed_tables_are_our_digits_cut_off_and_a_changed_entry_is_seen(table: int) -> None:
    ours = {m: np.array(values) + 4e-12 for m, values in cf.PRINTED[table].items()}
    assert cf.misprints(table, 1.0, ours) == 0
    ours["lapMech"] = ours["lapMech"] + [0.0, 1e-10, 0.0]
    assert cf.misprints(table, 1.0, ours) == 1
    assert cf.misprints(table, 0.5, ours) is None
    with pytest.raises(ValueError, match="table must be 1 or 2, got 3"):
        cf.misprints(3, 1.0, ours)
