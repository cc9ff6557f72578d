"""Times of the query system, each beside its target and, as a ratio, against the plain way.

Times are those of one core, so that other work on the machine does not count. The five ways to the
law of the noise are recorded in `dpbayes/queries/data/running-times.csv`, which a page of the book
draws: the book itself measures nothing, so that it builds the same everywhere.
"""

from __future__ import annotations

import csv
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.cost import no_cost
from dpbayes.queries.decision import State, decide, empty_state
from dpbayes.queries.factor import factor_of
from dpbayes.queries.grid import as_float, on_grid
from dpbayes.study.query_experiments import running_times

pytestmark = pytest.mark.benchmark(timer=time.process_time)

RECORDED = Path(queries.__file__).with_name("data") / "running-times.csv"
QUESTIONS = 10_000
WEIGHTS = np.random.default_rng(0).uniform(1.0, 10.0, 1000)


def seconds(
    benchmark, rounds: int, action: Callable[[], object], target: float | None = None
) -> float:
    """Return the smallest time of one core, in seconds, and record its share of the target."""
    benchmark.pedantic(action, rounds=rounds, warmup_rounds=1)
    if target is not None:
        benchmark.extra_info["share of target"] = benchmark.stats.stats.min / target
    return benchmark.stats.stats.min


def plain(action: Callable[[], object]) -> float:
    """Return the time of one core of the way that is compared with, in seconds."""
    start = time.process_time()
    action()
    return time.process_time() - start


def test_exact_tail_of_a_thousand_answers(benchmark):
    law = queries.NoiseLaw(WEIGHTS)
    x = 3.0 * law.standard_deviation
    seconds(benchmark, 5, lambda: law.tail(x), 0.030)


def test_exact_tail_against_partial_fractions_in_high_precision(benchmark):
    w = WEIGHTS[:60]

    def partial_fractions() -> None:
        with mpmath.workdps(200):
            squares = [mpmath.mpf(float(v)) ** 2 for v in w]
            for i, a in enumerate(squares):
                mpmath.fprod(a / (a - b) for j, b in enumerate(squares) if j != i)

    ours = seconds(benchmark, 5, lambda: queries.NoiseLaw(w).tail(40.0))
    benchmark.extra_info["times faster"] = plain(partial_fractions) / ours


def test_whole_law_by_one_transform(benchmark):
    seconds(benchmark, 3, lambda: queries.exact_masses(queries.NoiseLaw(WEIGHTS)), 0.5)


def test_algorithm_2_by_a_tree_against_direct_convolution(benchmark):
    tree = seconds(benchmark, 5, lambda: queries.pmf_probability_calculation(WEIGHTS, 0.01))
    direct = plain(lambda: queries.pmf_probability_calculation(WEIGHTS, 0.01, "shortest-first"))
    benchmark.extra_info["times faster"] = direct / tree


def test_blue_of_1024_cells_and_2048_answers(benchmark):
    rng = np.random.default_rng(1)
    H = queries.random_ranges((32, 32), 2048, rng)
    b, q = rng.uniform(1.0, 50.0, 2048), rng.normal(size=2048) @ H
    seconds(benchmark, 2, lambda: queries.blue(H, b, q), 1.0)


@pytest.mark.parametrize("shape", [(1000, 1000), (10**6,)])
def test_a_million_cells_and_five_thousand_boxes(benchmark, shape):
    rng = np.random.default_rng(5)
    ends = np.sort(
        np.stack([[rng.choice(side + 1, 2, replace=False) for side in shape] for _ in range(5000)]),
        axis=2,
    )
    history = queries.Boxes(shape, ends[:, :, 0], ends[:, :, 1])
    targets = queries.Boxes(shape, history.low[:4], history.high[:4])
    b = rng.uniform(1.0, 50.0, 5000)
    seconds(benchmark, 1, lambda: queries.blue_of_boxes(history, b, targets), 10.0)
    found = queries.blue_of_boxes(history, b, targets)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    benchmark.extra_info.update({"residual": float(found.residuals.max()), "peak MB": peak})
    assert found.blue.estimable.all()


@pytest.fixture(scope="module")
def long_history() -> tuple[object, np.ndarray]:
    rng = np.random.default_rng(2)
    H = queries.random_ranges((32, 32), 501, rng)
    state = empty_state(1024, "add-remove")
    for row in H[:500]:
        state = state.after(row, float(rng.uniform(5.0, 50.0)), 0.0, "add-remove")
    return state, H


@pytest.mark.parametrize("kind", ["estimable", "new"])
def test_a_decision_after_500_answers(benchmark, long_history, kind):
    state, H = long_history
    q = on_grid(H[3] if kind == "estimable" else H[500], 1024)
    L = 10.0 if kind == "estimable" else 40.0

    def decision() -> object:
        found = decide(state, q, L, 0.05, 1e6, queries.Policy())
        return state.after(q, as_float(found.scale_units), 0.0, "add-remove")

    ours = seconds(benchmark, 5, decision, 0.050)
    rows = H[:500] / state.scales[:, None]
    again = plain(lambda: np.linalg.lstsq(rows.T, q, rcond=None))
    benchmark.extra_info["refactoring, times slower"] = again / ours


@pytest.fixture(scope="module")
def very_long_history() -> tuple[State, np.ndarray]:
    """Each of 1440 cells asked once, then 3560 ranges, and two ranges more."""
    cells, rng = 1440, np.random.default_rng(3)
    H = queries.random_ranges((36, 40), 3562, rng)
    scales = rng.uniform(5.0, 50.0, 5000)
    rest = H[:3560] / scales[cells:, None] * scales[:cells]
    places = np.arange(5000)
    lower = np.diag(1.0 / scales[:cells])
    factor = factor_of(np.eye(cells), lower, rest, places[:cells], places[cells:])
    state = State(factor, np.zeros(5000), scales, no_cost(cells, "add-remove"), 0.0)
    return state, H


@pytest.mark.parametrize("outcome", ["derived", "fresh"])
def test_a_decision_after_five_thousand_answers(benchmark, very_long_history, outcome):
    state, H = very_long_history
    q = on_grid(H[3560], 1440)
    width = queries.NoiseLaw(state.factor.noise_weights(q)).half_width(0.05)
    L = width * (2.5 if outcome == "derived" else 1.2)

    def decision() -> object:
        found = decide(state, q, L, 0.05, 1e12, queries.Policy())
        assert found.outcome == outcome
        if outcome == "fresh":
            return state.after(q, as_float(found.scale_units), 0.0, "add-remove")
        return found.law.half_width(0.05)

    seconds(benchmark, 9, decision, 0.050)


@pytest.mark.parametrize("cells", [64, 200, 1440])
def test_a_stream_with_half_of_its_questions_asked_again(benchmark, cells):
    shape = {64: (8, 8), 200: (10, 20), 1440: (36, 40)}[cells]
    rng = np.random.default_rng(cells)
    fresh = queries.random_ranges(shape, QUESTIONS, rng)
    lengths = 10.0 ** rng.uniform(1.0, 4.0, QUESTIONS)

    bought_again = 0

    def times() -> list[float]:
        nonlocal bought_again
        state, asked, found = empty_state(cells, "add-remove"), 0, []
        for _ in range(QUESTIONS):
            old = asked > 0 and rng.random() < 0.5
            which = int(rng.integers(asked)) if old else asked
            asked += not old
            q = on_grid(fresh[which], cells)
            start = time.process_time()
            decision = decide(state, q, lengths[which], 0.05, 1e12, queries.Policy())
            assert decision.law is not None
            assert math.isfinite(decision.law.half_width(0.05))
            if decision.outcome == "fresh":
                state = state.after(q, as_float(decision.scale_units), 0.0, "add-remove")
            found.append(time.process_time() - start)
            bought_again += old and decision.outcome == "fresh"
        return found

    found = benchmark.pedantic(times, rounds=1)
    assert bought_again <= QUESTIONS // 1000  # but for rounding, what was asked before is known
    p99 = float(np.quantile(found, 0.99))
    benchmark.extra_info.update({"p99, ms": 1e3 * p99, "share of target": p99 / 0.050})


def test_ten_million_rows_of_parquet(benchmark, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "large.parquet"
    duckdb.sql(
        "COPY (SELECT (random() * 100)::INTEGER AS age, random() * 30 AS income, "
        "CASE WHEN random() < .5 THEN 'f' ELSE 'm' END AS sex FROM range(10000000)) "
        f"TO '{path}'"
    )
    code = (
        "import pathlib, sys, time; from dpbayes import queries as q; "
        "start, core = time.perf_counter(), time.process_time(); "
        "cube = q.build_cube(sys.argv[1], [q.Bins('age', range(0, 102), True), "
        "q.Bins('income', (0, 10, 20, 30)), q.Categories('sex', ('f', 'm'))]); "
        "print(int(cube.counts.sum()), time.perf_counter() - start, time.process_time() - core, "
        "int(pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) / 1024)"
    )

    def count() -> list[str]:
        command = [sys.executable, "-c", code, str(path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    plainly = (
        "import sys, time, duckdb; start = time.perf_counter(); duckdb.sql('SELECT age, "
        "floor(income / 10), sex, count(*) FROM read_parquet(\\'' + sys.argv[1] + '\\') "
        "GROUP BY ALL').fetchall(); print(time.perf_counter() - start)"
    )

    records, elapsed, core, megabytes = benchmark.pedantic(count, rounds=1)
    command = [sys.executable, "-c", plainly, str(path)]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    times = float(elapsed) / float(theirs)
    benchmark.extra_info.update({"times GROUP BY": times, "share of target": times / 3.0})
    benchmark.extra_info.update({"seconds": float(elapsed), "MiB": float(megabytes)})
    benchmark.extra_info["seconds of one core"] = float(core)
    assert int(records) == 10**7


def test_record_the_five_ways(benchmark):
    sizes = [10, 30, 100, 300, 1000]
    rng = np.random.default_rng(4600)
    found = benchmark.pedantic(lambda: running_times(sizes, 10_000, 0.01, rng), rounds=1)
    with RECORDED.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["answers", *found])
        columns = [[f"{value:.3g}" for value in values] for values in found.values()]
        writer.writerows(zip(sizes, *columns, strict=True))
    assert all(math.isfinite(v) and v > 0 for values in found.values() for v in values)
