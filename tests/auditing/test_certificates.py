"""An audit is about what `.law` returns, or it is refused: no laws, roads that differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.mechanisms.calibrations import SmoothCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.sensitivity import Sensitivity
from tests.mechanisms.cabinet import CABINET, Hasty, Truthful, changed


def shrunk(self, counts, prior, epsilon, metric):
    found = dp.smooth_sensitivity(counts, prior, self.gamma, metric=metric)
    return Sensitivity(found.value / 8.0, found.witness)


def test_a_sensitivity_changed_behind_the_audits_back_is_noticed_or_audited(monkeypatch):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    before = dp.audit(mechanism, 3, [1, 1, 1]).epsilon
    right = dp.audit(mechanism, 10, [1, 1]).epsilon
    # A calibration of one's own is audited by its own sensitivity.
    broken = ExponentialMechanism(1.0, changed(SmoothCalibration, sensitivity=shrunk))
    assert dp.audit(broken, 10, [1, 1]).epsilon > 4 * right
    monkeypatch.setattr(SmoothCalibration, "sensitivity", shrunk)
    with pytest.raises(ArithmeticError, match=r"another law at counts .* than its \.law"):
        dp.audit(mechanism, 10, [1, 1])
    with pytest.raises(ArithmeticError, match="another law"):
        dp.calibrate(mechanism, 10, [1, 1], 1.0)
    assert dp.audit(mechanism, 3, [1, 1, 1]).epsilon > 4 * before


@pytest.mark.parametrize("broken", [Truthful, Hasty])
@pytest.mark.parametrize("k", [2, 3])
def test_a_subclass_is_audited_by_its_own_law(broken, k):
    mechanism = broken(1.0, SmoothCalibration())
    found = dp.audit(mechanism, 5, np.ones(k)).epsilon
    assert found == np.inf if broken is Truthful else found > 100


@pytest.mark.slow
def test_calibrating_a_subclass_pays_for_its_rate():
    found = dp.calibrate(Hasty(1.0, SmoothCalibration()), 5, [1, 1], 1.0)
    assert dp.audit(found, 5, [1, 1]).epsilon == pytest.approx(1.0, rel=1e-8)
    right = dp.calibrate(dp.mechanism("expMech-smooth", 1.0), 5, [1, 1], 1.0)
    assert found.epsilon == pytest.approx(right.epsilon / 1e4, rel=1e-6)
    with pytest.raises(ValueError, match="epsilon cannot be reached"):
        dp.calibrate(Truthful(1.0, SmoothCalibration()), 5, np.ones(2), 1.0)


@pytest.mark.parametrize(
    "key", [key for key in CABINET if key.startswith(("nan", "plus inf", "sums", "an output lost"))]
)
def test_what_is_no_law_is_refused(key):
    broken = CABINET[key].mechanism
    words = "must have (log-probabilities below|probabilities that sum to 1)"
    with pytest.raises(ValueError, match=words):
        dp.audit(broken, 5, [1, 1])
    with pytest.raises(ValueError, match=words):
        dp.audit_pair(broken, [2, 3], [3, 2], [1, 1])
    with pytest.raises(ValueError, match=words):
        dp.calibrate(broken, 5, [1, 1], 1.0)


def test_a_law_that_changes_is_noticed():
    with pytest.raises(ArithmeticError, match=r"where its \.law has"):
        dp.audit(CABINET["another law each time"].mechanism, 5, [1, 1])


@pytest.mark.parametrize("name", ["expMech", "expMech-delta"])
@pytest.mark.parametrize(("n", "k", "rows"), [(30, 2, 33), (400, 2, 26), (5, 3, 23)])
def test_a_certificate_says_what_was_compared(name, n, k, rows):
    result = dp.audit(dp.mechanism(name, 1.0), n, np.ones(k))
    assert result.certificate.rows == rows
    assert result.certificate.difference < 1e-9
    # Laws alone need no comparison but for the witness.
    assert dp.audit(dp.mechanism("geometric", 1.0), 30, [1, 1]).certificate.rows == 2


def test_an_instance_with_a_replaced_method_is_audited_by_its_law():
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    right = dp.audit(mechanism, 6, [1, 1]).epsilon
    altered = replace(mechanism)
    object.__setattr__(altered, "rate", lambda counts, prior: 1e3)
    assert dp.audit(altered, 6, [1, 1]).epsilon > 10 * right
