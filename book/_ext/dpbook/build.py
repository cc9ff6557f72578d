"""Before Sphinx looks for documents: every notebook is run, or known to be up to date."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

from dpbayes.press.pages import publish
from dpbook.cache import Cache
from dpbook.crew import run_all
from dpbook.fingerprint import (
    Fingerprint,
    fingerprint,
    package_files,
    reason,
    stack_versions,
)
from dpbook.plan import Planned, plan
from dpbook.progress import Progress

logger = logging.getLogger(__name__)


class NotebookError(ExtensionError):
    """The build stops: a notebook failed, or its parameters were refused."""

    category = "Notebook error"


@dataclass
class Build:
    """One build: what each notebook's result is made from, and where it goes."""

    cache: Cache
    results: Path
    planned: dict[str, Planned]
    made_from: dict[str, Fingerprint]
    progress: Progress

    def cell(self, name: str, index: int, total: int) -> None:
        """Pass on that a cell starts."""
        self.progress.cell(name, index, total)

    def done(self, name: str, seconds: float) -> None:
        """Keep and publish a finished notebook at once, so that an interrupted build keeps it."""
        self.cache.keep(name, self.made_from[name], seconds)
        self.publish(name)
        self.progress.done(name, seconds)

    def publish(self, name: str) -> None:
        """Bring a kept run to the folder where Sphinx reads it."""
        notebook = self.planned[name]
        publish(self.cache.entry(name), self.results, name, notebook.values, notebook.parameters)


def run_notebooks(app: Sphinx, config: Any) -> None:
    """Run what must be run and publish every result, or stop the build."""
    book = Path(app.srcdir)
    try:
        build_results(book.parent, book)
    except (ValueError, TypeError) as error:
        raise NotebookError(str(error)) from error


def build_results(root: Path, book: Path) -> dict[str, str]:
    """Bring ``book/results`` up to date, and return what was run with the reason why."""
    started = time.perf_counter()
    planned = {one.name: one for one in plan(root / "notebooks", root / "parameters.yml")}
    package, stack = package_files(), stack_versions()
    made_from = {name: fingerprint(one, package, stack) for name, one in planned.items()}
    cache = Cache(book / "_build" / ".jupyter_cache" / "notebooks")
    cache.sweep()
    reasons = {name: reason(cache.known(name), new) for name, new in made_from.items()}
    to_run = {name: why for name, why in reasons.items() if why}
    build = Build(cache, book / "results", planned, made_from, Progress(sys.stderr, len(to_run)))
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
    order = sorted(to_run, key=lambda name: (-build.cache.seconds(name), name))
    failures = run_all([build.planned[name] for name in order], build.cache.stage, build)
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
