"""Calibration: the audited value is the target, reached in few audits and never passed."""

from __future__ import annotations

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.exact import pairs


@pytest.mark.parametrize("name", ["expMech-smooth", "expMech-delta", "ilapMech", "geometric"])
@pytest.mark.parametrize("target", [0.3, 4.0])
def test_the_audited_epsilon_is_the_target(name, target):
    found = dp.calibrate(dp.mechanism(name, 1.0), 20, [1, 0.5], target)
    assert target * (1 - 1e-9) <= dp.audit(found, 20, [1, 0.5]).epsilon <= target
    if name == "expMech-delta":  # gamma stays fixed
        assert found.epsilon == 1.0
        start = dp.mechanism(name, 1.0)
        assert found.sensitivity([10, 10], [1, 1]) == start.sensitivity([10, 10], [1, 1])


def test_a_calibration_takes_few_audits_and_bisects_where_pairs_lead_nowhere(monkeypatch):
    audits = []

    def counted(rows):
        audits.append(1)
        return pairs(rows)

    monkeypatch.setattr("dpbayes.auditing.calibration.pairs", counted)
    start, prior = dp.mechanism("expMech-smooth", 1.0, gamma=0.3), [1.0] * 3
    found = dp.calibrate(start, 12, prior, 0.8)
    assert len(audits) <= 4
    assert found.calibration.gamma == 0.3
    # The largest nominal value: a millionth more passes the target.
    more = dp.mechanism("expMech-smooth", found.epsilon * (1 + 1e-6), gamma=0.3)
    assert dp.audit(more, 12, prior).epsilon > 0.8
    monkeypatch.setattr("dpbayes.auditing.calibration._PAIRS", 0)
    slow = dp.calibrate(start, 12, prior, 0.8)
    assert slow.epsilon == pytest.approx(found.epsilon, rel=1e-9)
    assert len(audits) > 8


def test_a_little_delta_buys_accuracy():
    start = dp.mechanism("expMech-smooth", 1.0)
    pure = dp.calibrate(start, 20, [1, 1], 1.0)
    loose = dp.calibrate(start, 20, [1, 1], 1.0, delta=1e-3)
    assert loose.epsilon > pure.epsilon * 1.001
    assert 1e-3 * (1 - 1e-6) <= dp.audit(loose, 20, [1, 1]).delta(1.0) <= 1e-3


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (("draft-laplace", 6, [1, 1], 1.0), ValueError, "epsilon cannot be reached"),
        (("expMech", 6, [1, 1], 0.0), ValueError, "epsilon must be positive"),
        (("geometric", 3, [1, 1], 1e-320), ValueError, "epsilon must lie in .* got 1e-320"),
        (("geometric", 3, [1, 1], 1e308), ValueError, "epsilon must lie in .* got 1e.308"),
        (("expMech", 6, [1, 1], 1.0, 1.0), ValueError, "delta must be at least 0 and below 1"),
        (("expMech", 110, [1.0] * 3, 1.0), ValueError, "an audit takes n up to 103"),
        (("expMech", 110, [1.0] * 3, 1.0, 1e-6), ValueError, "an audit takes n up to 103"),
    ],
)
def test_what_cannot_be_reached_is_refused(call, error, words):
    name, *rest = call
    with pytest.raises(error, match=words):
        dp.calibrate(dp.mechanism(name, 1.0), *rest)


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
    assert np.isfinite(calibrated.epsilon)
