"""How long a release takes, and a posterior that knows about its noise."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.samplers import whole_numbers as samplers
from dpbayes.samplers.bits import SystemBits
from dpbayes.samplers.sum_zero import lattice
from dpbayes.study import datasets
from dpbayes.tables import Unit, create_account, noise_aware, read_plan
from dpbayes.tables.release import release_table

HEALTH = datasets.load("self-rated-health").counts
ONES = np.ones(HEALTH.size)

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_lattice_release(benchmark, epsilon):
    private = benchmark(dp.release, dp.mechanism("lattice", epsilon), HEALTH, ONES)
    assert private.counts.sum() == HEALTH.sum()


@pytest.mark.parametrize("scale", [1, 10**3, 10**6])
def test_geometric_noise_of_growing_size(benchmark, scale):
    assert isinstance(
        benchmark(samplers.two_sided_geometric, SystemBits(), Fraction(1, scale)), int
    )


@pytest.mark.parametrize("n", [100, 10**4, 10**6, 10**9])
def test_exponential_release_by_ball_arithmetic(benchmark, n):
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    private = benchmark.pedantic(
        dp.release, (mechanism, [n // 2, n // 2], [1, 1]), rounds=9
    )
    benchmark.extra_info["share of target"] = benchmark.stats.stats.median / 0.010
    assert private.counts.sum() == n


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
@pytest.mark.parametrize("k", [3, 10, 50])
def test_exponential_release_below_a_mixture(benchmark, k, n):
    shares = np.arange(1, k + 1)
    counts = shares * n // shares.sum()
    mechanism = dp.mechanism("expMech-smooth", 1.0)
    private = benchmark.pedantic(dp.release, (mechanism, counts, np.ones(k)), rounds=5)
    benchmark.extra_info["share of target"] = benchmark.stats.stats.median / 0.010
    assert private.counts.sum() == counts.sum()


@pytest.mark.parametrize("k", [2, 4, 20, 50, 100])
def test_lattice_noise_against_geometric_noise_by_opendp(benchmark, k):
    """Processor time of one vector of noise, at most twice that of OpenDP's in the same
    run.
    """
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int))
    noise = opendp.m.make_geometric(space, opendp.l1_distance(T=int), scale=2.0)
    ours = means(lambda: lattice(SystemBits(), k, Fraction(1)))
    theirs = means(lambda: noise([100] * k))
    benchmark.pedantic(lattice, (SystemBits(), k, Fraction(1)), rounds=20)
    benchmark.extra_info["times OpenDP's geometric"] = ours / theirs
    assert ours <= 2.0 * theirs


def means(draw, times=400):
    """Return the mean processor time of one call, in seconds."""
    draw()
    start = time.process_time()
    for _ in range(times):
        draw()
    return (time.process_time() - start) / times


@pytest.mark.parametrize("k", [4, 100])
def test_lattice_release_against_geometric_noise_by_opendp(benchmark, k):
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    counts, prior = [100] * k, np.ones(k)
    space = opendp.vector_domain(opendp.atom_domain(T=int))
    noise = opendp.m.make_geometric(space, opendp.l1_distance(T=int), scale=2.0)
    mechanism = dp.mechanism("lattice", 1.0)
    private = benchmark.pedantic(
        dp.release, (mechanism, counts, prior), rounds=200, warmup_rounds=5
    )
    assert private.counts.sum() == 100 * k
    theirs = []
    for _ in range(200):
        start = time.process_time()
        noise(counts)
        theirs.append(time.process_time() - start)
    ratio = benchmark.stats.stats.median / float(np.median(theirs))
    benchmark.extra_info["times OpenDP's geometric"] = ratio


def test_lattice_mean_at_census_size(benchmark):
    mechanism = dp.mechanism("lattice", 0.1)
    value = benchmark(lambda: mechanism.law(HEALTH, ONES).mean_distance())
    assert value == pytest.approx(0.343526, abs=1e-6)


@pytest.mark.parametrize("n", [400, 20_190])
def test_noise_aware_posterior_with_an_interval(benchmark, n):
    counts = (HEALTH * n) // HEALTH.sum()
    counts[0] += n - counts.sum()
    noisy = counts + np.array([12, -20, 5, 3])

    def read():
        return noise_aware(
            dp.mechanism("lattice", 0.1), noisy, n, ONES
        ).credible_interval(0)

    low, high = benchmark(read)
    assert 0 < low < high < 1


def test_noise_aware_draws(benchmark):
    aware = noise_aware(dp.mechanism("lattice", 0.1), HEALTH, int(HEALTH.sum()), ONES)
    draws = benchmark(aware.sample, np.random.default_rng(0), 1000)
    assert draws.shape == (1000, 4)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_million_rows_to_a_release_against_a_bare_group_by(
    benchmark, kind, tmp_path, monkeypatch
):
    """At most three times DuckDB's own reading and grouping of the same file, and two
    seconds.
    """
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    table = tmp_path / f"people.{kind}"
    rows = (
        "i AS id, 18 + i * 7919 % 47 AS age, ['good', 'fair', 'poor'][1 + i * 31 % 3]"
        " AS health"
    )
    duckdb.sql(f"COPY (SELECT {rows} FROM range(1000000) AS t(i)) TO '{table}'")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'dataset = "d"\naccount = "a"\nunit = "record"\ncolumns = ["age", "health"]\n'
        'epsilon = "0.1"\ncategories = {age = {edges = [18, 40, 65]}, '
        'health = ["good", "fair", "poor"]}\n'
    )
    create_account(tmp_path / "a", "d", 1, table, Unit())
    begun = time.process_time()
    duckdb.sql(f"SELECT age, health, count(*) FROM '{table}' GROUP BY ALL").fetchall()
    bare = time.process_time() - begun
    paid = benchmark.pedantic(lambda: release_table(table, read_plan(plan)), rounds=1)
    assert paid.private.n == 1_000_000
    taken = benchmark.stats.stats.median
    benchmark.extra_info["times a bare GROUP BY"] = taken / bare
    benchmark.extra_info["share of target"] = taken / (3.0 * bare + 2.0)
    assert taken <= 3.0 * bare + 2.0
