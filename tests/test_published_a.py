"""The points of A's and D's figures are met by mechanisms of the library, called by
hand.

The series of `dpbayes.study.catalogue` are not used here: this is a second road to
their badges.
"""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.printed import arrays, published_points

OF_A = {
    "expMech-delta": dp.mechanism(
        "expMech-delta", 0.8, distance="l1", metric="published"
    ),
    "lapMech": dp.mechanism("lapMech", 0.8),
}
OF_D = {
    "expMech-delta": dp.mechanism(
        "expMech-delta", 0.8, failure_term="2n", metric="published"
    ),
    "lapMech": dp.mechanism("lapMech", 0.8),
    "ilapMech": dp.mechanism("ilapMech", 0.8),
}
CASES = [
    ("A", "1", panel, curve, m, 0.1) for curve, m in OF_A.items() for panel in "ab"
]
CASES += [("D", "5", "", curve, m, 0.5) for curve, m in OF_D.items()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case[:4])))
def test_growing_data(case: tuple[str, str, str, str, Mechanism, float]) -> None:
    """Means of 1000 runs from the laws' masses; the true distance misses them by
    far."""
    *place, mechanism, share = case
    sizes, printed, errors = arrays(published_points(*place))
    z, true = [], []
    for n, y, error in zip(sizes.astype(int), printed, errors, strict=True):
        law = mechanism.law(dp.split(int(n), [share, 1 - share]), [1, 1])
        distances = dp.hellinger_published(1.0 + law.counts, 1.0 + law.outputs)
        mean = float(law.probabilities @ distances)
        spread = float(law.probabilities @ (distances - mean) ** 2) ** 0.5 / 1000**0.5
        z.append((y - mean) / np.hypot(spread, error))
        true.append(float(law.mean_distance()))
    assert np.abs(z).max() < 4
    assert np.sqrt(np.mean(np.square(z))) < 1.3
    assert np.abs(true - printed).max() > 10 * errors.max()


def test_the_captions_settings_do_not_give_d_figure_5() -> None:
    sizes, printed, _ = arrays(published_points("D", "5", "", "expMech-delta"))
    smooth = dp.mechanism("expMech-smooth", 1.0, metric="published")
    whole = sizes.astype(int).tolist()
    means = dp.mean_distances(smooth, [0.5, 0.5], [1, 1], whole, dp.hellinger_published)
    assert np.abs(means - printed).max() > 0.02


@pytest.mark.parametrize(
    ("curve", "name", "options"),
    [
        ("expMech-local", "expMech-local", {"metric": "published", "divisor": 1.0}),
        ("ilapMech", "ilapMech", {}),
        ("M_H gamma (star)", "expMech-smooth", {"metric": "published"}),
    ],
)
def test_probability_of_the_true_posterior_in_d_figure_3(
    curve: str, name: str, options: dict[str, float]
) -> None:
    first = published_points("D", "3", "a", curve)[0]
    assert float(first.x) == 0.0
    law = dp.mechanism(name, 1.0, **options).law([300, 300], [1, 1])
    assert abs(law.probability([300, 300]) - first.y) < 4 * first.y_error
