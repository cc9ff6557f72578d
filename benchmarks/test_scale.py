"""Times of exact laws, sampling and sensitivities, of enumeration and of another library.

`make bench` runs them in one go and writes `book/scale/timings.csv`, one of the tables of the book
whose numbers differ from run to run. A time is a record, not a test: each stands beside the target
it was built for and as a multiple of a plain loop over a million candidates in the same run.
Times are those of one core, so that other work on the machine does not count.
"""

import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from dpbayes.laws.series.candidate_sums import forget
from dpbayes.study.cost_of_series import series_law, uneven

import dpbayes as dp
from benchmarks.kept import keep
from dpbayes.divergences import affinity_of_counts
from dpbayes.laws.estimate import DRAWS, looked_up_distances

TABLE = Path(__file__).parents[1] / "book" / "scale" / "timings.csv"
COLUMNS = (
    "task",
    "k",
    "n",
    "log10 candidates",
    "seconds of one core",
    "plain loops",
    "target",
    "peak MB",
)
ROWS: list[tuple[object, ...]] = []

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.fixture(scope="module")
def enumeration() -> float:
    """Seconds of one core that a plain loop takes for the mean over a million candidates.

    It holds one row at a time, keeps nothing and checks nothing: the fastest way to the mean of
    three categories that numpy allows, and the yardstick of the column "plain loops".
    """
    counts, n = uneven(1412, 3), 1412
    rate = dp.mechanism("expMech-smooth", 1.0).rate(counts, np.ones(3))

    def once() -> float:
        start = time.process_time()
        first, second, third = (affinity_of_counts(1.0, int(x), np.arange(n + 1)) for x in counts)
        total, mean = 0.0, 0.0
        for i in range(n + 1):
            logs = first[i] + second[: n - i + 1] + third[n - i :: -1]
            distances = np.sqrt(-np.expm1(np.minimum(logs, 0.0)))
            weights = np.exp(-rate * distances)
            total, mean = total + float(weights.sum()), mean + float(weights @ distances)
        assert 0.0 < mean / total < 1.0
        return time.process_time() - start

    return median(once() for _ in range(5))


@pytest.fixture(scope="module", autouse=True)
def table(request):
    """Write the rows at the end; those of benchmarks that did not run stay as they were."""
    yield
    config = request.config
    some = config.getoption("keyword") or any("::" in name for name in config.args)
    keep(TABLE, COLUMNS, ROWS, len(("task", "k", "n")), whole=not some)


@pytest.fixture
def timed(benchmark, enumeration):
    """Return the function that times an action five times and keeps a row of the table."""
    return partial(measured, benchmark, enumeration)


def measured(
    benchmark,
    enumeration: float,
    task: str,
    n: int,
    k: int,
    target: float,
    action: Callable[[], object],
):
    """Return the value of `action` and keep its median time beside target and enumeration.

    Sums that a round has kept are dropped before the next: each law is one of new data.
    """
    result = benchmark.pedantic(action, setup=forget, rounds=5, warmup_rounds=1)
    seconds = median(benchmark.stats.stats.data)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    size = np.log1p(n / np.arange(1.0, k)).sum() / np.log(10.0)
    ratio = f"{seconds / enumeration:.3g}"
    benchmark.extra_info.update({"plain loops": ratio, "target": target})
    ROWS.append((task, k, n, f"{size:.1f}", f"{seconds:.4f}", ratio, target, peak))
    return result


MEANS = [(4, 10**4, 1.0), (10, 10**6, 4.0), (50, 10**6, 20.0), (2, 10**9, 0.1)]


@pytest.mark.parametrize(("k", "n", "target"), MEANS)
@pytest.mark.parametrize("name", ["expMech-smooth", "ilapMech"])
def test_mean_distance(timed, name, k, n, target):
    counts, prior, mechanism = uneven(n, k), np.ones(k), dp.mechanism(name, 1.0)
    task = f"mean distance, {name}"
    mean = timed(task, n, k, target, lambda: mechanism.law(counts, prior).mean_distance())
    assert 0.0 < mean <= 1.0


CLAMPED = [
    ("lattice", [10] * 10, 1.0, 1.0),
    ("lattice", [10] * 10, 0.5, 5.0),
    ("lattice", [10] * 10, 0.3, 10.0),
    ("lattice", [10] * 10, 0.1, 10.0),
    ("lattice", [0, 0, 7, 93], 1.0, 5.0),
    ("lattice", [0, 0, 7, 93], 0.2, 5.0),
    ("lattice", [2] * 50, 1.0, 5.0),
    ("lattice", [5000, 2500, 1250, 625, 312, 156, 78, 39, 20, 20], 1.0, 5.0),
    ("lattice", [5000, 2500, 1250, 625, 312, 156, 78, 39, 20, 20], 0.1, 10.0),
    ("lattice", [5000, 2500, 1250, 625, 312, 156, 78, 39, 20, 20], 0.02, 10.0),
    ("lattice", list(range(50)), 0.1, 10.0),
    ("lattice", [100_000, 0, 0, 3, 50, 1000], 0.2, 10.0),
    ("lattice", [100_000, 0, 0, 3, 50, 1000], 0.05, 10.0),
    ("lattice", [100_000, 0, 0, 3, 50, 1000], 0.01, 10.0),
    ("lattice", [100_000, 0, 0, 3, 50, 1000], 0.0005, 10.0),
    ("lattice", [50, 3, 0, 0, 2], 0.000001, 10.0),
    ("lattice", [1] + [0] * 49, 0.001, 10.0),
    ("lattice", [53, 25, 12, 6, 4], 0.1, 10.0),
    ("lattice", [6000, 4000, 0, 0, 0], 0.1, 10.0),
    ("lattice", [10**6, 0, 0, 0, 0], 0.01, 10.0),
    ("lattice", [600_000_000, 400_000_000] + [0] * 18, 0.01, 10.0),
    ("lattice", [10**9] + [0] * 49, 0.01, 10.0),
    ("lattice", [10**6 // i for i in range(1, 26)] + [0] * 25, 0.1, 10.0),
    ("lattice", [58, 0, 0, 19, 12, 72, 4, 13, 19, 0, 0, 83, 6, 4, 0, 84, 0, 0, 26, 3], 0.3, 10.0),
    ("lattice", [10**8 // 2**i for i in range(1, 11)], 0.001, 10.0),
    ("lattice", [11_019, 7309, 1560, 302], 0.02, 5.0),
    ("lattice", [0, 392, 2277, 3662], 0.05, 10.0),
    ("lattice", [32_454, 21, 46_631, 0], 0.001, 10.0),
    ("lattice", [1_999_990, 10, 0, 0], 0.0001, 10.0),
    ("lattice", [1_999_990, 10, 0], 0.0001, 5.0),
    ("lattice", [999_999_990, 10, 0], 0.001, 5.0),
    ("lapMech", [3_000_000, 2_000_000], 0.000001, 5.0),
    ("lapMech", [10] * 10, 1.0, 1.0),
    ("lapMech", [5000, 2500, 1250, 625, 312, 156, 78, 39, 20, 20], 1.0, 5.0),
    ("lapMech", [67_000 + 7_000 * i for i in range(10)], 0.001, 10.0),
    ("lapMech", [10**6, 10**6, 0], 0.1, 5.0),
    ("lapMech", [10**6, 10**6, 0], 0.01, 5.0),
    ("lapMech", [10**6, 10**6, 0], 0.001, 5.0),
    ("lapMech", [10**5, 5 * 10**4, 0], 0.001, 5.0),
    ("lapMech", [1_999_990, 10, 0], 0.0001, 5.0),
    ("lapMech", [10**6 // 2**i for i in range(1, 35)] + [0], 1.41, 5.0),
    ("lapMech", [600_000_000, 400_000_000] + [0] * 18, 0.01, 10.0),
    ("lapMech", [10**9 // i for i in range(1, 26)] + [0] * 25, 0.01, 10.0),
    ("ilapMech", [999_000, 500, 300, 100, 50, 25, 12, 6, 7, 0], 0.05, 5.0),
]


@pytest.mark.parametrize(("name", "counts", "epsilon", "target"), CLAMPED)
def test_mean_distance_where_noise_is_clamped(timed, name, counts, epsilon, target):
    mechanism, k = dp.mechanism(name, epsilon), len(counts)
    task = f"mean distance, {name}, clamped, epsilon {epsilon:g}"

    def mean() -> float:
        return mechanism.law(counts, np.ones(k)).mean_distance()

    found = timed(task, sum(counts), k, target, mean)
    assert found.how in ("series", "sum", "quadrature")
    assert found.error < 1e-9


def test_mean_distance_where_nothing_is_clamped(timed):
    shares = 1.0 / np.arange(1.0, 51.0)
    counts = np.floor(10**9 * shares / shares.sum()).astype(np.int64)
    law = dp.mechanism("lattice", 0.01).law(counts, np.ones(50))
    task = "mean distance, lattice, epsilon 0.01"
    found = timed(task, int(counts.sum()), 50, 10.0, law.mean_distance)
    assert found.how == "series"
    assert found.error < 1e-9


OUTPUTS = [([0, 0, 0, 0, 22, 1, 25, 0, 11, 0], 0.01), ([64_362] + [0] * 49, 0.000001)]


@pytest.mark.parametrize(("counts", "epsilon"), OUTPUTS)
def test_one_output_where_noise_is_clamped(timed, counts, epsilon):
    mechanism, k = dp.mechanism("lattice", epsilon), len(counts)
    task = f"probability of the data, lattice, clamped, epsilon {epsilon:g}"

    def probability() -> float:
        return mechanism.law(counts, np.ones(k)).probability(counts)

    found = timed(task, sum(counts), k, 1.0, probability)
    assert found.how == "series"
    assert found.error < 1e-11 * found


@pytest.mark.parametrize("k", [50, 200])
def test_distances_of_draws_by_look_up(timed, k):
    law = dp.mechanism("ilapMech", 1.0).law([10**6 // k] * k, np.ones(k))
    draws = law.sample(np.random.default_rng(0), DRAWS)
    task = "distances of 200 000 draws"
    found = timed(task, 10**6, k, 0.1, lambda: looked_up_distances(law, draws, "hellinger"))
    assert found.shape == (DRAWS,)


LARGE = [(50, 10**9, 10.0), (200, 10**9, 1.0), (1000, 10**6, 1.0)]


@pytest.mark.parametrize(("k", "n", "epsilon"), LARGE)
def test_means_that_were_refused(timed, k, n, epsilon):
    mechanism, counts = dp.mechanism("expMech-smooth", epsilon), [n // k] * k
    task = f"mean distance, expMech-smooth, equal shares, epsilon {epsilon:g}"
    mean = timed(task, n, k, 5.0, lambda: mechanism.law(counts, np.ones(k)).mean_distance())
    assert mean.error < 1e-9


@pytest.mark.parametrize(("k", "epsilon"), [(50, 1.0), (50, 10.0), (200, 1.0)])
def test_means_at_halving_shares(timed, k, epsilon):
    shares = 0.5 ** np.minimum(np.arange(1.0, k + 1), k - 1)
    counts = np.floor(10**9 * shares).astype(np.int64)
    counts[0] += 10**9 - counts.sum()
    mechanism = dp.mechanism("expMech-smooth", epsilon)
    task = f"mean distance, expMech-smooth, halving shares, epsilon {epsilon:g}"
    mean = timed(task, 10**9, k, 5.0, lambda: mechanism.law(counts, np.ones(k)).mean_distance())
    assert mean.error < 1e-9


def test_ten_thousand_samples(timed):
    counts, mechanism = uneven(10**4, 4), dp.mechanism("expMech-smooth", 1.0)
    rng = np.random.default_rng(0)
    draws = timed(
        "10 000 exact samples, law included",
        10**4,
        4,
        5.0,
        lambda: mechanism.law(counts, np.ones(4)).sample(rng, 10_000),
    )
    assert draws.shape == (10_000, 4)


def test_a_million_samples_of_two_categories(timed):
    law = dp.mechanism("expMech-smooth", 1.0).law([4000, 6000], [1.0, 1.0])
    rng = np.random.default_rng(0)
    task = "1 000 000 samples"
    draws = timed(task, 10**4, 2, 1.0, lambda: law.sample(rng, 10**6))
    assert draws.shape == (10**6, 2)


TWO = ["lapMech", "ilapMech", "geometric", "expMech", "expMech-smooth", "expMech-delta"]


@pytest.mark.parametrize("name", TWO)
def test_full_law_of_two_categories(timed, name):
    mechanism = dp.mechanism(name, 1.0)

    def law() -> np.ndarray:
        return mechanism.law([4000, 6000], [1.0, 1.0]).probabilities

    assert timed(f"full law, {name}", 10**4, 2, 0.01, law).size == 10_001


def test_full_law_of_three_categories(timed):
    mechanism = dp.mechanism("expMech-smooth", 1.0)

    def law() -> np.ndarray:
        return mechanism.law([120, 80, 100], [1.0] * 3).probabilities

    assert timed("full law, expMech-smooth", 300, 3, 0.05, law).size == 45_451


def test_sensitivities_in_closed_form(timed):
    counts, prior = uneven(10**6, 3), np.ones(3)

    def three() -> float:
        smooth, local = dp.smooth_sensitivity(counts, prior), dp.local_sensitivity(counts, prior)
        return smooth.value + local.value + dp.global_sensitivity(10**6, prior).value

    assert timed("local, global and smooth sensitivity", 10**6, 3, 0.05, three) > 0


@pytest.mark.parametrize(("n", "k"), [(100, 3), (440, 3), (1412, 3)])
@pytest.mark.parametrize("way", ["enumeration", "series"])
def test_the_same_mean_by_enumeration_and_by_series(timed, way, n, k):
    counts, prior, mechanism = uneven(n, k), np.ones(k), dp.mechanism("expMech-smooth", 1.0)
    build = mechanism.enumerated if way == "enumeration" else partial(series_law, mechanism)

    def mean() -> float:
        return build(counts, prior).mean_distance()

    timed(f"mean distance by {way}", n, k, 5.0, mean)


@pytest.mark.parametrize("candidates", [10**4, 10**5, 10**6])
def test_one_selection_by_opendp(timed, candidates):
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False))
    select = opendp.m.make_noisy_max(
        space, opendp.linf_distance(T=float), opendp.max_divergence(), scale=1.0
    )
    scores = np.random.default_rng(0).random(candidates).tolist()
    task = "one selection, OpenDP noisy max"
    assert 0 <= timed(task, candidates - 1, 2, 60.0, lambda: select(scores)) < candidates
