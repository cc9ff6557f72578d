"""All laws answer the same questions, with an error, for a metric given in either way."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.estimate import Estimate
from dpbayes.laws.finite import FiniteLaw
from dpbayes.laws.law import Way, choose, listed
from dpbayes.mechanisms.calibrations import GlobalCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism

SETTINGS = {
    "FiniteLaw": (dp.mechanism("geometric", 1.0), [20, 30]),
    "ExponentialLaw": (dp.mechanism("expMech-smooth", 1.0), [300, 300, 300]),
    "ProductLaw": (dp.mechanism("ilapMech", 0.1), [9000, 8000, 7000]),
    "SumZeroLaw": (dp.mechanism("lattice", 0.01), [30000, 40000, 20000]),
    "ContinuousLaw": (dp.mechanism("parameter-laplace", 1.0), [20, 30]),
}


@pytest.fixture(scope="module", params=SETTINGS)
def law(request):
    mechanism, counts = SETTINGS[request.param]
    found = mechanism.law(counts, np.ones(len(counts)))
    assert type(found).__name__ == request.param
    return found


@pytest.mark.slow
def test_every_law_answers_every_question_with_an_error(law):
    metrics = ("hellinger", "published")
    if type(law).__name__ == "ContinuousLaw":
        metrics = ("hellinger",)
    for metric in metrics:
        for answer in (law.mean_distance(metric), law.variance(metric), law.quantile(0.5, metric)):
            assert isinstance(answer, Estimate)
            assert 0 <= answer <= 1
            assert 0 <= answer.error < 0.02
            assert answer.how in ("listed", "window", "series", "drawn")
    assert law.mean_affinity() == pytest.approx(1 - law.mean_square(), abs=1e-9)
    single = law.probability(law.counts)
    assert isinstance(single, Estimate)


@pytest.mark.slow
def test_a_name_and_its_function_give_the_same_bytes(law):
    assert law.mean_distance("hellinger") == law.mean_distance(dp.hellinger) == law.mean_distance()
    if type(law).__name__ != "ContinuousLaw":
        published = law.mean_distance("published")
        assert published == law.mean_distance(dp.hellinger_published)
        assert published < law.mean_distance()
    with pytest.raises(ValueError, match="metric must be one of hellinger, published"):
        law.mean_distance("helinger")


@pytest.mark.slow
def test_moments_agree_with_draws(law):
    draws = law.sample(np.random.default_rng(8), 40_000)
    truth = law.prior + law.counts
    distances = dp.hellinger(truth, law.prior + draws)
    slack = 6 * distances.std() / 200
    assert law.mean_distance() == pytest.approx(distances.mean(), abs=slack)
    assert law.mean_affinity() == pytest.approx(1 - (distances**2).mean(), abs=2 * slack)
    assert law.variance() == pytest.approx(distances.var(), rel=0.05)


def test_probabilities_of_several_outputs_at_once(law):
    outputs = np.array([law.counts, np.roll(law.counts, 1)])
    table = law.probability(outputs)
    assert table.tolist() == [law.probability(row) for row in outputs]
    assert law.probability(outputs[None]).shape == (1, 2)
    with pytest.raises(ValueError, match=f"counts_out must have {law.counts.size} entries"):
        law.probability(np.ones(law.counts.size + 1, dtype=np.int64))


def test_a_law_without_outputs_says_what_to_ask_instead(law):
    if isinstance(law, FiniteLaw):
        assert listed(law, "a table") is law
        return
    for name in ("outputs", "probabilities", "log_probabilities", "distances"):
        with pytest.raises(AttributeError, match=rf"has no \.{name}: ask \.probability"):
            getattr(law, name)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        assert law.colour
    with pytest.raises(TypeError, match="a table needs every output listed"):
        listed(law, "a table")


def test_a_law_can_be_asked_why_it_is_what_it_is(law):
    if type(law).__name__ != "ContinuousLaw":
        assert "because" in law.why


def test_the_reasons_name_what_decided():
    series = SETTINGS["ExponentialLaw"][0].law([300, 300, 301], [1, 1, 1])
    assert series.why.startswith("series, because it takes any number of records")
    assert "not list: there are 407253 candidates, and up to 400000 are listed" in series.why
    assert dp.mechanism("lattice", 1.0).law([3, 4], [1, 1]).why.startswith("geometric, because")
    assert dp.mechanism("geometric", 1.0).law([300_000, 300_000], [1, 1]).why.startswith("window")


def test_choosing_takes_the_first_way_that_gives_a_law():
    law = FiniteLaw(np.ones(2), np.array([0, 1]), np.array([[0, 1]]), np.zeros(1))
    ways = (
        Way("a", False, "it is Monday", lambda: law),
        Way("b", True, "it may", lambda: None),
        Way("c", True, "it can", lambda: law),
    )
    assert choose(*ways).why == "c, because it can; not a: it is Monday; not b: it may"
    with pytest.raises(ValueError, match="no way to compute this law: not a: it is Monday"):
        choose(*ways[:2])


def test_an_estimate_is_a_float_that_can_be_copied():
    number = Estimate(0.1, 1e-9, "draws")
    assert isinstance(number, float)
    assert repr(number) == "0.1"
    assert f"{number:.3f}" == "0.100"
    copy = pickle.loads(pickle.dumps(number))
    assert (copy, copy.error, copy.how) == (0.1, 1e-9, "draws")
    assert type(number + 1) is float
    assert number.value == 0.1


def test_mechanisms_take_a_metric_in_either_way():
    named = dp.mechanism("expMech", 1.0, metric="published")
    assert dp.mechanism("expMech", 1.0, metric=dp.hellinger_published) == named
    assert ExponentialMechanism(1.0, GlobalCalibration(), dp.hellinger_published) == named
    flip = dp.mechanism("permute-and-flip", 1.0, metric=dp.hellinger)
    assert flip == dp.mechanism("permute-and-flip", 1.0)
    value = dp.global_sensitivity(20, [1, 1], "published").value
    assert dp.global_sensitivity(20, [1, 1], dp.hellinger_published).value == value
    for bad in ("euclid", 3, np.hypot):
        with pytest.raises((ValueError, TypeError), match="metric must be"):
            dp.mechanism("expMech", 1.0, metric=bad)
