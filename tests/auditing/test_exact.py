"""The exact audit against naive double loops, 50-digit arithmetic and known failures."""

from __future__ import annotations

import subprocess
import sys

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpbayes as dp
from dpbayes.auditing import rows as audit_rows_module
from dpbayes.auditing.rows import check_size
from dpbayes.laws.finite import FiniteLaw

TWO = ("lapMech", "ilapMech", "geometric", "expMech", "expMech-local", "expMech-smooth")
ANY = ("lapMech", "ilapMech", "expMech", "expMech-local", "expMech-smooth", "expMech-delta")


def naive(mechanism, n, prior):
    """Every neighbour of every data set, through the public law, one probability at a time."""
    worst = 0.0
    for x in dp.compositions(n, len(prior)):
        law = mechanism.law(x, prior)
        for other in dp.neighbours(x):
            second = mechanism.law(other, prior)
            assert np.array_equal(law.outputs, second.outputs)
            gaps = law.log_probabilities - second.log_probabilities
            worst = max(worst, float(np.max(np.abs(gaps))))
    return worst


def naive_delta(mechanism, n, prior, epsilon):
    worst = 0.0
    for x in dp.compositions(n, len(prior)):
        p = mechanism.law(x, prior).probabilities
        for other in dp.neighbours(x):
            q = mechanism.law(other, prior).probabilities
            worst = max(worst, float(np.maximum(p - np.exp(epsilon) * q, 0.0).sum()))
    return worst


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(TWO),
    epsilon=st.floats(0.1, 5.0),
    n=st.integers(1, 9),
    prior=st.tuples(st.floats(0.05, 8.0), st.floats(0.05, 8.0)),
)
def test_two_categories_agree_with_every_pair_of_laws(name, epsilon, n, prior):
    mechanism = dp.mechanism(name, epsilon)
    result = dp.audit(mechanism, n, prior)
    assert result.epsilon == pytest.approx(naive(mechanism, n, prior), rel=1e-9, abs=1e-12)
    half = 0.5 * epsilon
    assert result.delta(half) == pytest.approx(
        naive_delta(mechanism, n, prior, half), rel=1e-8, abs=1e-13
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize(("n", "prior"), [(5, (1.0, 0.3, 2.0)), (3, (1.0, 1.0, 0.5, 4.0))])
def test_more_categories_agree_with_every_pair_of_laws(name, n, prior):
    mechanism = dp.mechanism(name, 1.3)
    result = dp.audit(mechanism, n, prior)
    assert result.epsilon == pytest.approx(naive(mechanism, n, prior), rel=1e-10)
    assert result.delta(0.4) == pytest.approx(naive_delta(mechanism, n, prior, 0.4), abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lapMech", "ilapMech", "geometric", "expMech", "expMech-smooth"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e-3, 5.0), (40.0, 40.0)])
def test_the_promised_epsilon_holds_over_all_neighbours(name, epsilon, prior):
    assert dp.audit(dp.mechanism(name, epsilon), 40, prior).epsilon <= epsilon + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lapMech", "ilapMech", "expMech", "expMech-smooth"])
@pytest.mark.parametrize(("n", "k"), [(8, 3), (4, 4)])
def test_the_promised_epsilon_holds_for_more_categories(name, n, k):
    assert dp.audit(dp.mechanism(name, 1.0), n, np.ones(k)).epsilon <= 1.0 + 1e-12


@pytest.mark.parametrize(("n", "expected"), [(10, 0.318), (100, 0.400), (1000, 0.443)])
def test_the_smooth_mechanism_loses_less_than_half_its_epsilon(n, expected):
    result = dp.audit(dp.mechanism("expMech-smooth", 1.0), n, [1, 1])
    assert result.epsilon == pytest.approx(expected, abs=5e-4)


@pytest.mark.slow
def test_the_witness_attains_the_loss():
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    result = dp.audit(mechanism, 60, [1, 0.4])
    witness = result.witness
    p, q = (mechanism.law(x, [1, 0.4]) for x in (witness.counts, witness.neighbour))
    ratio = p.probability(witness.output) / q.probability(witness.output)
    assert np.log(ratio) == pytest.approx(result.epsilon, rel=1e-10)
    assert result.pair().epsilon == pytest.approx(result.epsilon, rel=1e-12)


@pytest.mark.slow
def test_local_sensitivity_breaks_its_promise_for_a_small_prior_only():
    mechanism = dp.mechanism("expMech-local", 1.0)
    assert dp.audit(mechanism, 1000, [0.1, 0.1]).epsilon > 1.05
    for n in (10, 100, 1000):
        assert dp.audit(mechanism, n, [1, 1]).epsilon <= 0.92


def test_one_sided_noise_is_not_private_at_all():
    result = dp.audit(dp.mechanism("draft-laplace", 1.0), 12, [1, 1])
    assert result.epsilon == np.inf
    mechanism = dp.mechanism("draft-laplace", 1.0)
    witness = result.witness
    assert mechanism.law(witness.neighbour, [1, 1]).probability(witness.output) == 0.0
    possible = mechanism.law(witness.counts, [1, 1]).probability(witness.output)
    assert possible > 0.0
    assert result.delta(50.0) >= possible * (1 - 1e-12)


def published_delta_mechanism_law(x, n, alpha, epsilon, delta):
    """Weights exp(-epsilon H / 2S), exponential smooth sensitivity, d = l1, by brute force."""
    mp = mpmath.mp
    a = [mp.mpf(alpha) + i for i in range(n + 1)]

    def log_bc(p, q):
        total = mp.mpf(0)
        for one, two in ((a[p], a[q]), (a[n - p], a[n - q])):
            total += mp.loggamma((one + two) / 2) - (mp.loggamma(one) + mp.loggamma(two)) / 2
        return total

    def distance(p, q):
        return mp.sqrt(-mp.expm1(log_bc(p, q)))

    steps = [distance(i, i + 1) for i in range(n)]
    local = [max(steps[max(i - 1, 0)], steps[min(i, n - 1)]) for i in range(n + 1)]
    gamma = mp.log(1 - mp.mpf(epsilon) / (2 * mp.log(mp.mpf(delta) / (2 * (n + 1)))))
    smooth = max(local[i] * mp.exp(-gamma * 2 * abs(i - x)) for i in range(n + 1))
    weights = [mp.exp(-mp.mpf(epsilon) * distance(x, r) / (2 * smooth)) for r in range(n + 1)]
    norm = mp.fsum(weights)
    return [w / norm for w in weights]


@pytest.mark.slow
def test_document_a_theorem_4_1_fails_with_l1_distance_in_50_digits():
    n, alpha, epsilon, delta = 100, 1e-6, 20.0, 1e-8
    mechanism = dp.mechanism("expMech-delta", epsilon, delta=delta, distance="l1")
    result = dp.audit(mechanism, n, [alpha, alpha])
    found = result.curve([epsilon]).witnesses[0]
    with mpmath.workdps(50):
        p, q = (
            published_delta_mechanism_law(int(x[0]), n, alpha, epsilon, "1e-8")
            for x in (found.counts, found.neighbour)
        )
        exact = mpmath.fsum(max(a - mpmath.exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))
        w = result.witness
        p, q = (
            published_delta_mechanism_law(int(x[0]), n, alpha, epsilon, "1e-8")
            for x in (w.counts, w.neighbour)
        )
        loss = mpmath.log(p[int(w.output[0])] / q[int(w.output[0])])
    assert found.delta == pytest.approx(float(exact), rel=1e-9)
    assert result.epsilon == pytest.approx(float(loss), rel=1e-11)
    assert found.delta == pytest.approx(2.145e-8, rel=1e-3)
    assert found.delta > delta
    assert result.epsilon == pytest.approx(20.184, abs=5e-4)


class Shifting:
    """Releases the count itself or one more: outputs differ from data set to data set."""

    name, epsilon = "shifting", 1.0

    def law(self, counts, prior):
        x = np.asarray(counts)
        outputs = np.array([[x[0], x[1]], [x[0] + 1, x[1]]])
        return FiniteLaw(np.asarray(prior, float), x, outputs, np.log([0.25, 0.75]))


def test_outputs_that_only_one_of_two_can_give_are_reported_as_infinite():
    result = dp.audit(Shifting(), 3, [1, 1])
    assert result.epsilon == np.inf
    assert result.delta(1.0) == pytest.approx(1.0)
    assert dp.audit_pair(Shifting(), [1, 2], [2, 1], [1, 1]).epsilon == np.inf


class Windowed(Shifting):
    def law(self, counts, prior):
        whole = super().law(counts, prior)
        return FiniteLaw(whole.prior, whole.counts, whole.outputs, whole.log_probabilities, 1e-9)


def test_bad_input_is_refused_with_the_size_that_fits():
    mechanism = dp.mechanism("expMech", 1.0)
    with pytest.raises(ValueError, match=r"n = 5000000 .* takes n up to 100000"):
        dp.audit(mechanism, 5_000_000, [1, 1])
    geometric_noise = dp.mechanism("lattice", 1.0)
    with pytest.raises(ValueError, match=r"k = 3 an audit takes n up to 103"):
        dp.audit(geometric_noise, 300, [1, 1, 1])
    for n in (103, 104):
        ok = dp.number_of_candidates(n, 3) ** 2 <= audit_rows_module.LARGEST_TABLE
        assert ok == (n == 103)
    with pytest.raises(ValueError, match="outputs of probability up to 1e-09"):
        dp.audit(Windowed(), 3, [1, 1])
    with pytest.raises(TypeError, match=r"mechanism must be an object with \.law"):
        dp.audit("geometric", 3, [1, 1])
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        dp.audit(mechanism, 0, [1, 1])
    with pytest.raises(ValueError, match="one replaced record"):
        dp.audit_pair(mechanism, [5, 5], [7, 3], [1, 1])
    result = dp.audit(mechanism, 4, [1, 1])
    with pytest.raises(ValueError, match="epsilon must be at least 0"):
        result.delta(-1.0)
    with pytest.raises(ValueError, match="epsilons must be a vector"):
        result.curve([[1.0]])
    check_size(100_000, 2)


@pytest.mark.slow
def test_the_public_functions_stay_functions_whichever_part_was_loaded_first():
    code = (
        "import inspect, pickle, dpbayes.auditing.sampled, dpbayes.tables.drawn, dpbayes as dp\n"
        "for function in (dp.audit, dp.release):\n"
        "    assert inspect.isfunction(function)\n"
        "    assert pickle.loads(pickle.dumps(function)) is function\n"
        "    assert 'mechanism' in inspect.signature(function).parameters\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    ("k", "n"), [(2, 1), (2, 2), (2, 7), (3, 1), (3, 2), (3, 5), (4, 1), (4, 2)]
)
def test_ilapmech_loses_all_it_promises_except_with_one_record(
    k: int, n: int, epsilon: float
) -> None:
    """The theorem thm-ilapmech-tight."""
    lost = dp.audit(dp.mechanism("ilapMech", epsilon), n, [1] * k).epsilon
    alone = k >= 3 and n == 1
    expected = np.log(2.0 * np.exp(epsilon / 2.0) - 1.0) if alone else epsilon
    assert lost == pytest.approx(expected, rel=1e-9)
    assert (lost < 0.99 * epsilon) == alone
