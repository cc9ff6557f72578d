"""Before Sphinx looks for documents: every notebook is run, or known to be up to
date."""

from __future__ import annotations

import contextlib
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

from dpbayes.notebooks.parameters import all_notebooks, chosen, find, load
from dpbayes.record import json_bytes, read_json, write_atomically
from dpbayes.runner import page, verify
from dpbayes.runner.results import kept, only_one, publish, stages
from dpbayes.runner.run import Order, executed, run_all
from dpbayes.runner.stale import Sources, reason

logger = logging.getLogger(__name__)
CERTIFICATE = "certificate.json"


class Written(yaml.BaseLoader):
    """YAML whose values stay as they are written, and whose keys come once."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping, or refuse a key that comes again."""
        known: set[str] = set()
        for key, _ in node.value:
            if key.value in known:
                line = key.start_mark.line + 1
                raise ValueError(f"line {line}: {key.value!r} comes a second time")
            known.add(key.value)
        return super().construct_mapping(node, deep)


def run_notebooks(app: Sphinx, config: Any) -> None:
    """Run what must be run and publish every result, or stop the build.

    No other build is at work in this folder until this one has ended.
    """
    book, held = Path(app.srcdir), contextlib.ExitStack()
    try:
        held.enter_context(only_one(book / "results", "another build"))
    except BlockingIOError as error:
        raise ExtensionError(str(error), modname="notebooks") from error
    app.connect("build-finished", lambda *_: held.close(), priority=999)
    build(book.parent / "notebooks", book / "results")
    content = json_bytes(verify.certificate(book / "results", book / "reference"))
    write_atomically(book / "results" / CERTIFICATE, content)


def overrides(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of the next build that differ from the notebooks' own, as
    they are written.
    """
    path, found = folder / "parameters.yml", dict[str, dict[str, Any]]()
    if not path.is_file():
        return found
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Written) or {}
        checked = TypeAdapter(dict[str, dict[str, Any]]).validate_python(content)
        for word, given in checked.items():
            name = find(word, folder)[0]
            if name in found:
                raise ValueError(f"{name} comes a second time, as {word!r}")
            found[name] = given
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: {error}") from error
    return found


def build(folder: Path, results: Path) -> None:
    """Bring the results of all notebooks up to date."""
    paths, sources, given = all_notebooks(folder), Sources(), overrides(folder)
    notebooks = {name: load(path) for name, path in paths.items()}
    values = {
        name: chosen(name, one, given.get(name, {})) for name, one in notebooks.items()
    }
    keys = {name: sources.key(notebooks[name], values[name]) for name in paths}
    made = {name: kept(results / name).get("made from", {}) for name in paths}
    why = {name: reason(made[name], keys[name]) for name in paths}
    known = {
        name: read_json(results.parent / "reference" / f"{name}.json") for name in paths
    }
    stale = [name for name in paths if why[name]]
    stale.sort(key=lambda name: -known[name].get("seconds", 0))  # the longest first
    problems = []
    with stages(results) as stage:
        orders = [Order(one, paths[one], values[one], stage / one) for one in stale]
        for place, done in enumerate(run_all(orders, os.cpu_count() or 2), 1):
            name, said = done.order.name, f"[{place}/{len(orders)}]"
            logger.info("%s %s %.1f s (%s)", said, name, done.seconds, why[name])
            if done.problem:
                problems.append(done.problem)
            else:
                made_now = done.made(keys[name])
                publish(done.order.stage, done.files, made_now, results / name)
    if problems:
        raise ExtensionError("\n\n".join(problems), modname="notebooks")
    for name in paths:
        files = [one.name for one in (results / name).iterdir() if one.is_file()]
        shown = page.page(load(results / name / executed(name)), name, files)
        write_atomically(results / f"{name}.ipynb", json_bytes(shown))
        for problem in failing(results / name) if name not in given else ():
            logger.warning("%s: %s", name, problem)
    for name in verify.folders(results).keys() - paths:  # their notebooks are no more
        shutil.rmtree(results / name)
        (results / f"{name}.ipynb").unlink(missing_ok=True)
    logger.info("notebooks: %d run, %d in all", len(stale), len(paths))


def failing(folder: Path) -> list[str]:
    """Return the claims and checks of a notebook that do not hold: with its own
    parameters all do.
    """
    return [
        f"the {kind} {name!r} does not hold: {one['sentence']}"
        for kind in ("claim", "check")
        for name, one in read_json(folder / f"{kind}s.json").items()
        if not one["holds"]
    ]


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
