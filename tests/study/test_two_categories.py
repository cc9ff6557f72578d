"""`expMech-delta` without a delta: what the theorems of the page on Theorem 4.1 say,
audited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import dpbayes as dp


@dataclass(frozen=True)
class Plan:
    """n records under the prior (b, B): distances, smooth sensitivities and laws, one
    row an x.
    """

    n: int
    epsilon: float
    delta: float
    prior: tuple[float, float]

    @cached_property
    def distances(self) -> np.ndarray:
        x = np.arange(self.n + 1.0)
        posteriors = np.column_stack((self.prior[0] + x, self.prior[1] + self.n - x))
        return dp.hellinger(posteriors[:, None, :], posteriors[None, :, :])

    @property
    def ell(self) -> float:
        return float(np.log(2.0 * (self.n + 1) / self.delta))

    @cached_property
    def local(self) -> np.ndarray:
        steps = self.distances.diagonal(1)
        return np.maximum(np.append(steps, 0.0), np.append(0.0, steps))

    @cached_property
    def smooth(self) -> np.ndarray:
        x = np.arange(self.n + 1)
        gamma = np.log1p(self.epsilon / (2.0 * self.ell))
        return (self.local * np.exp(-gamma * np.abs(x[:, None] - x))).max(axis=1)

    @cached_property
    def log_p(self) -> np.ndarray:
        weights = -self.epsilon / (2.0 * self.smooth[:, None]) * self.distances
        return weights - np.log(np.exp(weights).sum(axis=1, keepdims=True))

    def kink(self) -> float:
        """The epsilon at which the least sensitivity is met by the largest one's
        cone."""
        low, high = int(self.local.argmin()), int(self.local.argmax())
        gamma = np.log(self.local[high] / self.local[low]) / max(1, abs(high - low))
        return float(2.0 * self.ell * np.expm1(gamma))

    def loss(self) -> float:
        return float(np.abs(np.diff(self.log_p, axis=0)).max())

    def covered(self) -> bool:
        """thm-delta-two-uniform, -unlike and -strong, as they are printed."""
        (low, high), steps = self.prior, self.distances.diagonal(1)
        weak = low <= 1.0 and self.epsilon <= self.ell / 20.0
        growth = 1.0 + self.epsilon / (2.0 * self.ell)
        strong = low >= 20.0 and self.n > 1 and steps[0] <= growth * steps[1]
        few = self.epsilon >= 3.0 / self.ell or self.n <= 2.0 * np.e * self.ell
        apart = high >= low + self.n and self.delta <= 0.25 and few
        return (weak or strong) and ((low == high and self.delta <= 0.5) or apart)


def plans(
    seed: int, kind: str, number: int, low: float = -6.0, high: float = 4.0
) -> Iterator[Plan]:
    """Give random plans of one kind of prior; two in three are next to their kink."""
    rng = np.random.default_rng(seed)
    for i in range(number):
        n, b = int(np.exp(rng.uniform(0.7, 4.8))), 10.0 ** rng.uniform(low, high)
        other = {"equal": b, "apart": b + n * 10.0 ** rng.uniform(0, 4)}[kind]
        plan = Plan(n, 1.0, 10.0 ** rng.uniform(-10, np.log10(0.24)), (b, other))
        epsilon = 10.0 ** rng.uniform(-3, 1.3)
        if i % 3:
            epsilon = max(1e-4, plan.kink() * np.exp(0.05 * rng.normal()))
        yield Plan(n, min(epsilon, 60.0), plan.delta, plan.prior)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["equal", "apart"])
def test_a_larger_sensitivity_at_the_neighbour_costs_nothing(kind: str) -> None:
    """thm-delta-two-equal for every epsilon, thm-delta-two-large for all but a small
    one.
    """
    seen = 0
    for plan in plans(3, kind, 120):
        if kind == "equal" or plan.epsilon >= 3.0 / plan.ell:
            risen = np.flatnonzero(plan.smooth[:-1] > plan.smooth[1:] * (1.0 + 1e-9))
            seen += risen.size
            losses = plan.log_p[risen + 1] - plan.log_p[risen]
            assert np.all(losses <= plan.epsilon * (1.0 + 1e-12))
    assert seen > 500


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["equal", "apart"])
@pytest.mark.parametrize(("low", "high"), [(-6.0, 0.0), (1.31, 4.0)])
def test_where_a_theorem_applies_no_loss_exceeds_epsilon(
    kind: str, low: float, high: float
) -> None:
    covered = [plan for plan in plans(5, kind, 150, low, high) if plan.covered()]
    assert len(covered) > 30
    assert all(plan.loss() <= plan.epsilon * (1.0 + 1e-12) for plan in covered)


@pytest.mark.slow
def test_few_records_or_a_small_epsilon_need_no_delta() -> None:
    """thm-delta-two and thm-delta-two-small, for two and three categories and any
    prior.
    """
    rng, covered = np.random.default_rng(0), 0
    for _ in range(240):
        n, k = int(rng.integers(1, 25)), 2
        if rng.random() < 0.3:
            n, k = int(rng.integers(1, 6)), 3
        epsilon, delta = 10.0 ** rng.uniform(-3, 0.5), 10.0 ** rng.uniform(-12, -0.1)
        number, growth = dp.number_of_candidates(n, k), np.log(2.0 * (n + 1) / delta)
        gamma, spared = np.log1p(epsilon / (2.0 * growth)), -np.expm1(-epsilon)
        rising = (
            epsilon
            * (number - 1)
            / (2.0 * np.e * growth)
            * np.exp(-epsilon / np.exp(gamma))
        )
        falling = epsilon**2 * n * number * np.exp(gamma * (n - 1))
        if rising <= spared and falling <= 4.0 * growth * spared:
            covered += 1
            mechanism = dp.mechanism("expMech-delta", epsilon, delta=delta)
            audit = dp.audit(mechanism, n, 10.0 ** rng.uniform(-9, 3, k))
            assert audit.epsilon <= epsilon * (1 + 1e-9)
    assert covered > 20


def test_the_plan_is_the_mechanism_and_some_plans_need_their_delta() -> None:
    for plan in (
        Plan(12, 0.8, 1e-8, (0.5, 20.0)),
        Plan(3, 26.7, 1.6e-5, (1e-9, 205.0)),
    ):
        mechanism = dp.mechanism("expMech-delta", plan.epsilon, delta=plan.delta)
        assert plan.loss() == pytest.approx(
            dp.audit(mechanism, plan.n, plan.prior).epsilon
        )
    assert plan.loss() > plan.epsilon
    assert not plan.covered()
