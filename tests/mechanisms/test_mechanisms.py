"""What every mechanism must do: an exact law that sums to 1, and the epsilon it promises."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from tests.strategies import epsilons, small_cases

EXACT_EVERYWHERE = ("expMech", "expMech-local", "expMech-smooth", "expMech-delta")
LAPLACE = ("lapMech", "ilapMech")


@given(small_cases(), epsilons, st.sampled_from(EXACT_EVERYWHERE + LAPLACE + ("draft-laplace",)))
@settings(deadline=None)
def test_law_sums_to_one_and_its_outputs_are_histograms(case, epsilon, name):
    counts, prior = case
    law = dp.mechanism(name, epsilon=epsilon).law(counts, prior)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert law.outputs.min() >= 0
    assert law.distances.min() >= 0
    assert law.distances.max() <= 1
    if name in EXACT_EVERYWHERE:
        assert np.array_equal(law.outputs, dp.compositions(int(counts.sum()), counts.size))
    expected = dp.hellinger(prior + counts, prior + law.outputs)
    assert law.distances == pytest.approx(np.asarray(expected), abs=1e-12)


def test_published_readings_of_figure_five_are_reproduced():
    """D, Figure 5: what it calls expMech-smooth at epsilon 1 is expMech-delta at epsilon 0.8."""
    mechanism = dp.mechanism(
        "expMech-delta", epsilon=0.8, delta=1e-8, failure_term="2n", metric="published"
    )
    sizes, readings = (
        [100, 150, 200, 250, 300, 400, 500],
        [0.194, 0.12, 0.075, 0.049, 0.042, 0.036, 0.031],
    )
    means = dp.mean_distances(mechanism, [0.5, 0.5], [1, 1], sizes, dp.hellinger_published)
    assert np.abs(means - readings).max() <= 0.002


LAW = dp.mechanism("geometric", epsilon=1.0).law([3, 3], [1, 1])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dp.mechanism("laplace", epsilon=1), ValueError, "name must be one of .*lapMech"),
        (lambda: dp.mechanism(3, epsilon=1), TypeError, "name must be a string"),
        (lambda: dp.mechanism("lapMech", epsilon=0), ValueError, "epsilon must be positive"),
        (lambda: dp.mechanism("lapMech", epsilon=-1.0), ValueError, "epsilon must be positive"),
        (lambda: dp.mechanism("lapMech", epsilon=np.nan), ValueError, "epsilon must be finite"),
        (lambda: dp.mechanism("lapMech", epsilon=np.inf), ValueError, "epsilon must be finite"),
        (lambda: dp.mechanism("lapMech", epsilon=True), TypeError, "epsilon must be a real number"),
        (lambda: dp.mechanism("lapMech", epsilon="one"), ValueError, "must be a positive number"),
        (
            lambda: dp.mechanism("lapMech", epsilon=1, gamma=2),
            TypeError,
            "lapMech has no option 'gamma'; its options are: sensitivity, rounding",
        ),
        (
            lambda: dp.mechanism("geometric", epsilon=1, delta=0.1),
            TypeError,
            "its options are: remap",
        ),
        (
            lambda: dp.mechanism("lapMech", epsilon=1, rounding="up"),
            ValueError,
            "rounding must be one of floor, nearest",
        ),
        (lambda: dp.mechanism("expMech-delta", epsilon=1, delta=1), ValueError, "delta must lie"),
        (lambda: dp.mechanism("expMech-delta", epsilon=1, delta=0), ValueError, "delta must lie"),
        (
            lambda: dp.mechanism("expMech-delta", epsilon=1, failure_term="n"),
            ValueError,
            "failure_term must be one of",
        ),
        (lambda: dp.mechanism("expMech-smooth", epsilon=1, gamma=0), ValueError, "gamma must be"),
        (lambda: dp.mechanism("expMech", epsilon=1, metric="tv"), ValueError, "metric must be one"),
        (lambda: dp.mechanism("expMech", epsilon=1, divisor=0), ValueError, "divisor must be"),
        (
            lambda: dp.mechanism("geometric", epsilon=1).law([1, 2, 3], [1, 1, 1]),
            ValueError,
            "counts must have 2 categories",
        ),
        (
            lambda: dp.mechanism("expMech-smooth", epsilon=1).law([0, 0], [1, 1]),
            ValueError,
            "at least 1 record",
        ),
        (
            lambda: dp.mechanism("lapMech", epsilon=1).law([1, -2], [1, 1]),
            ValueError,
            "counts must be at least 0",
        ),
        (lambda: LAW.quantile(1.5), ValueError, "q must lie between 0 and 1"),
        (lambda: LAW.quantile(np.nan), ValueError, "q must be finite"),
        (lambda: LAW.probability([1, 2, 3]), ValueError, "counts_out must have 2 entries"),
        (lambda: LAW.sample(np.random, 3), TypeError, "rng must be a numpy.random.Generator"),
        (
            lambda: LAW.sample(np.random.default_rng(1), -1),
            ValueError,
            "size must be an integer of at least 0",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_mechanism_is_made_without_waiting_for_the_rest_of_scipy():
    code = (
        "import sys, dpbayes; dpbayes.mechanism('lattice', 1.0)\n"
        "heavy = {'scipy.optimize', 'scipy.stats', 'scipy.signal', 'scipy.sparse', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
