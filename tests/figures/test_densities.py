"""The density of a proportion is seen however narrow it is."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import beta

from dpbayes.figures.densities import densities, proportions_for


@pytest.mark.parametrize("law", [(1000001.0, 13.0), (2.0, 3e7), (5e5, 5e5), (1e12, 13.0)])
def test_a_narrow_posterior_has_points_where_it_lives_and_a_panel_of_its_own(
    law: tuple[float, float],
) -> None:
    points = proportions_for([(1.0, 1.0), law])
    heights = beta(*law).pdf(points)
    peak = beta(*law).pdf((law[0] - 1) / (sum(law) - 2))
    assert heights.max() > 0.99 * peak
    figure, alt = densities(points, {"prior": np.ones(points.size), "posterior": heights})
    assert len(figure.axes) == 2
    low, high = figure.axes[1].get_xlim()
    assert beta(*law).cdf(high) - beta(*law).cdf(low) > 0.99
    assert "Below, the same between" in alt
    plt.close(figure)


def test_a_wide_posterior_keeps_even_points_and_one_panel() -> None:
    points = proportions_for([(1, 1), (8, 4)])
    assert points == pytest.approx(np.linspace(0, 1, 401))
    figure, alt = densities(points, {"posterior": beta(8, 4).pdf(points)})
    assert len(figure.axes) == 1
    assert "Below" not in alt
    plt.close(figure)


def test_a_density_is_told_with_three_digits() -> None:
    points = proportions_for([(1, 1), (8, 4)])
    _, alt = densities(points, {"posterior": beta(8, 4).pdf(points)})
    assert alt.endswith("posterior: highest at 0.70 with density 2.94.")


def test_a_density_between_two_points_is_not_called_flat() -> None:
    points = np.linspace(0.0, 1.0, 41)
    figure, alt = densities(points, {"wide": np.ones(41), "narrow": np.zeros(41)})
    assert len(figure.axes) == 1
    assert "narrow: too narrow to be seen" in alt
    assert "narrow: flat" not in alt
    plt.close(figure)
