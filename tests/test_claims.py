"""Every verdict of the page of claims, recomputed from the package; one test for each
claim.

Each test works out from fresh numbers whether the claim holds as written, and whether
it holds in the corrected form that its entry states. The verdict that follows must be
the one on the page.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterable
from importlib import resources
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest

import dpbayes as dp
from dpbayes import tables
from dpbayes.study import mass_vectors, query_history
from dpbayes.study.all_data import count_crossings, prior_crossings
from dpbayes.study.asymptotics import predict
from dpbayes.study.lemmas import dilation, proved_guarantee, score_law, sliding
from dpbayes.study.linear_queries import posterior_one_unknown, worked_example
from dpbayes.study.scores import ScoredExponential, divergence_table
from dpbayes.study.theorem_chain import Chain, corner_pair, enumerated_pair
from dpbook.board import Claim, read_claims, without_evidence

ROOT = Path(__file__).parents[1]
CLAIMS = {
    claim.id: claim
    for claim in read_claims(
        (ROOT / "book" / "claims" / "claims.yml").read_text("utf-8")
    )
}
FLAT = [1.0, 1.0]
TENTH, HALF = [0.1, 0.9], [0.5, 0.5]


def check_no_verdict(claim: str, found: bool) -> None:
    """Assert that what cannot be false is listed as such, and that what its entry tells
    is so.
    """
    assert found
    assert CLAIMS[claim].verdict == "no verdict"


def check(
    claim: str, as_written: bool, corrected: bool = False, undecided: bool = False
) -> None:
    """Assert that the page gives the verdict that the numbers give."""
    verdict = "holds" if as_written else "holds corrected" if corrected else "false"
    assert CLAIMS[claim].verdict == ("open" if undecided else verdict)


def delta_mechanism(**options: object) -> dp.Mechanism:
    return dp.mechanism("expMech-delta", 0.8, **{"delta": 1e-8, **options})


def last_change(
    a: dp.Mechanism,
    b: dp.Mechanism,
    shares: list[float],
    sizes: Iterable[int],
    metric: object = dp.hellinger,
) -> int | None:
    found = dp.crossover(a, b, shares, [1.0] * len(shares), list(sizes), metric)
    return found.changes[-1][0] if found.changes else None


def mean(
    mechanism: dp.Mechanism, counts: list[int], prior: list[float] | None = None
) -> float:
    return mechanism.law(counts, prior or [1.0] * len(counts)).mean_distance()


def near(value: float | None, printed: float, share: float = 0.05) -> bool:
    return value is not None and abs(value - printed) <= share * printed


def falls(values: list[float]) -> bool:
    return all(b < a for a, b in pairwise(values))


def names_of_functions(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_each_claim_names_a_test_that_exists(claim: Claim) -> None:
    file, _, name = claim.test.partition("::")
    assert name in names_of_functions(ROOT / file)
    letter = claim.id.lower().replace("-", "_")
    assert name.startswith(f"test_{letter}_")


def test_each_piece_of_evidence_comes_from_a_notebook_of_the_book(
    tmp_path: Path,
) -> None:
    for claim in CLAIMS.values():
        for evidence in claim.evidence:
            assert (
                ROOT / "notebooks" / f"{evidence.partition('::')[0]}.ipynb"
            ).is_file(), evidence
    first = CLAIMS["A-C1"]
    assert len(without_evidence([first], tmp_path)) == len(first.evidence)


@pytest.mark.slow
def test_a_c1_wins_from_650_records() -> None:
    lap, sizes = (
        dp.mechanism("lapMech", 0.8),
        np.unique(np.geomspace(20, 3000, 25).astype(int)),
    )
    slipped = last_change(
        delta_mechanism(distance="l1", metric="published"),
        lap,
        TENTH,
        sizes,
        dp.hellinger_published,
    )
    l1 = last_change(delta_mechanism(distance="l1"), lap, TENTH, sizes)
    hamming = last_change(delta_mechanism(), lap, TENTH, sizes)
    assert (slipped, l1, hamming) == (645, 1405, 1645)
    ours = delta_mechanism(distance="l1", metric="published")
    every = dp.crossover(
        ours, lap, TENTH, FLAT, range(640, 670), dp.hellinger_published
    )
    assert every.changes == ((645, ours.name), (653, lap.name), (655, ours.name))
    # One record of five is a tenth, rounded: besides the three changes near the turn
    # there are two.
    every = dp.crossover(ours, lap, TENTH, FLAT, range(2, 676), dp.hellinger_published)
    assert [n for n, _ in every.changes if n < 615] == [5, 6]
    assert "in all" not in CLAIMS["A-C1"].finding
    check("A-C1", near(l1, 650), corrected=near(slipped, 650) and l1 is not None)


@pytest.mark.slow
def test_a_c2_wins_for_large_data() -> None:
    def errors(name: str, counts: list[int], epsilon: float = 0.8) -> list[float]:
        own = dp.mechanism("expMech-delta", epsilon, delta=1e-8, distance="l1")
        return [mean(own, counts), mean(dp.mechanism(name, epsilon), counts)]

    # Noise of scale 2/epsilon: lapMech for two categories, ilapMech for three.
    two = errors("lapMech", [1980, 17_820])
    three = errors("ilapMech", [4000, 6000, 10_000])
    assert two == pytest.approx([0.020418, 0.021203], abs=6e-7)
    assert three == pytest.approx([0.036082, 0.025556], abs=6e-7)
    over = [np.divide(*errors("ilapMech", [2000, 18_000], e)) for e in (0.8, 2.7)]
    assert over[0] > 1 > over[1]
    ahead = [ours < theirs for ours, theirs in (two, three)]
    check("A-C2", as_written=all(ahead), corrected=ahead[0])


@pytest.mark.slow
def test_a_c3_error_falls_with_size() -> None:
    ours, shares = delta_mechanism(distance="l1"), [0.2, 0.3, 0.5]
    figures = [
        ("lapMech", TENTH, range(300, 800, 10)),
        ("lapMech", TENTH, range(14_000, 20_000, 400)),
        ("ilapMech", shares, range(1000, 2001, 100)),
        ("ilapMech", shares, range(14_000, 20_001, 2000)),
    ]
    means = [
        dp.mean_distances(m, at, [1.0] * len(at), list(sizes))
        for name, at, sizes in figures
        for m in (ours, dp.mechanism(name, 0.8))
    ]
    rising = [mean(ours, dp.split(n, shares)) for n in (50, 120, 300)]
    assert rising[1] == max(rising) == pytest.approx(0.88768, abs=6e-6)
    check("A-C3", as_written=all(np.all(np.diff(values) < 0) for values in means))


@pytest.mark.slow
def test_a_c4_growing_prior_turns_the_order() -> None:
    pair = delta_mechanism(distance="l1"), dp.mechanism("ilapMech", 0.8)
    crossings = prior_crossings(*pair, [5, 5, 5], 0.5, 60.0)
    assert len(crossings) == 1
    prior = 3 * [crossings[0] - 0.5]
    check("A-C4", mean(pair[0], [5, 5, 5], prior) > mean(pair[1], [5, 5, 5], prior))


def counterexample() -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return delta(20) and the actual epsilon of A's mechanism, at 50 digits and from
    scratch.
    """
    with mpmath.workdps(50):
        n, a, epsilon, delta = (
            100,
            mpmath.mpf("1e-6"),
            mpmath.mpf(20),
            mpmath.mpf("1e-8"),
        )
        gamma = mpmath.log(1 - epsilon / (2 * mpmath.log(delta / (2 * (n + 1)))))
        whole = [mpmath.loggamma(a + x) for x in range(n + 1)]
        half = [mpmath.loggamma(a + mpmath.mpf(x) / 2) for x in range(2 * n + 1)]

        def distance(x: int, y: int) -> mpmath.mpf:
            log_bc = half[x + y] + half[2 * n - x - y]
            log_bc -= (whole[x] + whole[n - x] + whole[y] + whole[n - y]) / 2
            return mpmath.sqrt(-mpmath.expm1(log_bc)) if x != y else mpmath.mpf(0)

        local = [
            max(distance(x, y) for y in (x - 1, x + 1) if 0 <= y <= n)
            for x in range(n + 1)
        ]

        def law(x: int) -> list[mpmath.mpf]:
            # One replaced record is an l1 distance of 2.
            smooth = max(
                local[y] * mpmath.exp(-2 * gamma * abs(x - y)) for y in range(n + 1)
            )
            weights = [
                mpmath.exp(-epsilon * distance(x, y) / (2 * smooth))
                for y in range(n + 1)
            ]
            total = mpmath.fsum(weights)
            return [weight / total for weight in weights]

        p, q = law(98), law(97)
        factor = mpmath.exp(epsilon)
        excess = mpmath.fsum(
            max(s - factor * t, mpmath.mpf(0)) for s, t in zip(p, q, strict=True)
        )
        return excess, max(abs(mpmath.log(s / t)) for s, t in zip(p, q, strict=True))


def test_a_c5_theorem_with_l1_is_false() -> None:
    delta, epsilon = counterexample()
    assert float(delta) == pytest.approx(2.145e-8, rel=1e-3)
    assert float(epsilon) == pytest.approx(20.184, abs=5e-4)
    mechanism = dp.mechanism("expMech-delta", 20.0, delta=1e-8, distance="l1")
    audited = dp.audit(mechanism, 100, [1e-6, 1e-6])
    assert audited.epsilon == pytest.approx(float(epsilon), rel=1e-9)
    assert audited.delta(20.0) == pytest.approx(float(delta), rel=1e-6)
    check("A-C5", as_written=bool(delta <= 1e-8))


@pytest.mark.slow
def test_a_c5_hamming_theorem_with_replaced_records_is_false() -> None:
    mechanism = dp.mechanism("expMech-delta", 0.784, delta=1e-6)
    pair = enumerated_pair(mechanism, *corner_pair(178, 4), [0.02, 1e8, 1e8, 1e8])
    assert len(pair.outputs) == 971_970
    assert pair.delta(0.784) == pytest.approx(120.66e-6, rel=1e-4)
    check("A-C5-hamming", as_written=pair.delta(0.784) <= 1e-6)


@pytest.mark.slow
def test_a_c5_two_theorem_at_two_and_three_categories_is_open() -> None:
    # The settings of the kept search that come closest are audited again, with exact
    # distances.
    text = (
        resources.files("dpbayes")
        .joinpath("data", "theorem-search.csv")
        .read_text("utf-8")
    )
    blocks = [
        b for b in csv.DictReader(text.splitlines()) if b["distance"] == "hamming"
    ]
    refuted = False
    for k in (2, 3):
        rows = [b for b in blocks if b["k"] == str(k)]
        assert sum(int(b["settings"]) for b in rows) == 450_000
        assert sum(int(b["violations"]) for b in rows) == 0
        closest = sorted(rows, key=lambda b: float(b["delta_ratio"]))[-5:]
        for b in closest:
            epsilon, delta, prior, other = (
                float(b[name]) for name in ("epsilon", "delta", "prior", "other")
            )
            both = (prior, other) if other else prior
            ratio = Chain(k, int(b["n"]), epsilon, delta, both).audit().ratio
            assert ratio == pytest.approx(float(b["delta_ratio"]), rel=1e-3)
            refuted = refuted or ratio > 1.0
    # The search finds what is there: with four categories it met violations.
    assert sum(int(b["violations"]) for b in blocks if b["k"] == "4") > 1000
    # What is proved for every n is weaker than what is claimed, so nothing decides the
    # question.
    setting = dp.mechanism("expMech-delta", 20.0, delta=1e-8)
    proved = proved_guarantee(setting, 100, 2).epsilon <= 20.0
    check("A-C5-two", as_written=proved, undecided=not refuted and not proved)


def test_a_c6_large_data_and_four_categories_can_be_run() -> None:
    law = delta_mechanism(distance="l1").law([2500] * 4, [1.0] * 4)
    assert dp.number_of_candidates(10_000, 4) > 1e11
    mean_distance = law.mean_distance()
    can_be_run = 0.0 < mean_distance < 1.0 and mean_distance.error < 1e-6
    check_no_verdict("A-C6", can_be_run)


@pytest.mark.slow
def test_a_c7_actual_loss_is_below_epsilon() -> None:
    losses = [
        dp.audit(delta_mechanism(distance=d), n, [a, a]).epsilon
        for d in ("l1", "hamming") for n in (1, 5, 30, 200) for a in (1.0, 1e-6)
    ]  # fmt: skip
    # A's own sizes, and the growing prior of its Figure 3.
    l1 = delta_mechanism(distance="l1")
    losses.append(dp.audit(l1, 20_000, FLAT).epsilon)
    grown = [dp.audit(l1, 15, [a] * 3).epsilon for a in (1.0, 19.0)]
    assert grown[1] > max(losses)
    check("A-C7", as_written=max(losses + grown) < 0.8)


def test_a_fw1_formula_for_the_accuracy() -> None:
    errors = []
    for n in (20_000, 40_000):
        counts = dp.split(n, [0.3, 0.7])
        predicted = predict(delta_mechanism(), counts, FLAT)
        exact = delta_mechanism().law(counts, FLAT).mean_distance()
        errors.append(
            [exact / predicted.mean_distance - 1, exact / predicted.corrected - 1]
        )
    ratios = np.array(errors[0]) / np.array(errors[1])
    check_no_verdict("A-FW1", bool(np.allclose(ratios, [2.0, 4.0], rtol=0.02)))


@pytest.mark.slow
def test_a_fw2_less_noise_by_calibration() -> None:
    ours = delta_mechanism(distance="l1")
    tuned = dp.calibrate(ours, 300, FLAT, 0.8).mechanism
    assert dp.audit(ours, 300, FLAT).epsilon == pytest.approx(0.4173, abs=6e-5)
    errors = [mean(m, [30, 270]) for m in (ours, tuned)]
    assert errors == pytest.approx([0.6938, 0.3112], abs=6e-5)
    private = dp.audit(tuned, 300, FLAT).epsilon <= 0.8 + 1e-9
    check("A-FW2", as_written=private and errors[1] < errors[0])


def test_a_fw3_another_score_can_do_better() -> None:
    n, yardstick = 14, divergence_table("kl", 14, FLAT)
    errors = {}
    for score in ("hellinger", "squared-hellinger"):
        tuned = dp.calibrate(ScoredExponential(1.0, score, 1.0), n, FLAT, 1.0).mechanism
        laws = np.array(
            [tuned.law([x, n - x], FLAT).probabilities for x in range(n + 1)]
        )
        errors[score] = (laws * yardstick).sum(axis=1).mean()
    # In another setting a score by distance does come near the geometric mechanism, and
    # passes it.
    few = dp.calibrate(
        dp.mechanism("expMech-smooth", 0.05, gamma=0.3), 4, FLAT, 0.05
    ).mechanism
    assert mean(few, [2, 2]) < mean(dp.mechanism("geometric", 0.05), [2, 2])
    check_no_verdict("A-FW3", errors["squared-hellinger"] < errors["hellinger"])


def draft_pair() -> tuple[dp.Mechanism, dp.Mechanism]:
    own = dp.mechanism("expMech-delta", 0.8, delta=5e-4)
    return own, dp.mechanism("lapMech", 0.8, sensitivity=2.0)


def first_lost(k: int) -> int:
    own, other = draft_pair()
    return next(
        k * s for s in range(1, 20) if mean(own, [s] * k) > mean(other, [s] * k)
    )


def test_b_c1_wins_below_12_and_15_records() -> None:
    check("B-C1", as_written=(first_lost(2), first_lost(3)) == (12, 15))
    # Where the records do not divide evenly it loses earlier.
    nearly = {
        k: dp.crossover(*draft_pair(), [1 / k] * k, [1.0] * k, range(2, 25)).changes
        for k in (2, 3)
    }
    assert {k: [n for n, _ in changes] for k, changes in nearly.items()} == {
        2: [11],
        3: [13],
    }


def test_b_c2_dimensions_hardly_matter() -> None:
    lost = [first_lost(k) for k in (2, 3, 4)]
    means = [[mean(m, [3] * k) for m in draft_pair()] for k in (2, 3, 4)]
    both_grow = all(
        later > earlier
        for one in zip(*means, strict=True)
        for earlier, later in pairwise(one)
    )
    check("B-C2", as_written=both_grow and max(lost) - min(lost) <= 4)


def test_b_c3_wins_on_uniform_data() -> None:
    pair = draft_pair()
    errors = np.array([[mean(m, [x, 8 - x]) for m in pair] for x in range(9)])
    assert errors[4] == pytest.approx([0.3907, 0.4413], abs=6e-5)
    assert errors[0] == pytest.approx([0.5698, 0.2114], abs=6e-5)
    won = np.flatnonzero(errors[:, 0] < errors[:, 1])
    assert won.tolist() == [3, 4, 5, 6]
    # The four are the most even ones, as far as there can be four of nine.
    check("B-C3", as_written=bool(abs(won - 4).max() <= 2))
    small, odd, larger = (count_crossings(*pair, n, FLAT) for n in (10, 11, 12))
    assert [who for _, who in small] == ["lapMech", "expMech-delta", "lapMech"]
    assert [who for _, who in odd] == ["lapMech"]
    assert all(who == "lapMech" for _, who in larger)


@pytest.mark.slow
def test_b_c4_larger_priors_favour_the_distance() -> None:
    own, other = (
        dp.mechanism("expMech-delta", 0.8, delta=5e-4),
        dp.mechanism("ilapMech", 0.8),
    )
    crossings = prior_crossings(own, other, [5] * 3, 0.5, 80.0)
    assert crossings == pytest.approx([4.0135], abs=6e-5)
    better = [mean(own, [5] * 3, [float(a)] * 3) for a in (1, 2, 4, 8, 19)]
    first = mean(own, [5] * 3), mean(other, [5] * 3)
    check("B-C4", as_written=falls(better) and first[0] > first[1])
    # On thirty records it never wins; the ratio tends to 1.083.
    strongest = np.geomspace(1e-3, 1e6, 19)
    thirty = [[mean(m, [10] * 3, [a] * 3) for a in strongest] for m in (own, other)]
    assert min(np.divide(*thirty)) > 1.08
    last = [mean(m, [10] * 3, [76.0] * 3) for m in (own, other)]
    assert last == pytest.approx([0.2397, 0.2102], abs=6e-5)


def test_b_c5_axial_symmetry_is_false() -> None:
    law = dp.mechanism("expMech-delta", 0.8, delta=5e-4).law([3, 7], FLAT)
    halves = [
        np.isclose(p, 0.5 * law.probabilities[np.isclose(law.distances, d)].sum())
        for p, d in zip(law.probabilities, law.distances, strict=True)
        if d > 0
    ]
    balanced = score_law(delta_mechanism(), [5, 5], FLAT)
    assert np.all(balanced.outputs[1:] == 2)
    check("B-C5", as_written=all(halves))


def test_b_m3_one_sided_noise_is_not_private() -> None:
    draft = dp.audit(dp.mechanism("draft-laplace", 0.8), 10, FLAT)
    meant = dp.audit(dp.mechanism("lapMech", 0.8, sensitivity=2.0), 10, FLAT)
    assert meant.epsilon <= 0.8
    check("B-M3", as_written=bool(np.isfinite(draft.epsilon)))


SMALL = [
    ([x, n - x], prior, epsilon)
    for n in (2, 5, 8)
    for x in range(n + 1)
    for prior in (FLAT, [0.001, 0.7])
    for epsilon in (0.1, 0.8, 3.0)
]


@pytest.fixture(scope="module")
def small_scores() -> list[object]:
    return [
        score_law(dp.mechanism("expMech-delta", e, delta=1e-6), x, a)
        for x, a, e in SMALL
    ]


@pytest.mark.slow
def test_c_l1_sliding_lemma(small_scores: list[object]) -> None:
    holds = {
        r: all(sliding(s, r).holds for s in small_scores)
        for r in ("printed", "formula")
    }
    check("C-L1", as_written=holds["printed"], corrected=holds["formula"])


@pytest.mark.slow
def test_c_l2_dilation_lemma(small_scores: list[object]) -> None:
    holds = {
        r: all(dilation(s, r).holds for s in small_scores)
        for r in ("printed", "formula")
    }
    three = score_law(
        dp.mechanism("expMech-delta", 4.3, delta=1e-8), [30, 34, 36], [1.0] * 3
    )
    assert three.tail > 9 * 0.5e-8
    check("C-L2", as_written=holds["printed"], corrected=holds["formula"])


def test_c_f1_local_sensitivity_at_the_truth() -> None:
    attained = []
    for x in ([7, 3], [0, 9], [4, 3, 2], [6, 1, 0]):
        outputs = 1.0 + dp.compositions(sum(x), len(x))
        scores = [
            dp.hellinger(1.0 + np.array(y), outputs)
            for y in [x, *dp.neighbours(x).tolist()]
        ]
        changes = np.max([np.abs(score - scores[0]) for score in scores[1:]], axis=0)
        attained.append(
            np.isclose(changes.max(), changes[np.argmin(scores[0])], rtol=1e-12)
        )
    check("C-F1", as_written=all(attained))


def test_d_c1_smooth_wins_for_large_data_is_false() -> None:
    smooth, delta = (
        dp.mechanism("expMech-smooth", 1.0),
        dp.mechanism("expMech-delta", 1.0, delta=1e-8),
    )
    lap, ilap = dp.mechanism("lapMech", 1.0), dp.mechanism("ilapMech", 1.0)
    over = {
        n: [mean(m, [n // 2] * 2) / mean(lap, [n // 2] * 2) for m in (smooth, delta)]
        for n in (300, 500)
    }
    assert over[300] == pytest.approx([2.7022, 0.9748], abs=6e-5)
    assert over[500] == pytest.approx([2.3170, 0.9584], abs=6e-5)
    ratio = mean(smooth, [200_000] * 2) / mean(ilap, [200_000] * 2)
    assert ratio == pytest.approx(3.66, abs=0.02)
    for size, epsilon in ((7, 1.0), (100, 0.05)):
        pair = (dp.mechanism(name, epsilon) for name in ("expMech-smooth", "lapMech"))
        sizes = np.array([size, size + 2, 4 * size])
        ours, theirs = (dp.mean_distances(m, HALF, FLAT, sizes) for m in pair)
        assert (ours < theirs).tolist() == [True, False, False]
    # Beyond epsilon = 1 the product n epsilon does not say where the lead ends: it is
    # 20 here.
    assert mean(dp.mechanism("expMech-smooth", 5.0), [2, 2]) < mean(
        dp.mechanism("lapMech", 5.0), [2, 2]
    )
    ahead = max(ours for ours, _ in over.values()) < 1.0
    check("D-C1", as_written=ahead and near(ratio, 1.0, 0.1))


@pytest.mark.slow
def test_d_c2_smooth_is_private() -> None:
    settings = [
        (e, n, a)
        for e in (0.5, 1.0, 5.0)
        for n in (1, 6, 25)
        for a in (FLAT, [1e-3, 4.0])
    ]
    audits = [
        dp.audit(dp.mechanism("expMech-smooth", e), n, a).epsilon / e
        for e, n, a in settings
    ]
    check("D-C2", as_written=max(audits) <= 1.0 + 1e-12)


@pytest.mark.slow
def test_d_c3_local_is_not_private() -> None:
    local = dp.mechanism("expMech-local", 1.0)
    private = all(dp.audit(local, n, [0.02, 0.02]).epsilon <= 1.0 for n in (5, 25, 100))
    check("D-C3", as_written=not private)


def test_d_c4_laplace_steps_do_not_depend_on_size_or_prior() -> None:
    lap = dp.mechanism("lapMech", 1.0)
    formula = dp.laplace_step_probability([-1, 0, 1, 2], 1.0, 2.0)
    laws = [(x, n, lap.law([x, n - x], [a, 2 * a]))
            for x, n in ((20, 40), (300, 1000)) for a in (0.3, 7.0)]  # fmt: skip
    inside = [
        [law.probability([x + t, n - x - t]) for t in (-1, 0, 1, 2)]
        for x, n, law in laws
    ]
    edge = lap.law([1, 39], FLAT).probability([0, 40])
    check("D-C4", as_written=bool(np.isclose(edge, formula[0])),
          corrected=bool(np.allclose(inside, formula, atol=1e-12)))  # fmt: skip


@pytest.mark.slow
def test_d_c5_distance_can_beat_counts() -> None:
    few = [mean(dp.mechanism(m, 1.0), [3, 3]) for m in ("expMech-smooth", "lapMech")]
    many = [
        mean(m, [250, 250])
        for m in (
            dp.mechanism("expMech-delta", 1.0, delta=1e-8),
            dp.mechanism("lapMech", 1.0),
        )
    ]
    assert many[0] / many[1] == pytest.approx(0.9584, abs=6e-5)
    check("D-C5", as_written=few[0] < few[1] or many[0] < many[1])
    # Calibrated to its actual loss, D's mechanism beats ilapMech on balanced data.
    counts, n = [150, 150], 300
    ilap, geometric = (
        mean(dp.mechanism(name, 1.0), counts) for name in ("ilapMech", "geometric")
    )
    tuned = mean(
        dp.calibrate(
            dp.mechanism("expMech-smooth", 1.0, gamma=0.2), n, FLAT, 1.0
        ).mechanism,
        counts,
    )
    assert geometric < tuned < ilap
    # Not on balanced data of every size: on forty records it loses to the same rival.
    fewer = dp.calibrate(
        dp.mechanism("expMech-smooth", 1.0, gamma=0.2), 40, FLAT, 1.0
    ).mechanism
    assert mean(fewer, [20, 20]) > mean(dp.mechanism("ilapMech", 1.0), [20, 20])
    over_all = [
        np.mean([mean(m, [x, 60 - x]) for x in range(61)])
        for m in (
            dp.calibrate(
                dp.mechanism("expMech-smooth", 1.0, gamma=0.3), 60, FLAT, 1.0
            ).mechanism,
            dp.mechanism("ilapMech", 1.0),
        )
    ]
    assert over_all[0] > over_all[1]


def test_e_c1_sensitivity_is_the_largest_coefficient() -> None:
    row = [[1.0, 1.0, -1.0]]
    scales = query_history.laplace_scales(row, [0.1])
    added = tables.cost_of_scales(row, scales)
    replaced = tables.cost_of_scales(row, scales, "replace-one")
    assert replaced == pytest.approx(
        0.2
    )  # but E's neighbours, by its footnote 4, are the others
    check("E-C1", as_written=added <= 0.1 + 1e-12)


def test_e_c2_blue_has_the_smallest_variance() -> None:
    example = worked_example()
    best = tables.blue(example.H, example.scales, example.q)
    rng = np.random.default_rng(5)
    null = np.linalg.svd(example.H.T)[2][np.linalg.matrix_rank(example.H) :]
    others = best.weights + rng.normal(size=(50, len(null))) @ null
    variances = 2.0 * (others**2 @ np.asarray(example.scales) ** 2)
    check("E-C2", as_written=bool(np.all(variances >= best.variance - 1e-9)))


@pytest.mark.slow
def test_e_c3_monte_carlo_error() -> None:
    rng = np.random.default_rng(6)
    p = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    draws = 500
    errors = [
        ((np.bincount(rng.choice(5, draws, p=p), minlength=5) / draws - p) ** 2).sum()
        for _ in range(4000)
    ]
    expected = (1 - (p**2).sum()) / draws
    check("E-C3", as_written=abs(np.mean(errors) / expected - 1) < 0.1)


def test_e_c4_probability_calculation_error_matters() -> None:
    example = worked_example()
    weights = tables.blue(example.H, example.scales, example.q).noise_weights
    vector = mass_vectors.pmf_probability_calculation(weights, 1e-4).masses
    exact = mass_vectors.exact_masses(tables.NoiseLaw(weights)).masses
    half = (exact.size - vector.size) // 2
    missed = (
        0.5 * np.abs(np.pad(vector, max(half, 0)) - np.pad(exact, max(-half, 0))).sum()
    )
    assert missed == pytest.approx(0.00053, abs=6e-6)
    vector = mass_vectors.pmf_probability_calculation(np.full(1000, 0.1), 0.01)
    masses = np.asarray(vector.masses)
    at = np.arange(masses.size) - masses.size // 2
    reported = np.sqrt((at**2 @ masses) / masses.sum())
    assert reported == pytest.approx(2.596, abs=6e-4)
    everywhere = near(reported, np.sqrt(2 * 1000 * 0.01))
    check("E-C4", as_written=everywhere, corrected=missed < 0.001)


def test_e_c5_interval_has_an_odd_number_of_cells() -> None:
    vector = mass_vectors.pmf_probability_calculation([3.0, 4.0], 0.01)
    interval = mass_vectors.credible_interval(vector, 0.1)
    masses = np.asarray(vector.masses)
    middle = masses.size // 2
    inside = masses[middle - interval.steps : middle + interval.steps + 1]
    shorter = inside[1:-1].sum()
    assert inside.size == 2 * interval.steps + 1
    with pytest.raises(ValueError, match="mass"):
        mass_vectors.credible_interval(vector, 0.5 * vector.lost)
    check("E-C5", as_written=False, corrected=bool(inside.sum() >= 0.9 > shorter))


def test_e_c6_interval_is_not_the_posterior() -> None:
    half = tables.NoiseLaw([0.5, 0.5]).half_width(0.05)
    mass = posterior_one_unknown([-3, 3], [1, 1]).mass(-half, half)
    # The posterior of two answers is proportional to exp(-|t + 3| - |t - 3|): flat
    # between them.
    t = np.linspace(-40, 40, 800_001)
    density = np.exp(-np.abs(t + 3) - np.abs(t - 3))
    assert mass == pytest.approx(
        density[np.abs(t) <= half].sum() / density.sum(), abs=1e-4
    )
    assert mass == pytest.approx(0.588, abs=6e-4)
    # Given the mean of the answers alone, a flat prior leaves the law of its error,
    # here by convolution.
    error = 0.5 * np.random.default_rng(8).laplace(size=(2, 400_000)).sum(axis=0)
    given_estimate = float(np.mean(np.abs(error) <= half))
    check(
        "E-C6", as_written=near(mass, 0.95), corrected=near(given_estimate, 0.95, 0.002)
    )


def test_e_c7_history_saves_budget() -> None:
    example = worked_example()
    weights = tables.blue(example.H, example.scales, example.q).noise_weights
    costs = (
        tables.allocation(weights, 1.0, 40.0, 0.05).alpha,
        tables.budget(1.0, 40.0, 0.05),
    )
    assert costs == pytest.approx((0.1103, 0.1498), abs=6e-5)
    assert all(
        tables.allocation(weights, 1.0, L, 0.05).alpha < tables.budget(1.0, L, 0.05)
        for L in (20.0, 60.0)
    )

    # One earlier answer, so many times as noisy as a fresh one at the direct budget.
    def share(ratio: float, delta: float) -> float:
        length = -2 * float(np.log(delta))
        bought = tables.allocation([ratio], 1.0, length, delta).alpha
        return bought / tables.budget(1.0, length, delta)

    shares = {
        delta: [share(ratio, delta) for ratio in (0.5, 1.0, 2.0, 5.57, 20.0)]
        for delta in (0.001, 0.05, 0.3, 0.36, 0.4, 0.8)
    }
    saves = {delta: max(each) < 1 - 1e-9 for delta, each in shares.items()}
    never_dearer = max(max(each) for each in shares.values()) <= 1.0
    assert all(saves[delta] for delta in saves if delta <= 0.36)
    assert not all(saves.values())
    check("E-C7", as_written=never_dearer and costs[0] < costs[1])


@pytest.mark.slow
def test_e_c8_smallest_budget_is_myopic() -> None:
    asked = query_history.random_ranges((32,), 130, np.random.default_rng(2))
    shares = {
        spending: [
            query_history.stream(
                asked, 40.0, 0.05, bound, tables.Policy(spending=spending)
            ).answered[-1]
            for bound in (1.0, 2.0, 3.0)
        ]
        for spending in ("smallest", "direct")
    }
    gap = np.asarray(shares["smallest"]) - np.asarray(shares["direct"])
    check("E-C8", as_written=bool(np.all(gap >= 0)), corrected=bool(np.any(gap >= 0)))
