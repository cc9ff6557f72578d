"""Independent noise on two of three counts, summed by panels: lists, transforms, draws."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.divergences import distance_from_log_affinity
from dpbayes.laws.product.law import ProductLaw, product_grid
from dpbayes.laws.product.panelled import PanelledProduct


def law_of(name, counts, epsilon, prior):
    mechanism, x = dp.mechanism(name, epsilon), np.array(counts)
    windows = tuple(mechanism.window(int(count), int(x.sum()), 3) for count in x[:-1])
    return ProductLaw(np.array(prior), x, windows)


@pytest.mark.parametrize(
    ("name", "counts", "epsilon", "prior"),
    [
        ("lapMech", [150, 60, 40], 0.7, [1.0, 1.0, 1.0]),
        ("lapMech", [20, 200, 30], 0.4, [0.01, 3.0, 1.0]),
        ("ilapMech", [5, 250, 90], 0.2, [1e-3, 1.0, 40.0]),
        ("ilapMech", [500, 3, 45], 0.3, [1.0, 0.5, 2.0]),
        ("lapMech", [300, 2, 0], 0.3, [1.0, 1.0, 1.0]),
    ],
)
def test_means_against_all_outputs(name, counts, epsilon, prior):
    law = law_of(name, counts, epsilon, prior)
    panelled = PanelledProduct(law.prior, law.counts, law.marginals)
    assert panelled.smooth
    listed = product_grid(law.prior, law.counts, law.marginals)
    value, doubt = panelled.mean(distance_from_log_affinity)
    assert doubt < 1e-9
    assert abs(value - listed.mean_distance()) <= doubt + 2.0 * law.mass_outside
    square, doubt = panelled.mean(lambda logs: -np.expm1(logs))
    exact = listed.expectation(listed.distances**2)
    assert abs(square - exact) <= doubt + 2.0 * law.mass_outside


@pytest.mark.parametrize(
    ("counts", "epsilon"), [([80_000, 30_000, 400], 0.005), ([199_990, 10, 0], 0.002)]
)
def test_panels_and_transforms_agree(counts, epsilon, monkeypatch):
    law = law_of("lapMech", counts, epsilon, [1.0, 0.5, 2.0])
    panels, square = law.mean_distance(), law.mean_square()
    assert panels.how == square.how == "quadrature"
    assert max(panels.error, square.error) < 1e-9
    monkeypatch.setattr(ProductLaw, "_panelled", None)
    law = law_of("lapMech", counts, epsilon, [1.0, 0.5, 2.0])
    series, powers = law.mean_distance(), law.mean_square()
    assert series.how == powers.how == "series"
    assert abs(panels - series) <= panels.error + series.error
    assert abs(square - powers) <= square.error + powers.error


@pytest.mark.parametrize("counts", [[10_000, 60_200], [17, 90_000], [0, 70_000], [50_000, 50_000]])
@pytest.mark.parametrize("name", ["lapMech", "ilapMech", "draft-laplace"])
def test_two_categories_against_all_outputs(name, counts):
    mechanism, x = dp.mechanism(name, 2e-4), np.array(counts)
    window = mechanism.window(int(x[0]), int(x.sum()), 2)
    law = ProductLaw(np.array([1.0, 0.5]), x, (window,))
    listed = product_grid(law.prior, x, law.marginals)
    mean, square = law.mean_distance(), law.mean_square()
    assert mean.how == square.how == "quadrature"
    assert max(mean.error, square.error) < 1e-9
    outside = 2.0 * law.mass_outside
    assert abs(mean - listed.mean_distance()) <= mean.error + outside
    exact = listed.expectation(listed.distances**2)
    assert abs(square - exact) <= square.error + outside


def test_two_million_records_beside_an_empty_category():
    law = dp.mechanism("lapMech", 1e-4).law([1_999_990, 10, 0], [1, 1, 1])
    mean = law.mean_distance()
    assert mean.how == "quadrature"
    assert mean.error < 1e-9
    draws = law.sample(np.random.default_rng(8), 20_000)
    distances = dp.hellinger(law.prior + law.counts, law.prior + draws)
    assert abs(distances.mean() - mean) < 6 * distances.std() / np.sqrt(20_000)


@pytest.mark.parametrize("counts", [[191_098, 55_570, 0], [3000, 4000, 0]])
def test_a_cusp_that_crosses_many_counts_is_left_to_transforms(counts):
    law = law_of("lapMech", counts, 0.004, [1.0, 1.0, 1.0])
    assert not PanelledProduct(law.prior, law.counts, law.marginals).smooth
    assert law._panelled is None
