"""Calibration: the audited value is the target, in few audits; what is compared."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.exact import pairs
from dpbayes.auditing.rows import sampled
from dpbayes.mechanisms.calibrations import SmoothCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.sensitivity import Sensitivity
from tests.mechanisms.cabinet import CABINET, Hasty, Truthful, changed


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize(
    "name", ["expMech-smooth", "expMech-delta", "ilapMech", "geometric"]
)
@pytest.mark.parametrize(
    ("nominal", "n", "prior", "target"),
    [
        (1.0, 20, [1.0, 0.5], 0.3),
        (1.0, 20, [1.0, 1.0], 4.0),
        # Where rounding once lifted the value that was reached.
        (0.23679108665895826, 9, [0.1598169407022077] * 2, 5.2278015467886565),
        (
            1.9954903538008626,
            24,
            [0.1045506540862012, 13.092120649178165],
            2.776693031570886,
        ),
    ],
)
def test_the_audited_value_is_the_target_and_never_above(
    name, nominal, n, prior, target, delta
):
    start = dp.mechanism(name, nominal)
    found = dp.calibrate(start, n, prior, target, delta).mechanism
    result = dp.audit(found, n, prior)
    if delta == 0.0:
        assert target * (1 - 1e-9) <= result.epsilon <= target
    else:
        assert delta * (1 - 1e-5) <= result.delta(target) <= delta
        pure = dp.calibrate(start, n, prior, target).mechanism
        means = [one.law([n, 0], prior).mean_distance() for one in (found, pure)]
        assert means[0] < means[1]  # a little delta buys accuracy
    if name == "expMech-delta":  # gamma stays fixed
        assert found.epsilon == nominal
        assert found.sensitivity([n, 0], prior) == start.sensitivity([n, 0], prior)


def test_a_calibration_takes_few_audits_and_bisects_where_pairs_lead_nowhere(
    monkeypatch,
):
    audits, place = [], "dpbayes.auditing.calibration"
    monkeypatch.setattr(f"{place}.pairs", lambda rows: audits.append(1) or pairs(rows))
    start, prior = dp.mechanism("expMech-smooth", 1.0, gamma=0.3), [1.0] * 3
    found = dp.calibrate(start, 12, prior, 0.8).mechanism
    assert len(audits) <= 4
    assert found.calibration.gamma == 0.3
    # The largest nominal value: a millionth more passes the target.
    more = dp.mechanism("expMech-smooth", found.epsilon * (1 + 1e-6), gamma=0.3)
    assert dp.audit(more, 12, prior).epsilon > 0.8
    monkeypatch.setattr(f"{place}._PAIRS", 0)
    slow = dp.calibrate(start, 12, prior, 0.8).mechanism
    assert slow.epsilon == pytest.approx(found.epsilon, rel=1e-9)
    assert len(audits) > 8


def test_what_cannot_be_reached_is_refused():
    for name, setting, words in (
        ("draft-laplace", (6, [1, 1], 1.0), "epsilon cannot be reached"),
        ("geometric", (3, [1, 1], 1e-320), "epsilon must lie in .* got 1e-320"),
        ("geometric", (3, [1, 1], 1e308), "epsilon must lie in .* got 1e.308"),
        ("expMech", (110, [1.0] * 3, 1.0, 1e-6), "an audit takes n up to 103"),
    ):
        with pytest.raises(ValueError, match=words):
            dp.calibrate(dp.mechanism(name, 1.0), *setting)


# --- An audit is about what `.law` returns, or it is refused
# --------------------------------------


def shrunk(self, counts, prior, epsilon, metric):
    found = dp.smooth_sensitivity(counts, prior, self.gamma, metric=metric)
    return Sensitivity(found.value / 8.0, found.witness)


def test_a_sensitivity_changed_behind_the_audits_back_is_noticed_or_audited(
    monkeypatch,
):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    before = dp.audit(mechanism, 3, [1, 1, 1]).epsilon
    right = dp.audit(mechanism, 10, [1, 1]).epsilon
    # A calibration of one's own is audited by its own sensitivity.
    broken = ExponentialMechanism(1.0, changed(SmoothCalibration, sensitivity=shrunk))
    assert dp.audit(broken, 10, [1, 1]).epsilon > 4 * right
    monkeypatch.setattr(SmoothCalibration, "sensitivity", shrunk)
    with pytest.raises(
        ArithmeticError, match=r"another law at counts .* than its \.law"
    ):
        dp.audit(mechanism, 10, [1, 1])
    with pytest.raises(ArithmeticError, match="another law"):
        dp.calibrate(mechanism, 10, [1, 1], 1.0)
    assert dp.audit(mechanism, 3, [1, 1, 1]).epsilon > 4 * before


@pytest.mark.parametrize("k", [2, 3])
def test_a_subclass_and_a_replaced_method_are_audited_by_their_own_law(k):
    altered = dp.mechanism("expMech-smooth", 1.0)
    object.__setattr__(altered, "rate", lambda counts, prior: 1e4)
    truthful, hasty = (kind(1.0, SmoothCalibration()) for kind in (Truthful, Hasty))
    assert dp.audit(truthful, 5, np.ones(k)).epsilon == np.inf
    assert min(dp.audit(one, 5, np.ones(k)).epsilon for one in (hasty, altered)) > 100


@pytest.mark.parametrize(
    "key",
    [
        key
        for key in CABINET
        if key.startswith(("nan", "plus inf", "sums", "an output lost"))
    ],
)
def test_what_is_no_law_is_refused(key):
    broken = CABINET[key].mechanism
    words = "must have (log-probabilities below|probabilities that sum to 1)"
    with pytest.raises(ValueError, match=words):
        dp.audit(broken, 5, [1, 1])
    with pytest.raises(ValueError, match=words):
        dp.calibrate(broken, 5, [1, 1], 1.0)
    with pytest.raises(ValueError, match=words):
        dp.audit_pair(broken, [2, 3], [3, 2], [1, 1])
    with pytest.raises(ArithmeticError, match=r"where its \.law has"):
        dp.audit(CABINET["another law each time"].mechanism, 5, [1, 1])


@pytest.mark.parametrize(("number", "compared"), [(31, 31), (401, 24), (21, 21)])
def test_all_of_a_hundred_data_sets_are_compared_and_some_of_more(number, compared):
    chosen = sampled(number)
    assert len(set(chosen.tolist())) == compared
    assert {0, 1, number - 2, number - 1} <= set(chosen.tolist()) <= set(range(number))


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_what_was_found_says_where_it_holds(delta: float) -> None:
    found = dp.calibrate(dp.mechanism("expMech-smooth", 1.0), 20, [1, 2], 0.8, delta)
    assert (found.n, found.prior.tolist()) == (20, [1.0, 2.0])
    assert (found.epsilon, found.delta) == (0.8, delta)
    audited = dp.audit(found.mechanism, 20, [1, 2])
    assert found.audited == (audited.delta(0.8) if delta else audited.epsilon)
    assert "20 records that differ by replacing one record" in found.sentence
    assert "the prior [1.0, 2.0] and for no other" in found.sentence


@pytest.mark.parametrize("name", ["expMech-local", "expMech-smooth"])
def test_a_release_does_not_promise_what_an_audit_found(name: str) -> None:
    found = dp.calibrate(dp.mechanism(name, 1.0), 8, [1, 1], 1.0)
    with pytest.raises(TypeError, match=r"holds by an audit and is not proved.*\.mech"):
        dp.release(found, [4, 4], [1, 1])
    if name == "expMech-local":
        with pytest.raises(ValueError, match="must have a proved guarantee"):
            dp.release(found.mechanism, [4, 4], [1, 1])
    else:
        promised = dp.release(found.mechanism, [4, 4], [1, 1]).guarantee.epsilon
        assert promised == found.mechanism.epsilon > found.epsilon
