"""No law states an error it does not keep, however hostile the prior: against
mpmath."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest

import dpbayes as dp
from dpbayes.laws.exponential import ExponentialLaw
from tests.mechanisms.definitions import SCORED, made, masses, rate
from tests.reference.laws import DIGITS, Counts, Masses, Reference

NOISY = (
    "lapMech",
    "ilapMech",
    "ilapMech, nearest",
    "draft-laplace",
    "geometric",
    "lattice",
)
KINDS = (*SCORED, *NOISY, "optimal", "series")


@dataclass(frozen=True)
class Setting:
    kind: str
    epsilon: float
    prior: tuple[float, ...]
    counts: Counts


def settings(number: int, seed: int) -> list[Setting]:
    rng = np.random.default_rng(seed)
    return [setting(rng, KINDS[i % len(KINDS)]) for i in range(number)]


def setting(rng: np.random.Generator, kind: str) -> Setting:
    k = 2 if kind in ("geometric", "lattice", "optimal") else int(rng.integers(2, 5))
    n = int(rng.integers(1, (13, 7, 5)[k - 2] if kind.startswith("permute") else 13))
    powers = np.where(
        rng.random(k) < 0.7, rng.uniform(-300, 18, k), rng.uniform(-2, 2, k)
    )
    if rng.random() < 0.3:
        powers[:] = powers[0]
    counts = rng.multinomial(n, rng.dirichlet(np.full(k, 0.5)))
    epsilon = float(10.0 ** rng.uniform(-2, 1.5))
    return Setting(
        kind, epsilon, tuple((10.0**powers).tolist()), tuple(int(c) for c in counts)
    )


def truth(one: Setting, law: dp.Law, exact: Reference) -> Masses:
    epsilon, x = mp.mpf(one.epsilon), one.counts
    if one.kind == "optimal":  # the law is the table that the linear program found
        return {
            tuple(int(v) for v in r): mp.mpf(float(p))
            for r, p in zip(law.outputs, law.probabilities, strict=True)
        }
    if one.kind == "series":
        return exact.exponential(x, rate("expMech-local", exact, x, epsilon))
    return masses(one.kind, exact, x, epsilon)


def outside(one: Setting, stretch: float = 1.0) -> list[str]:
    """Say which answers of a law are further from the truth than their stated error."""
    name = "expMech-local" if one.kind == "series" else one.kind
    mechanism = made(name, one.epsilon * stretch)
    try:
        law = mechanism.law(one.counts, one.prior)
        if one.kind == "series":
            law = ExponentialLaw(
                law.prior, law.counts, mechanism.rate(one.counts, one.prior)
            )
        answers = {"mean": law.mean_distance(), "square": law.mean_square()}
    except ArithmeticError:
        return []  # refused
    except ValueError as error:
        # A tiny epsilon leaves the repaired mechanism no gamma that floats can keep.
        if one.kind == "expMech-repaired" and "share * epsilon must be" in str(error):
            return []
        raise
    with mp.workdps(DIGITS):
        exact = Reference(one.prior, sum(one.counts))
        expected = truth(one, law, exact)
        distances = {r: exact.distance(one.counts, r) for r in expected}
        wanted = {
            "mean": mp.fsum(p * distances[r] for r, p in expected.items()),
            "square": mp.fsum(p * distances[r] ** 2 for r, p in expected.items()),
        }
        for r in list(expected)[:: max(1, len(expected) // 4)]:
            answers[f"P{r}"], wanted[f"P{r}"] = law.probability(r), expected[r]
        return [
            f"{one}: {what} {float(value)!r} is off by"
            f" {float(abs(value - wanted[what])):.2e}, stated {value.error:.2e}"
            for what, value in answers.items()
            if math.isnan(value)
            or not abs(mp.mpf(float(value)) - wanted[what]) <= value.error
        ]


@pytest.mark.parametrize("number", [34, pytest.param(2000, marks=pytest.mark.slow)])
def test_laws_keep_their_stated_errors(number: int) -> None:
    assert [said for one in settings(number, 7) for said in outside(one)] == []


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"optimal"}))
def test_a_law_off_by_one_part_in_ten_million_is_found(kind: str) -> None:
    x, prior = ((2, 1, 1), (1e-9, 1.0, 2.0))
    if kind in ("geometric", "lattice"):
        x, prior = (2, 3), (0.5, 1e-3)
    one = Setting(kind, 0.7, prior, x)
    assert outside(one) == []
    assert outside(one, 1.0 + 1e-7)


def test_a_tiny_prior_beside_a_count_is_not_lost() -> None:
    mean = (
        dp.mechanism("ilapMech", 0.5).law((0, 0, 3, 997), [1e-16] * 4).mean_distance()
    )
    assert float(mean) == pytest.approx(0.845, abs=2e-3)
    assert mean.error < 1e-11
