from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.exact import pairs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["expMech", "expMech-smooth", "expMech-delta", "ilapMech"])
@pytest.mark.parametrize("target", [0.3, 1.0, 4.0])
def test_the_audited_epsilon_is_the_target(name, target):
    found = dp.calibrate(dp.mechanism(name, 1.0), 50, [1, 0.5], target)
    audited = dp.audit(found, 50, [1, 0.5]).epsilon
    assert target * (1 - 1e-9) <= audited <= target


@pytest.mark.slow
def test_three_categories():
    found = dp.calibrate(dp.mechanism("expMech-smooth", 1.0), 8, [1, 1, 1], 1.0)
    assert dp.audit(found, 8, [1, 1, 1]).epsilon == pytest.approx(1.0, rel=1e-9)
    assert found.epsilon > 2.0


@pytest.mark.slow
def test_calibrated_smooth_mechanism_beats_ilap_and_not_the_geometric():
    def mean(mechanism):
        return mechanism.law([150, 150], [1, 1]).mean_distance()

    smooth = dp.mechanism("expMech-smooth", 1.0, gamma=0.2)
    calibrated = mean(dp.calibrate(smooth, 300, [1, 1], 1.0))
    assert calibrated == pytest.approx(0.0366, abs=5e-5)
    assert mean(dp.mechanism("geometric", 1.0)) == pytest.approx(0.0346, abs=5e-5)
    assert mean(dp.mechanism("geometric", 1.0)) < calibrated < mean(dp.mechanism("ilapMech", 1.0))
    assert mean(dp.mechanism("expMech-smooth", 1.0)) == pytest.approx(0.2226, abs=5e-5)


@pytest.mark.slow
def test_gamma_stays_fixed():
    smooth = dp.calibrate(dp.mechanism("expMech-smooth", 1.0, gamma=0.3), 30, [1, 1], 1.0)
    assert smooth.calibration.gamma == 0.3
    start = dp.mechanism("expMech-delta", 0.8, delta=1e-6)
    found = dp.calibrate(start, 30, [1, 1], 1.0)
    assert found.epsilon == start.epsilon
    assert found.sensitivity([10, 20], [1, 1]) == start.sensitivity([10, 20], [1, 1])


@pytest.mark.slow
def test_a_little_delta_buys_accuracy():
    start = dp.mechanism("expMech-smooth", 1.0)
    pure = dp.calibrate(start, 40, [1, 1], 1.0)
    loose = dp.calibrate(start, 40, [1, 1], 1.0, delta=1e-3)
    assert loose.epsilon > pure.epsilon * 1.001
    assert dp.audit(loose, 40, [1, 1]).delta(1.0) == pytest.approx(1e-3, rel=1e-6)
    assert dp.audit(loose, 40, [1, 1]).delta(1.0) <= 1e-3


@pytest.mark.slow
def test_what_cannot_be_reached_is_refused():
    with pytest.raises(ValueError, match="epsilon cannot be reached"):
        dp.calibrate(dp.mechanism("draft-laplace", 1.0), 6, [1, 1], 1.0)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        dp.calibrate(dp.mechanism("expMech", 1.0), 6, [1, 1], 0.0)
    with pytest.raises(ValueError, match="delta must be at least 0 and below 1"):
        dp.calibrate(dp.mechanism("expMech", 1.0), 6, [1, 1], 1.0, delta=1.0)


@pytest.mark.slow
def test_pure_target_is_the_largest_nominal_value():
    start = dp.mechanism("expMech-smooth", 1.0)
    found = dp.calibrate(start, 20, [1, 1], 0.7)
    more = dp.mechanism("expMech-smooth", found.epsilon * (1 + 1e-6))
    assert dp.audit(more, 20, [1, 1]).epsilon > 0.7
    assert np.isfinite(found.epsilon)


def test_what_no_audit_takes_is_refused():
    for n, delta in ((110, 0.0), (110, 1e-6)):
        with pytest.raises(ValueError, match="an audit takes n up to 103"):
            dp.calibrate(dp.mechanism("expMech", 1.0), n, [1.0] * 3, 1.0, delta=delta)


def test_a_calibration_takes_few_audits_and_bisects_where_pairs_lead_nowhere(monkeypatch):
    audits = []

    def counted(rows):
        audits.append(1)
        return pairs(rows)

    monkeypatch.setattr("dpbayes.auditing.calibration.pairs", counted)
    found = dp.calibrate(dp.mechanism("expMech-smooth", 1.0), 24, [1.0] * 3, 0.8)
    assert len(audits) <= 4
    monkeypatch.setattr("dpbayes.auditing.calibration._PAIRS", 0)
    slow = dp.calibrate(dp.mechanism("expMech-smooth", 1.0), 24, [1.0] * 3, 0.8)
    assert slow.epsilon == pytest.approx(found.epsilon, rel=1e-9)
    assert len(audits) > 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nominal", "n", "prior", "epsilon", "delta"),
    [
        ("expMech-local", 0.10181768460840185, 20, [1.4938462584043382, 1.8933994161976242],
         9.062861327274447, 0.0),
        ("expMech-delta", 0.20833640111005558, 3, [0.4227589240833917] * 2,
         0.3727035226876379, 0.0),
        ("expMech-delta", 0.23679108665895826, 9, [0.1598169407022077] * 2, 5.2278015467886565,
         9.177365933601998e-05),
        ("expMech-smooth", 1.9954903538008626, 24, [0.1045506540862012, 13.092120649178165],
         2.776693031570886, 1.7864503249390067e-06),
    ],
)  # fmt: skip
def test_rounding_does_not_lift_an_audited_value_above_the_target(
    name, nominal, n, prior, epsilon, delta
):
    calibrated = dp.calibrate(dp.mechanism(name, nominal), n, prior, epsilon, delta)
    result = dp.audit(calibrated, n, prior)
    if delta == 0.0:
        assert epsilon * (1.0 - 1e-9) <= result.epsilon <= epsilon
    else:
        assert delta * (1.0 - 1e-5) <= result.delta(epsilon) <= delta
