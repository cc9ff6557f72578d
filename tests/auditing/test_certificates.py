"""An audit is about what `.law` returns, or it is refused: no laws, roads that differ."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw
from dpbayes.mechanisms.calibrations import SmoothCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.sensitivity import Sensitivity


def shrunk(self, counts, prior, epsilon, metric):
    found = dp.smooth_sensitivity(counts, prior, self.gamma, metric=metric)
    return Sensitivity(found.value / 8.0, found.witness)


def test_a_sensitivity_changed_behind_the_audits_back_is_noticed(monkeypatch):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    monkeypatch.setattr(SmoothCalibration, "sensitivity", shrunk)
    with pytest.raises(ArithmeticError, match=r"another law at counts .* than its \.law"):
        dp.audit(mechanism, 10, [1, 1])
    with pytest.raises(ArithmeticError, match="another law"):
        dp.calibrate(mechanism, 10, [1, 1], 1.0)


@pytest.mark.slow
def test_with_three_categories_the_changed_sensitivity_is_what_is_audited(monkeypatch):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    before = dp.audit(mechanism, 4, [1, 1, 1]).epsilon
    monkeypatch.setattr(SmoothCalibration, "sensitivity", shrunk)
    assert dp.audit(mechanism, 4, [1, 1, 1]).epsilon > 4 * before


@dataclass(frozen=True)
class Truthful(ExponentialMechanism):
    """An exponential mechanism that releases the truth."""

    def law(self, counts, prior):
        law = super().law(counts, prior)
        true = np.all(law.outputs == np.asarray(counts), axis=1)
        with np.errstate(divide="ignore"):
            return FiniteLaw(law.prior, law.counts, law.outputs, np.log(true.astype(float)))


@dataclass(frozen=True)
class Hasty(ExponentialMechanism):
    """An exponential mechanism whose rate is ten thousand times too large."""

    def rate(self, counts, prior):
        return 1e4 * super().rate(counts, prior)


@dataclass(frozen=True)
class HalfTheSensitivity(SmoothCalibration):
    """Smooth sensitivity with a slip in one place."""

    def sensitivity(self, counts, prior, epsilon, metric):
        return shrunk(self, counts, prior, epsilon, metric)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [Truthful, Hasty])
@pytest.mark.parametrize("k", [2, 3])
def test_a_subclass_is_audited_by_its_own_law(broken, k):
    mechanism = broken(1.0, SmoothCalibration())
    loss = dp.audit(mechanism, 5, np.ones(k)).epsilon
    assert loss == np.inf if broken is Truthful else loss > 100
    with pytest.raises(ValueError, match="epsilon cannot be reached"):
        dp.calibrate(Truthful(1.0, SmoothCalibration()), 5, np.ones(k), 1.0)


@pytest.mark.slow
def test_calibrating_a_subclass_pays_for_its_rate():
    mechanism = Hasty(1.0, SmoothCalibration())
    found = dp.calibrate(mechanism, 5, [1, 1], 1.0)
    assert dp.audit(found, 5, [1, 1]).epsilon == pytest.approx(1.0, rel=1e-8)
    right = dp.calibrate(dp.mechanism("expMech-smooth", 1.0), 5, [1, 1], 1.0)
    assert found.epsilon == pytest.approx(right.epsilon / 1e4, rel=1e-6)


def test_a_calibration_of_ones_own_is_audited_by_its_own_sensitivity():
    right = dp.audit(dp.mechanism("expMech-smooth", 1.0), 10, [1, 1]).epsilon
    broken = dp.audit(ExponentialMechanism(1.0, HalfTheSensitivity()), 10, [1, 1]).epsilon
    assert broken > 4 * right


@dataclass(frozen=True)
class Altered:
    """The geometric mechanism with its log-probabilities altered."""

    change: object
    epsilon: float = 1.0
    name: str = "altered"

    def law(self, counts, prior):
        law = TruncatedGeometric(self.epsilon).law(counts, prior)
        logs = np.array(law.log_probabilities)
        return FiniteLaw(law.prior, law.counts, law.outputs, self.change(logs))


def put(value):
    def change(logs):
        logs[0] = value
        return logs

    return change


NOT_LAWS = {
    "nan": (put(np.nan), "must have log-probabilities below"),
    "all nan": (lambda logs: logs * np.nan, "must have log-probabilities below"),
    "infinite": (put(np.inf), "must have log-probabilities below"),
    "a tenth": (lambda logs: logs + np.log(0.1), "must have probabilities that sum to 1"),
    "twice": (lambda logs: logs + np.log(2.0), "must have probabilities that sum to 1"),
    "one output lost": (put(-np.inf), "must have probabilities that sum to 1"),
    "nothing": (lambda logs: logs - np.inf, "must have probabilities that sum to 1"),
}


@pytest.mark.parametrize("key", NOT_LAWS)
def test_what_is_no_law_is_refused(key):
    change, words = NOT_LAWS[key]
    with pytest.raises(ValueError, match=words):
        dp.audit(Altered(change), 5, [1, 1])
    with pytest.raises(ValueError, match=words):
        dp.audit_pair(Altered(change), [2, 3], [3, 2], [1, 1])
    with pytest.raises(ValueError, match=words):
        dp.calibrate(Altered(change), 5, [1, 1], 1.0)


def test_a_law_without_outputs_says_what_is_missing():
    with pytest.raises(TypeError, match="an exact audit of lattice needs every output listed"):
        dp.audit_pair(
            dp.mechanism("lattice", 0.01), [3000, 4000, 2000], [3001, 3999, 2000], [1] * 3
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["expMech", "expMech-local", "expMech-smooth", "expMech-delta"])
@pytest.mark.parametrize(("n", "k", "rows"), [(30, 2, 33), (400, 2, 26), (5, 3, 23)])
def test_a_certificate_says_what_was_compared(name, n, k, rows):
    result = dp.audit(dp.mechanism(name, 1.0), n, np.ones(k))
    assert result.certificate.rows == rows
    assert result.certificate.difference < 1e-9


def test_laws_alone_need_no_comparison_but_for_the_witness():
    assert dp.audit(dp.mechanism("geometric", 1.0), 30, [1, 1]).certificate.rows == 2


@dataclass(frozen=True)
class Fickle:
    """A mechanism whose law changes each time it is asked."""

    epsilon: float = 1.0
    name: str = "fickle"
    asked: list = None

    def law(self, counts, prior):
        self.asked.append(1)
        return TruncatedGeometric(1.0 + 0.01 * len(self.asked)).law(counts, prior)


def test_a_law_that_changes_is_noticed():
    with pytest.raises(ArithmeticError, match=r"where its \.law has"):
        dp.audit(Fickle(asked=[]), 5, [1, 1])


def test_an_instance_with_a_replaced_method_is_audited_by_its_law():
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    right = dp.audit(mechanism, 6, [1, 1]).epsilon
    altered = replace(mechanism)
    object.__setattr__(altered, "rate", lambda counts, prior: 1e3)
    assert dp.audit(altered, 6, [1, 1]).epsilon > 10 * right
