"""The published distance of all outputs at once, against the distance itself."""

import numpy as np
import pytest
from hypothesis import given, settings

import dpbayes as dp
from dpbayes.divergences import hellinger_published
from dpbayes.laws.published import published_of_outputs
from tests.strategies import small_cases


@given(small_cases())
@settings(max_examples=40, deadline=None)
def test_equal_and_unequal_totals_follow_the_definition(case):
    counts, prior = (np.asarray(part) for part in case[:2])
    x, alpha = counts.astype(np.int64), prior.astype(np.float64) + 1.0
    rng = np.random.default_rng(int(x.sum()))
    moved = np.maximum(x + rng.integers(-3, 4, size=(60, x.size)), 0)
    outputs = np.vstack((moved, x, x[::-1]))
    found = published_of_outputs(alpha, x, outputs)
    expected = hellinger_published(alpha + x, alpha + outputs)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-7)
    near = np.abs(found**2 - expected**2)
    np.testing.assert_allclose(near, 0.0, atol=1e-13)


def test_a_total_of_at_most_one_is_refused():
    law = dp.mechanism("lattice", 1.0).law([0, 0], [0.3, 0.3])
    with pytest.raises(ValueError, match="total above 1"):
        law.mean_distance("published")
