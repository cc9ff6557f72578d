"""The Laplace family: scales, rounding, clamping, one side; its law against its recipe."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import dpbayes as dp
from tests.reference import laws as reference

LAPLACE = ("lapMech", "ilapMech")


@pytest.mark.parametrize("options", [{"rounding": "nearest"}, {"sensitivity": 1.0}])
def test_laplace_options_keep_the_promise_at_two_categories(options):
    assert (
        dp.audit(dp.mechanism("ilapMech", epsilon=1.0, **options), 8, [1, 1]).epsilon <= 1 + 1e-12
    )


def test_one_sided_noise_of_the_draft_is_not_private():
    assert dp.audit(dp.mechanism("draft-laplace", epsilon=1.0), 6, [1, 1]).epsilon == np.inf


@pytest.mark.parametrize("name", [*LAPLACE, "draft-laplace"])
@pytest.mark.parametrize("counts", [[4, 6], [0, 3], [3, 2, 4], [2, 1, 0, 3]])
def test_laplace_law_is_what_its_recipe_does(name, counts):
    x, n, k = np.array(counts), sum(counts), len(counts)
    mechanism = dp.mechanism(name, epsilon=1.0)
    law = mechanism.law(x, np.ones(k))
    rng = np.random.default_rng(5)
    noise = np.floor(rng.laplace(scale=mechanism.scale(k), size=(200_000, k - 1)))
    if name == "draft-laplace":
        noise = np.abs(noise)
    first = np.clip(x[:-1] + noise, 0, n).astype(int)
    last = np.clip(n - first.sum(axis=1), 0, n)
    drawn = np.column_stack((first, last))
    codes, sizes = np.unique(drawn @ (n + 1) ** np.arange(k), return_counts=True)
    listed = dict(zip(law.outputs @ (n + 1) ** np.arange(k), law.probabilities, strict=True))
    expected = np.array([listed[code] for code in codes])
    deviations = (sizes / len(drawn) - expected) / np.sqrt(expected * (1 - expected) / len(drawn))
    assert np.abs(deviations[expected * len(drawn) > 5]).max() < 6


def test_scales_of_the_laplace_family():
    assert [dp.mechanism("lapMech", epsilon=0.5).scale(k) for k in (2, 3, 4)] == [4.0, 6.0, 8.0]
    assert [dp.mechanism("ilapMech", epsilon=0.5).scale(k) for k in (2, 3, 4)] == [2.0, 4.0, 4.0]
    assert dp.mechanism("lapMech", epsilon=0.5, sensitivity=3).scale(4) == 6.0


def test_clamped_total_is_accounted_for_in_the_distance():
    law = dp.mechanism("ilapMech", epsilon=0.5).law([2, 2, 1], [1, 1, 1])
    over = law.outputs.sum(axis=1) > 5
    assert law.probabilities[over].sum() > 0.05
    expected = dp.hellinger([3, 3, 2], 1 + law.outputs[over])
    assert law.distances[over] == pytest.approx(np.asarray(expected), abs=1e-13)


def test_rounding_to_nearest_beats_the_floor():
    counts, prior = [50, 50], [1, 1]
    floor = dp.mechanism("ilapMech", epsilon=1.0).law(counts, prior).mean_distance()
    nearest = dp.mechanism("ilapMech", epsilon=1.0, rounding="nearest").law(counts, prior)
    assert nearest.mean_distance() < floor


@pytest.mark.parametrize(
    ("name", "options", "scale", "axis"),
    [
        ("lapMech", {}, (2, 2, 3, 4), reference.clamped),
        ("ilapMech", {}, (1, 1, 2, 2), reference.clamped),
        ("ilapMech", {"rounding": "nearest"}, (1, 1, 2, 2), reference.nearest),
        ("ilapMech", {"sensitivity": 1.5}, (1.5,) * 4, reference.clamped),
        ("draft-laplace", {}, (2, 2, 2, 2), reference.one_sided),
    ],
)
@pytest.mark.parametrize("x", [(0, 5), (3, 2), (1, 0, 2), (2, 1, 0, 1)])
@pytest.mark.parametrize("epsilon", [0.2, 4.0])
def test_the_law_agrees_with_noise_of_ninety_digits_count_by_count(
    name, options, scale, axis, x, epsilon
):
    law = dp.mechanism(name, epsilon, **options).law(x, [1.0] * len(x))
    with mp.workdps(reference.DIGITS):
        exact = reference.laplace(x, mp.mpf(scale[len(x) - 1]) / mp.mpf(epsilon), axis)
        assert {tuple(r) for r in law.outputs.tolist()} >= {r for r, p in exact.items() if p > 0}
        for output, found in zip(law.outputs.tolist(), law.probabilities, strict=True):
            expected = float(exact.get(tuple(output), 0))
            assert float(found) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("name", LAPLACE)
@pytest.mark.parametrize(("n", "k"), [(6, 2), (3, 3), (2, 4)])
def test_the_promise_is_the_loss_that_enumeration_finds_at_most(name, n, k):
    mechanism = dp.mechanism(name, 1.0)
    bound = float(mechanism.guarantee(k).bound)
    loss = dp.audit(mechanism, n, [1.0] * k).epsilon
    assert 0.4 * bound < loss <= bound + 1e-12


@pytest.mark.parametrize("name", [*LAPLACE, "draft-laplace"])
@pytest.mark.parametrize("k", [2, 3])
def test_without_records_there_is_one_release(name, k):
    law = dp.mechanism(name, 0.7).law([0] * k, [1.0] * k)
    assert (law.outputs.tolist(), law.log_probabilities.tolist()) == ([[0] * k], [0.0])
