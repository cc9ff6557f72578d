"""Before Sphinx looks for documents: every notebook is run, or known to be up to
date."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from pydantic import TypeAdapter
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbayes.record import json_bytes, read_json, write_atomically
from dpbayes.runner import page, run, verify
from dpbayes.runner.notebooks import all_notebooks, chosen, find, load
from dpbayes.runner.stale import Sources, reason

logger = logging.getLogger(__name__)
CERTIFICATE = "certificate.json"


def run_notebooks(app: Sphinx, config: Any) -> None:
    """Run what must be run and publish every result, or stop the build."""
    book = Path(app.srcdir)
    build(book.parent / "notebooks", book / "results")
    content = json_bytes(verify.certificate(book / "results", book / "reference"))
    write_atomically(book / "results" / CERTIFICATE, content)


def overrides(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of the next build that differ from the notebooks' own."""
    path = folder / "parameters.yml"
    content = (
        yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    )
    checked = TypeAdapter(dict[str, dict[str, Any]]).validate_python(content or {})
    return {find(name, folder)[0]: given for name, given in checked.items()}


def build(folder: Path, results: Path) -> None:
    """Bring the results of all notebooks up to date."""
    paths, sources, given = all_notebooks(folder), Sources(), overrides(folder)
    notebooks = {name: load(path) for name, path in paths.items()}
    values = {
        name: chosen(name, one, given.get(name, {})) for name, one in notebooks.items()
    }
    keys = {name: sources.key(notebooks[name], values[name]) for name in paths}
    made = {name: run.kept(results / name).get("made from", {}) for name in paths}
    why = {name: reason(made[name], keys[name]) for name in paths}
    known = {
        name: read_json(results.parent / "reference" / f"{name}.json") for name in paths
    }
    stale = [name for name in paths if why[name]]
    stale.sort(key=lambda name: -known[name].get("seconds", 0))  # the longest first
    stage, problems = results / ".stage.part", []
    orders = [
        run.Order(name, paths[name], values[name], stage / name) for name in stale
    ]
    finished = run.run_all(orders, os.cpu_count() or 2)
    for place, (order, seconds, problem) in enumerate(finished, 1):
        name = order.name
        logger.info(
            "[%d/%d] %s %.1f s (%s)", place, len(orders), name, seconds, why[name]
        )
        problems += [problem] if problem else []
        if not problem:
            run.publish(order, seconds, keys[name], results / name)
    shutil.rmtree(stage, ignore_errors=True)
    if problems:
        raise ExtensionError("\n\n".join(problems), modname="notebooks")
    for name in paths:
        files = [one.name for one in (results / name).iterdir() if one.is_file()]
        shown = page.page(read_json(results / name / run.EXECUTED), name, files)
        write_atomically(results / f"{name}.ipynb", run.notebook_bytes(shown))
    for name in verify.folders(results).keys() - paths:  # their notebooks are no more
        shutil.rmtree(results / name)
        (results / f"{name}.ipynb").unlink(missing_ok=True)
    logger.info("notebooks: %d run, %d in all", len(stale), len(paths))


class Certificate(SphinxDirective):
    """What this build says of itself: agreement with the reference, machine, versions,
    duration.
    """

    def run(self) -> list[nodes.Node]:
        """Return a list of facts, and of numbers that disagree."""
        path = Path(self.env.srcdir) / "results" / CERTIFICATE
        self.env.note_dependency(str(path))
        made = read_json(path)
        versions = ", ".join(f"{name} {one}" for name, one in made["versions"].items())
        took = f"{made['notebooks']} notebooks in {made['seconds']} seconds of running"
        facts = [
            f"{one}." for one in (made["agreement"], made["machine"], versions, took)
        ]
        facts += [f"It differs: {one}" for one in made["problems"]]
        items = (nodes.list_item("", nodes.paragraph("", one)) for one in facts)
        return [nodes.bullet_list("", *items, classes=["certificate"])]
