"""Before Sphinx looks for documents: every notebook is run, or known to be up to date."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbayes.record import PROVENANCE, json_bytes, write_atomically
from dpbayes.runner import page, run, verify
from dpbayes.runner.notebooks import all_notebooks, find, load
from dpbayes.runner.parameters import chosen, declared
from dpbayes.runner.stale import Sources, reason

logger = logging.getLogger(__name__)
CERTIFICATE = "certificate.json"


class NotebookError(ExtensionError):
    """The build stops: a notebook failed, or its parameters were refused."""

    category = "Notebook error"


def run_notebooks(app: Sphinx, config: Any) -> None:
    """Run what must be run and publish every result, or stop the build."""
    book = Path(app.srcdir)
    try:
        build(book.parent / "notebooks", book / "results", overrides(book.parent))
    except (ValueError, TypeError) as error:
        raise NotebookError(str(error)) from error
    content = json_bytes(verify.certificate(book / "results", book / "reference"))
    path = book / "results" / CERTIFICATE
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)


def overrides(root: Path) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of the next build that differ from the notebooks' own."""
    path = root / "notebooks" / "parameters.yml"
    content = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    if not isinstance(content or {}, Mapping):
        raise ValueError("parameters.yml must map notebooks to their parameters")
    found = {}
    for name, given in (content or {}).items():
        if not isinstance(given, Mapping):
            raise ValueError(f"parameters.yml: {name} must map parameters to values, got {given!r}")
        found[find(str(name), root)[0]] = given
    return found


def build(folder: Path, results: Path, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Bring the results of all notebooks up to date."""
    began = time.perf_counter()
    paths, sources = all_notebooks(folder), Sources()
    notebooks = {name: load(path) for name, path in paths.items()}
    values = {name: chosen(name, one, given.get(name, {})) for name, one in notebooks.items()}
    keys = {name: sources.key(notebooks[name], values[name]) for name in paths}
    made = {name: run.kept(results / name) for name in paths}
    why = {name: reason(made[name].get("made from"), keys[name]) for name in paths}
    stale = sorted((name for name in paths if why[name]), key=lambda name: -seconds(results, name))
    for name in stale:
        logger.info("to run: %s, %s", name, why[name])
    stage = results / ".stage.part"
    orders = [run.Order(name, paths[name], values[name], stage / name) for name in stale]
    problems = []
    for place, done in enumerate(run.run_all(orders) if orders else ()):
        name = done.order.name
        logger.info("[%d/%d] %s %.1f s", place + 1, len(orders), name, done.seconds)
        if done.problem:
            problems.append(done.problem)
        else:
            run.publish(run.recorded(done, keys[name]), results / name)
    shutil.rmtree(stage, ignore_errors=True)
    if problems:
        raise NotebookError("\n\n".join(problems))
    for name in paths:
        folder, path = results / name, results / f"{name}.ipynb"
        executed = json.loads((folder / run.EXECUTED).read_text(encoding="utf-8"))
        files = [one.name for one in folder.iterdir() if one.is_file()]
        made_of = name, values[name], declared(notebooks[name]), files
        content = run.notebook_bytes(page.page(executed, *made_of))
        if not path.is_file() or path.read_bytes() != content:
            write_atomically(path, content)
    forget_others(results, paths)
    took = time.perf_counter() - began
    logger.info(
        "notebooks: %d run, %d unchanged, %.1f s", len(stale), len(paths) - len(stale), took
    )


def seconds(results: Path, name: str) -> float:
    """Return how long a notebook took when it was run last, here or for the reference."""
    reference = results.parent / "reference" / f"{name}.json"
    for path in (results / name / PROVENANCE, reference):
        with contextlib.suppress(OSError, ValueError, KeyError):
            return float(json.loads(path.read_text(encoding="utf-8"))["seconds"])
    return 0.0


def forget_others(results: Path, names: Mapping[str, Path]) -> None:
    """Remove results of notebooks that are no more."""
    for name in verify.folders(results):
        if name not in names:
            shutil.rmtree(results / name)
            (results / f"{name}.ipynb").unlink(missing_ok=True)


def say_agreement(app: Sphinx, problem: Exception | None) -> None:
    """End the build with how its numbers compare with the reference."""
    if problem is None:
        path = Path(app.srcdir) / "results" / CERTIFICATE
        logger.info(json.loads(path.read_text(encoding="utf-8"))["agreement"])


class Certificate(SphinxDirective):
    """What this build says of itself: agreement with the reference, machine, versions, duration."""

    def run(self) -> list[nodes.Node]:
        """Return a list of facts, and of numbers that disagree."""
        path = Path(self.env.srcdir) / "results" / CERTIFICATE
        self.env.note_dependency(str(path))
        made = json.loads(path.read_text(encoding="utf-8"))
        versions = ", ".join(f"{name} {one}" for name, one in made["versions"].items())
        took = f"{made['notebooks']} notebooks in {made['seconds']} seconds of running"
        facts = [f"{made['agreement']}.", f"{made['machine']}.", f"{versions}.", f"{took}."]
        facts += [f"It differs: {one}" for one in made["problems"]]
        items = (nodes.list_item("", nodes.paragraph("", one)) for one in facts)
        return [nodes.bullet_list("", *items, classes=["certificate"])]
