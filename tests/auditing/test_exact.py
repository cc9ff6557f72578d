"""The exact audit against double loops, fifty digits and known failures; that by
sampling.
"""

from __future__ import annotations

import itertools
import math
import re
import time
import tracemalloc

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import dpbayes as dp
from dpbayes.auditing.exact import audit_corners, audit_rows, hockey_stick, loss
from dpbayes.auditing.rows import (
    exponential_rows,
    mechanism_rows,
    moves,
    score_rows,
)
from dpbayes.auditing.sampled import _best_event, audit_by_sampling, clopper_pearson
from dpbayes.auditing.sizes import LARGEST_TABLE, check_size, check_time
from tests.mechanisms.cabinet import CABINET, altered
from tests.reference import affinity
from tests.reference.laws import Reference

TWO = ("lapMech", "ilapMech", "geometric", "expMech", "expMech-local", "expMech-smooth")
ANY = ("ilapMech", *TWO[3:], "expMech-delta", "permute-and-flip")

weights = st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(
    lambda w: sum(w) > 0.1
)


def logs(values):
    with np.errstate(divide="ignore"):
        return np.log(np.array(values) / sum(values))


@given(weights, weights, st.floats(-1.0, 3.0))
def test_delta_is_the_worst_set_of_outputs(first, second, epsilon):
    p, q = np.exp(logs(first)), np.exp(logs(second))
    worst = max(
        np.dot(s, p - math.exp(epsilon) * q)
        for s in itertools.product([0, 1], repeat=4)
    )
    assert hockey_stick(logs(first), logs(second), epsilon) == pytest.approx(
        worst, abs=1e-12
    )


def naive(mechanism, n, prior, epsilon):
    """Every neighbour of every data set, by the public law: largest loss and
    delta(epsilon).
    """
    worst, delta = 0.0, 0.0
    for x in dp.compositions(n, len(prior)):
        law = mechanism.law(x, prior)
        for other in dp.neighbours(x):
            second = mechanism.law(other, prior)
            assert np.array_equal(law.outputs, second.outputs)
            gaps = np.abs(law.log_probabilities - second.log_probabilities)
            excess = law.probabilities - np.exp(epsilon) * second.probabilities
            worst = max(worst, float(gaps.max()))
            delta = max(delta, float(np.maximum(excess, 0.0).sum()))
    return worst, delta


def agrees(mechanism, n, prior, epsilon):
    result = dp.audit(mechanism, n, prior)
    worst, delta = naive(mechanism, n, prior, epsilon)
    assert result.epsilon == pytest.approx(worst, rel=1e-9, abs=1e-12)
    assert result.pair().epsilon == pytest.approx(worst, rel=1e-9, abs=1e-12)
    curve = result.curve([epsilon, 50.0])
    attained = curve.witnesses[0]
    pair = dp.audit_pair(mechanism, attained.counts, attained.neighbour, prior)
    for found in (curve.deltas[0], attained.delta, pair.delta(epsilon)):
        assert found == pytest.approx(delta, rel=1e-8, abs=1e-13)


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(TWO), epsilon=st.floats(0.1, 5.0), n=st.integers(1, 9),
    prior=st.tuples(st.floats(0.05, 8.0), st.floats(0.05, 8.0)),
)  # fmt: skip
def test_two_categories_agree_with_every_pair_of_laws(name, epsilon, n, prior):
    agrees(dp.mechanism(name, epsilon), n, prior, 0.5 * epsilon)


@pytest.mark.parametrize("name", ANY)
def test_more_categories_agree_with_every_pair_of_laws(name):
    agrees(dp.mechanism(name, 1.3), 4, (1.0, 0.3, 2.0), 0.4)
    agrees(dp.mechanism(name, 1.3), 2, (1.0, 1.0, 0.5, 4.0), 0.4)


@pytest.mark.parametrize(("n", "expected"), [(10, 0.318), (1000, 0.443)])
def test_the_smooth_mechanism_loses_less_than_half_its_epsilon(n, expected):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    result = dp.audit(mechanism, n, [1, 1])
    assert result.epsilon == pytest.approx(expected, abs=5e-4)
    # The witness (3, n - 3) is among the pairs next to the corners, but not among the
    # first three.
    assert audit_corners(mechanism, n, [1, 1]).loss == pytest.approx(
        result.epsilon, rel=1e-9
    )
    assert audit_corners(mechanism, n, [1, 1], 1).loss < result.epsilon or n == 10


def test_one_sided_noise_is_not_private_at_all():
    mechanism = dp.mechanism("draft-laplace", 1.0)
    result = dp.audit(mechanism, 12, [1, 1])
    assert result.epsilon == np.inf
    there, never = (
        mechanism.law(x, [1, 1]).probability(result.witness.output)
        for x in (result.witness.counts, result.witness.neighbour)
    )
    assert never == 0.0 < there * (1 - 1e-12) <= result.delta(50.0)


@pytest.mark.slow
def test_document_a_theorem_4_1_fails_with_l1_distance_in_50_digits():
    n, alpha, epsilon, delta = 100, 1e-6, 20.0, 1e-8
    mechanism = dp.mechanism("expMech-delta", epsilon, delta=delta, distance="l1")
    result = dp.audit(mechanism, n, [alpha, alpha])
    found = result.curve([epsilon]).witnesses[0]
    with mp.workdps(50):
        gamma = mp.log(
            1 - mp.mpf(epsilon) / (2 * mp.log(mp.mpf("1e-8") / (2 * (n + 1))))
        )
        exact = Reference((alpha, alpha), n)

        def law(x):
            x = tuple(int(c) for c in x)
            smooth = exact.largest(x, lambda local, d: local * mp.exp(-gamma * 2 * d))
            return exact.exponential(x, epsilon / (2 * smooth))

        p, q = law(found.counts), law(found.neighbour)
        excess = mp.fsum(max(p[r] - mp.exp(epsilon) * q[r], 0) for r in p)
        worst = max(abs(mp.log(p[r] / q[r])) for r in p)
    assert found.delta == pytest.approx(float(excess), rel=1e-9)
    assert result.epsilon == pytest.approx(float(worst), rel=1e-11)
    assert found.delta == pytest.approx(2.145 * delta, rel=1e-3)
    assert result.epsilon == pytest.approx(20.184, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.1, 4.0])
@pytest.mark.parametrize(
    ("k", "n"), [(2, 1), (2, 7), (3, 1), (3, 2), (3, 5), (4, 1), (4, 2)]
)
def test_ilapmech_loses_all_it_promises_except_with_one_record(k, n, epsilon):
    """The theorem thm-ilapmech-tight."""
    lost = dp.audit(dp.mechanism("ilapMech", epsilon), n, [1] * k).epsilon
    alone = k >= 3 and n == 1
    expected = np.log(2.0 * np.exp(epsilon / 2.0) - 1.0) if alone else epsilon
    assert lost == pytest.approx(expected, rel=1e-9)
    assert (lost < 0.99 * epsilon) == alone


def test_outputs_that_only_one_of_two_can_give_are_reported_as_infinite():
    # It releases the count itself or one more: the list differs from data set to data
    # set.
    shares = np.log([0.25, 0.75])
    shifting = altered(lambda logs, rows, x: (shares, np.array([x, (x[0] + 1, x[1])])))
    result = dp.audit(shifting.mechanism, 3, [1, 1])
    assert result.epsilon == np.inf
    assert result.delta(1.0) == pytest.approx(1.0)
    assert dp.audit_pair(shifting.mechanism, [1, 2], [2, 1], [1, 1]).epsilon == np.inf
    p, q = np.array([0.0, -np.inf, -np.inf]), np.array([-np.inf, 0.0, -np.inf])
    assert loss(p, q).tolist() == [np.inf, -np.inf, 0.0]


def test_what_is_too_large_or_not_listed_is_refused():
    mechanism = dp.mechanism("expMech", 1.0)
    with pytest.raises(ValueError, match=r"n = 5000000 .* takes n up to 100000"):
        dp.audit(mechanism, 5_000_000, [1, 1])
    with pytest.raises(ValueError, match=r"k = 3 an audit takes n up to 103"):
        dp.audit(dp.mechanism("lattice", 1.0), 300, [1, 1, 1])
    for n in (103, 104):
        assert (dp.number_of_candidates(n, 3) ** 2 <= LARGEST_TABLE) == (n == 103)
    check_size(100_000, 2)
    with pytest.raises(ValueError, match="outputs of probability up to 1e-06"):
        dp.audit(CABINET["mass outside"].mechanism, 3, [1, 1])
    with pytest.raises(ValueError, match="one replaced record"):
        dp.audit_pair(mechanism, [5, 5], [7, 3], [1, 1])
    lattice = dp.mechanism("lattice", 0.01)
    with pytest.raises(
        TypeError, match="an exact audit of lattice needs every output listed"
    ):
        dp.audit_pair(lattice, [3000, 4000, 2000], [3001, 3999, 2000], [1] * 3)


# --- Lattice and Gaussian noise: outputs are counted, not points of noise


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "lost"),
    [(5, 1, 1.0, 0.739645466149), (5, 1, 3.0, None), (7, 2, 2.0, None)],
)
def test_few_records_over_many_categories_are_audited(k, n, epsilon, lost):
    mechanism = dp.mechanism("lattice", epsilon)
    result = dp.audit(mechanism, n, [1.0] * k)
    assert 0.7 * epsilon < result.epsilon <= epsilon * (1.0 + 1e-12)
    assert lost is None or result.epsilon == pytest.approx(lost, rel=1e-11)
    x = np.eye(k, dtype=np.int64)[0] * n
    law = mechanism.law(x, [1.0] * k)
    assert float(law.probabilities.sum()) == pytest.approx(1.0, abs=1e-13)
    if (k, n, epsilon) == (5, 1, 1.0):
        assert len(law.outputs) == 5
        assert law.mean_distance() == pytest.approx(0.344584, abs=5e-7)


@pytest.mark.parametrize("name", ["lattice", "discrete-gaussian"])
@pytest.mark.parametrize("projection", ["l2", "l1"])
def test_noise_that_lands_outside_agrees_with_every_pair_of_laws(name, projection):
    agrees(dp.mechanism(name, 2.0, projection=projection), 3, (1.0, 0.3, 2.0), 0.7)
    agrees(dp.mechanism(name, 2.0, projection=projection), 2, (1.0,) * 4, 0.7)


@pytest.mark.parametrize(
    ("name", "k", "n", "epsilon", "options"),
    [
        ("lattice", 3, 1000, 1.0, {}),
        ("lattice", 3, 100, 0.05, {}),
        ("lattice", 4, 30, 0.1, {}),
        ("discrete-gaussian", 3, 100, 0.05, {}),
        ("lattice", 25, 1, 1.0, {}),
        ("lattice", 4, 30, 1.0, {"projection": "l1"}),
    ],
)
def test_what_takes_too_long_is_refused_at_once_and_what_fits_is_named(
    name, k, n, epsilon, options
):
    mechanism = dp.mechanism(name, epsilon, **options)
    begun = time.process_time()
    with pytest.raises(ValueError, match="takes") as refused:
        dp.audit(mechanism, n, [1.0] * k)
    assert time.process_time() - begun < 2.0
    largest = re.search(r"n up to (\d+)|n = 1 fits up to k = (\d+)", str(refused.value))
    if largest[1]:
        assert 1 <= int(largest[1]) < n
        check_time(mechanism, min(int(largest[1]), 103), k)
    else:
        check_time(mechanism, 1, int(largest[2]))
        with pytest.raises(ValueError, match="no n at k"):
            check_time(mechanism, 1, int(largest[2]) + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "n", "epsilon"),
    [
        ("lattice", 3, 100, 1.0),
        ("lattice", 4, 30, 1.0),
        ("lattice", 4, 12, 0.3),
        ("lattice", 3, 60, 0.3),
        ("discrete-gaussian", 3, 100, 1.0),
        ("discrete-gaussian", 4, 30, 1.0),
        ("lattice", 10, 3, 1.0),
        ("lattice", 3, 103, 5.0),
    ],
)
def test_the_sizes_of_the_docstring_are_audited(name, k, n, epsilon):
    result = dp.audit(dp.mechanism(name, epsilon), n, [1.0] * k)
    assert math.isfinite(result.epsilon)
    if name == "lattice":
        assert 0.98 * epsilon < result.epsilon < epsilon * (1.0 + 1e-11)


# --- Rows of all laws
# -----------------------------------------------------------------------------


@pytest.mark.slow
def test_no_matrix_of_all_laws_is_held_when_it_would_not_fit():
    rows = mechanism_rows(
        dp.mechanism("expMech-smooth", 1.0), 1200, np.array([1.0, 1.5])
    )
    assert rows.kept(limit=1000) is rows
    tracemalloc.start()
    audit_rows(rows)
    assert tracemalloc.get_traced_memory()[1] < 8 * 1201**2 / 20
    tracemalloc.stop()


@pytest.mark.parametrize(("n", "k"), [(6, 2), (4, 3), (3, 4)])
def test_moves_are_all_neighbouring_pairs_once(n, k):
    counts = dp.compositions(n, k)
    apart = np.abs(counts[:, None] - counts).sum(axis=2)
    brute = np.argwhere(np.triu(apart == 2)).tolist()
    assert sorted(np.column_stack(moves(counts)).tolist()) == brute


@pytest.mark.parametrize("prior", [[1e-6, 30.0], [1.0, 1.0], [0.5, 2.0, 7.0]])
def test_rows_of_scores_agree_with_fifty_digits(prior):
    n = 400 if len(prior) == 2 else 12
    rows = score_rows("hellinger", n, np.array(prior))
    for i in (0, 1, len(rows.counts) // 3, len(rows.counts) - 1):
        row = rows.row(i)
        assert row[i] == 0.0
        for at in (2, len(row) // 2, len(row) - 3):
            a, b = (np.array(prior) + rows.counts[j] for j in (i, at))
            assert row[at] == pytest.approx(float(affinity.hellinger(a, b)), rel=1e-9)


@pytest.mark.parametrize("metric", ["hellinger", "published"])
def test_rows_kept_are_the_rows_one_by_one(metric):
    scores = score_rows(metric, 60, np.array([0.5, 7.0]))
    for one in (scores, exponential_rows(scores, np.linspace(0.1, 9.0, 61))):
        np.testing.assert_array_equal(list(one.kept().kept()), list(one))


# --- By sampling
# ----------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    runs=st.integers(1, 400), share=st.floats(0, 1), confidence=st.floats(0.6, 0.999)
)
def test_clopper_pearson_inverts_the_binomial_distribution(runs, share, confidence):
    hits = round(share * runs)
    low, high = clopper_pearson(hits, runs, confidence)
    assert 0.0 <= low <= hits / runs <= high <= 1.0
    if hits > 0:
        assert binom.sf(hits - 1, runs, low) == pytest.approx(1 - confidence, rel=1e-6)
    if hits < runs:
        assert binom.cdf(hits, runs, high) == pytest.approx(1 - confidence, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["geometric", "ilapMech", "expMech-smooth"])
def test_the_certificate_stays_below_the_truth_and_comes_close(name):
    mechanism, prior = dp.mechanism(name, 1.0), [1, 1]
    witness = dp.audit(mechanism, 20, prior).witness
    truth = dp.audit_pair(mechanism, witness.counts, witness.neighbour, prior).epsilon
    rng = np.random.default_rng(11)
    found = [
        audit_by_sampling(
            mechanism, witness.counts, witness.neighbour, prior, rng, 100_000
        ).epsilon
        for _ in range(12)
    ]
    # One in a hundred may lie above; three of twelve doing so has probability 2e-4.
    assert sum(value > truth for value in found) <= 2
    assert np.median(found) > 0.5 * truth


@pytest.mark.slow
def test_choosing_and_certifying_on_the_same_half_would_overstate():
    setting = dp.mechanism("geometric", 0.01), [10, 10], [11, 9], [1, 1]
    rng, truth = np.random.default_rng(2), dp.audit_pair(*setting).epsilon
    above = [audit_by_sampling(*setting, rng, 2000).epsilon > truth for _ in range(100)]
    assert np.mean(above) <= 0.05


def test_the_event_is_what_was_counted():
    mechanism = dp.mechanism("geometric", 1.0)
    rng = np.random.default_rng(0)
    found = audit_by_sampling(mechanism, [3, 5], [4, 4], [1, 1], rng, 10_000, 0.9)
    laws = (mechanism.law(x, [1, 1]) for x in ([3, 5], [4, 4]))
    chances = sorted(sum(one.probability(r) for r in found.event) for one in laws)
    assert found.runs == 5000
    # One side of the middle is e times as likely under one of the two, each with half
    # of the risk.
    assert {r <= 3 for r, _ in found.event.tolist()} in ({True}, {False})
    counts = np.array([5, 400, 300]), np.array([50, 390, 30])
    assert _best_event(*counts, 1000, 0.95)[1].tolist() == [2]
    low, high = (
        clopper_pearson(hit, 5000, 0.95)[i] for i, hit in enumerate(found.hits)
    )
    assert found.epsilon == pytest.approx(np.log(low / high), rel=1e-12)
    assert sorted(hit / found.runs for hit in found.hits) == pytest.approx(
        chances, abs=0.04
    )


def test_what_is_no_sample_is_refused():
    setting = dp.mechanism("geometric", 1.0), [3, 5]
    with pytest.raises(ValueError, match="hits must be at most runs = 3"):
        clopper_pearson(4, 3, 0.9)
    with pytest.raises(ValueError, match="runs must be an integer of at least 4"):
        audit_by_sampling(*setting, [4, 4], [1, 1], np.random.default_rng(0), 2)
    with pytest.raises(
        ValueError, match="neighbour must differ from counts by one replaced"
    ):
        audit_by_sampling(*setting, [5, 3], [1, 1], np.random.default_rng(0))


@pytest.mark.parametrize("prior", [[1.0, 1.0], [1e-9, 40.0], [1.0, 0.5, 2.0]])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.3, 10.0])
@pytest.mark.parametrize("name", ["lattice", "geometric", "lapMech", "expMech"])
def test_rounding_is_no_violation_and_a_violation_is_none_of_rounding(
    name: str, epsilon: float, prior: list[float]
) -> None:
    if (name, len(prior)) == ("geometric", 3):
        pytest.skip("it is for two categories")
    mechanism = dp.mechanism(name, epsilon)
    promised = mechanism.guarantee(len(prior)).epsilon
    found = dp.audit(mechanism, 12, prior)
    assert 0.0 < found.epsilon.error < 1e-10
    assert not found.epsilon.exceeds(promised)
    assert found.epsilon.exceeds(found.epsilon * (1.0 - 1e-8))
    pair = dp.audit_pair(
        mechanism, found.witness.counts, found.witness.neighbour, prior
    )
    assert abs(pair.epsilon - found.epsilon) <= pair.epsilon.error + found.epsilon.error


def test_a_loss_without_a_bound_has_no_error() -> None:
    found = dp.audit(dp.mechanism("draft-laplace", 1.0), 5, [1, 1])
    assert found.epsilon == np.inf
    assert found.epsilon.error == 0.0
    assert found.epsilon.exceeds(1e300)


@pytest.mark.parametrize(
    ("k", "n", "epsilon"), [(5, 10, 0.05), (4, 12, 0.05), (6, 6, 0.1)]
)
def test_an_audit_of_wide_noise_is_refused_at_once(k, n, epsilon):
    """The first of these took 134 processor seconds: what is clamped is summed over
    hundreds of levels, by convolutions as long as there are levels.
    """
    begun = time.process_time()
    with pytest.raises(ValueError, match=f"it takes at k = {k} n up to"):
        dp.audit(dp.mechanism("lattice", epsilon), n, [1.0] * k)
    assert time.process_time() - begun < 2.0
