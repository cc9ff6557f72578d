"""A sweep on a cluster: a worker may die, and the table is the same."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dpbayes.cli import main
from tests.tiny_notebooks import write_tiny


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and two workers, each the leader of a process group of its own."""
    distributed = pytest.importorskip("distributed")
    where = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(where), "--no-dashboard"]
    words = [("scheduler", "--port", "0", "--host", "127.0.0.1")]
    words += [("worker", "--nthreads", "1", "--name", f"worker-{i}") for i in (1, 2)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *rest, *common],
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for kind, *rest in words
    ]
    while not where.is_file():
        time.sleep(0.1)
    address = json.loads(where.read_text())["address"]
    with distributed.Client(address) as client:
        client.wait_for_workers(2, timeout=60)
    try:
        yield address, processes
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_of_a_cluster_costs_nothing(picky, cluster):
    address, (_, first, _) = cluster
    grid = ["-g", "n=" + ";".join(map(str, range(5, 17)))]
    write_tiny(picky / "notebooks", "part/tiny", "import time; time.sleep(0.4)")
    assert main(["sweep", "part/tiny", *grid, "--output", "here"]) == 0

    def kill_once_a_point_is_there() -> None:
        while not list((picky / "there").rglob("entry.json")):
            time.sleep(0.05)
        os.killpg(first.pid, signal.SIGKILL)

    killing = threading.Thread(target=kill_once_a_point_is_there)
    killing.start()
    assert main(["sweep", "part/tiny", *grid, "--output", "there", "--cluster", address]) == 0
    killing.join()
    assert first.wait() == -signal.SIGKILL
    rows = [
        [{**row, "seconds": ""} for row in csv.DictReader((picky / where).open())]
        for where in ("here/part/tiny.csv", "there/part/tiny.csv")
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 12
