"""Before Sphinx looks for documents: every notebook is run, or known to be up to date."""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

from dpbayes.press.cache import Cache
from dpbayes.press.keys import Surroundings, key, reason, sha256, surroundings
from dpbayes.press.pages import publish
from dpbayes.press.workers import Order, run_all
from dpbook.gate import end_where_nothing_changed
from dpbook.plan import Planned, plan
from dpbook.progress import Progress
from dpbook.side_by_side import processors

logger = logging.getLogger(__name__)


class NotebookError(ExtensionError):
    """The build stops: a notebook failed, or its parameters were refused."""

    category = "Notebook error"


@dataclass
class Build:
    """One build: its notebooks and their hashes, the state of everything else, and where to go."""

    cache: Cache
    results: Path
    planned: dict[str, Planned]
    hashes: dict[str, str]
    now: Surroundings
    progress: Progress
    started: float

    def reason(self, name: str) -> str | None:
        """Say why a notebook must be run; None when its kept run is whole and up to date."""
        damaged = self.cache.damage(name)
        if damaged:
            return f"its kept result is damaged ({damaged})"
        kept = self.cache.kept(name)
        values = self.planned[name].values
        return reason(kept.key if kept else None, self.hashes[name], values, self.now)

    def order(self, name: str) -> Order:
        """Return the order to run a notebook."""
        notebook = self.planned[name]
        return Order(name, name, notebook.path, notebook.values, self.cache.stage(name))

    def cell(self, label: str, index: int, total: int) -> None:
        """Pass on that a cell starts."""
        self.progress.cell(label, index, total)

    def done(self, label: str, seconds: float) -> None:
        """Keep and publish a finished notebook at once, so that an interrupted build keeps it."""
        used = json.loads((self.cache.stage(label) / "traces.json").read_text(encoding="utf-8"))
        values = self.planned[label].values
        made_from = key(self.hashes[label], values, used, self.now, self.started)
        self.cache.keep(label, made_from, seconds)
        self.publish(label)
        self.progress.done(label, seconds)

    def failed(self, label: str, problem: str) -> bool:
        """Begin nothing new after a failure."""
        return False

    def publish(self, name: str) -> None:
        """Bring a kept run to the folder where Sphinx reads it."""
        notebook = self.planned[name]
        publish(self.cache.entry(name), self.results, name, notebook.values, notebook.parameters)


def run_notebooks(app: Sphinx, config: Any) -> None:
    """Run what must be run and publish every result, or stop the build."""
    book = Path(app.srcdir)
    end_where_nothing_changed(book.parent)
    try:
        build_results(book.parent, book)
    except (ValueError, TypeError) as error:
        raise NotebookError(str(error)) from error


def build_results(root: Path, book: Path) -> dict[str, str]:
    """Bring ``book/results`` up to date, and return what was run with the reason why."""
    started, clock = time.perf_counter(), time.time()
    planned = {one.name: one for one in plan(root / "notebooks", root / "parameters.yml")}
    hashes = {name: sha256(one.path) for name, one in planned.items()}
    cache = Cache(book / "_build" / ".jupyter_cache" / "notebooks")
    cache.clear()
    progress = Progress(sys.stderr, 0)
    build = Build(cache, book / "results", planned, hashes, surroundings(), progress, clock)
    reasons = {name: build.reason(name) for name in planned}
    to_run = {name: why for name, why in reasons.items() if why}
    progress.total = len(to_run)
    forget_others(build.results, planned)
    for name in planned.keys() - to_run.keys():
        build.publish(name)
    run_stale(build, to_run)
    logger.info(
        "notebooks: %d run, %d unchanged, %.1f s",
        len(to_run),
        len(planned) - len(to_run),
        time.perf_counter() - started,
    )
    return to_run


def run_stale(build: Build, to_run: dict[str, str]) -> None:
    """Run the notebooks whose results are missing or stale, the longest first."""
    for name, why in to_run.items():
        logger.info("run %s: %s", name, why)
    kept = {name: build.cache.kept(name) for name in to_run}
    times = {name: one.seconds if one else float("inf") for name, one in kept.items()}
    order = sorted(to_run, key=lambda name: (-times[name], name))
    hands = processors()
    failures = run_all([build.order(name) for name in order], build, hands)
    build.progress.end()
    if failures:
        raise NotebookError("\n\n".join(failures))


def forget_others(results: Path, planned: dict[str, Planned]) -> None:
    """Remove results of notebooks that are no longer there."""
    for page in results.rglob("*.ipynb"):
        name = page.relative_to(results).with_suffix("").as_posix()
        if name not in planned:
            page.unlink()
            shutil.rmtree(results / name, ignore_errors=True)
