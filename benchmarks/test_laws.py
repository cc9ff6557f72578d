"""Times of means far apart in kind and size: `make bench` writes
`book/scale/timings.csv`.

Times are those of one core, so that other work on the machine does not count.
"""

import time
from pathlib import Path
from statistics import median

import pytest

from benchmarks.kept import keep
from benchmarks.settings import SETTINGS, counts
from dpbayes.mechanisms import mechanism

TABLE = Path(__file__).parents[1] / "book" / "scale" / "timings.csv"
COLUMNS = (
    "mechanism",
    "k",
    "n",
    "epsilon",
    "counts",
    "how",
    "error",
    "seconds of one core",
)
ROWS: list[tuple[object, ...]] = []

pytestmark = pytest.mark.benchmark(timer=time.process_time)


@pytest.fixture(scope="module", autouse=True)
def table(request):
    """Write the rows at the end; those of benchmarks that did not run stay as they
    were.
    """
    yield
    config = request.config
    some = config.getoption("keyword") or any("::" in name for name in config.args)
    keep(TABLE, COLUMNS, ROWS, 5, whole=not some)


@pytest.mark.parametrize(("name", "epsilon", "kind", "k", "n", "prior"), SETTINGS)
def test_mean_distance(benchmark, name, epsilon, kind, k, n, prior):
    x = counts(kind, k, n)

    def mean() -> float:
        return mechanism(name, epsilon).law(x, [prior] * k).mean_distance()

    found = benchmark.pedantic(mean, rounds=3, warmup_rounds=1)
    assert 0.0 < found <= 1.0
    seconds = median(benchmark.stats.stats.data)
    assert seconds < 15.0
    row = (name, k, n, epsilon, kind, found.how, f"{found.error:.1e}", f"{seconds:.4f}")
    ROWS.append(row)
