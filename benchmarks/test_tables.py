"""Times of questions to a table, each beside its target and, as a ratio, against the
plain way.

Times are those of one core, so that other work on the machine does not count. The five
ways to the law of the noise are recorded in `dpbayes/data/noise-law-times.csv`, which a
page of the book draws: the book itself measures nothing, so that it builds the same
everywhere.
"""

from __future__ import annotations

import csv
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpbayes import tables
from dpbayes.study import mass_vectors, query_history
from dpbayes.tables.noise import as_float, on_grid

pytestmark = pytest.mark.benchmark(timer=time.process_time)

RECORDED = Path(str(files("dpbayes") / "data" / "noise-law-times.csv"))
WEIGHTS = np.random.default_rng(0).uniform(1.0, 10.0, 1000)


def seconds(
    benchmark, rounds: int, action: Callable[[], object], target: float | None = None
) -> float:
    """Return the smallest time of one core, in seconds, and record its share of the
    target.
    """
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
    law = tables.NoiseLaw(WEIGHTS)
    seconds(benchmark, 5, lambda: law.tail(3.0 * law.standard_deviation), 0.030)


def test_algorithm_2_by_a_tree_against_direct_convolution(benchmark):
    tree = seconds(
        benchmark, 5, lambda: mass_vectors.pmf_probability_calculation(WEIGHTS, 0.01)
    )
    direct = plain(
        lambda: mass_vectors.pmf_probability_calculation(
            WEIGHTS, 0.01, "shortest-first"
        )
    )
    benchmark.extra_info["times faster"] = direct / tree


def test_a_million_cells_and_five_hundred_ranges(benchmark):
    rng, cells = np.random.default_rng(5), 10**6
    ends = np.sort(rng.choice(cells + 1, (500, 2)), axis=1)
    rows = [np.arange(a, max(b, a + 1)) for a, b in ends]
    places = np.cumsum([0, *map(len, rows)])
    H = csr_array(
        (np.ones(places[-1]), np.concatenate(rows), places), shape=(500, cells)
    )
    b, q = rng.uniform(1.0, 50.0, 500), H[[3]] - H[[4]]
    seconds(benchmark, 1, lambda: query_history.blue_sparse(H, b, q), 10.0)


@pytest.mark.parametrize("outcome", ["derived", "fresh"])
def test_a_decision_after_a_thousand_answers_on_1440_cells(benchmark, outcome):
    rng = np.random.default_rng(3)
    H = query_history.random_ranges((36, 40), 1000, rng)
    state = tables.empty_state(1440, tables.Policy())
    for row in H:
        state = state.after(on_grid(row, 1440), float(rng.uniform(5.0, 50.0)), 0.0)
    q = on_grid(H[500] - H[600], 1440)
    width = 2.0 * tables.NoiseLaw(state.factor.noise_weights(q)).half_width(0.05)
    L = width * (1.25 if outcome == "derived" else 0.6)

    def decision() -> object:
        found = tables.decide(state, q, L, 0.05, 1e12)
        assert found.outcome == outcome
        if outcome == "fresh":
            return state.after(q, as_float(found.scale_units), 0.0)
        return found.law.half_width(0.05)

    seconds(benchmark, 5, decision, 0.1)


def test_a_plan_of_fifty_categories_of_a_million_records(benchmark, tmp_path):
    """The whole command, with the process that works out the error."""
    listed = ", ".join(f'"c{i}"' for i in range(50))
    (tmp_path / "plan.toml").write_text(
        'dataset = "d"\naccount = "d.account"\nunit = "record"\ncolumn = "h"\n'
        f'categories = [{listed}]\nepsilon = "0.05"\n'
    )
    command = [sys.executable, "-m", "dpbayes", "plan", str(tmp_path / "plan.toml")]

    def planned() -> None:
        subprocess.run(
            [*command, "--records", "1000000"], capture_output=True, check=True
        )

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    benchmark.pedantic(planned, rounds=1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    benchmark.extra_info["processor seconds"] = used
    benchmark.extra_info["share of target"] = used / 5.0


def test_record_the_five_ways(benchmark):
    rng, sizes = np.random.default_rng(4600), [10, 30, 100, 300, 1000]
    ways = {
        "Algorithm 1": lambda w: mass_vectors.pmf_monte_carlo(w, 10_000, rng),
        "Algorithm 2": lambda w: mass_vectors.pmf_probability_calculation(
            w, 0.01, "shortest-first"
        ),
        "Algorithm 2, tree": lambda w: mass_vectors.pmf_probability_calculation(
            w, 0.01
        ),
        "exact, transform": lambda w: mass_vectors.exact_masses(tables.NoiseLaw(w)),
        "exact, one tail": lambda w: tables.NoiseLaw(w).tail(10.0 * math.sqrt(w.size)),
    }

    def measured() -> list[list[float]]:
        tried = [rng.uniform(1.0, 10.0, m) for m in sizes]
        return [
            [plain(lambda w=w, way=way: way(w)) for w in tried] for way in ways.values()
        ]

    found = benchmark.pedantic(measured, rounds=1, warmup_rounds=1)
    with RECORDED.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["answers", *ways])
        writer.writerows(
            zip(sizes, *[[f"{v:.3g}" for v in one] for one in found], strict=True)
        )
    assert all(v > 0 for one in found for v in one)
