"""Parked modules come back as asked: with what they need, under their names, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

IN_A_FORK = """
import json, os, sys
from dpbayes.press.parked import bring_back_as_asked, park
parked = park()
mine = [name for name in sys.modules if name.partition(".")[0] == "dpbayes"]
bring_back_as_asked(parked)
loads = []
sys.addaudithook(lambda event, what: loads.append(what[0]) if event == "exec" else None)
"""
SAID = """
own = sorted(name for name in sys.modules if name.partition(".")[0] == "dpbayes")
shapes = {
    f"{name}.{key}": type(value).__name__
    for name in own for key, value in vars(sys.modules[name]).items() if not key.startswith("__")
}
specs = {name: [sys.modules[name].__spec__.name, sys.modules[name].__spec__.origin,
                type(sys.modules[name].__spec__.loader).__name__] for name in own}
print(json.dumps([own, shapes, specs]))
"""
IMPORTS = (
    "import dpbayes",
    "import dpbayes as dp\ndp.mechanism",
    "from dpbayes import tables\ntables.blue, tables.consistent",
    "from dpbayes.tables.inference import blue\nfrom dpbayes import tables\ntables.blue",
    "from dpbayes.laws import law as one",
    "import dpbayes.study.equal_promises",
    "from dpbayes.press import open_record",
    "from dpbayes.figures import theme\nfrom dpbayes.data import __file__ as place",
    "import dpbayes.auditing, dpbayes.releasing, dpbayes.samplers",
    "from importlib import resources\nimport dpbayes.datasets\nresources.files('dpbayes.data')",
)


def said(program: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("imports", IMPORTS)
def test_what_is_there_afterwards_is_what_a_fresh_process_has(imports: str) -> None:
    parked = said(IN_A_FORK + imports + SAID)
    assert parked == said("import json, sys\n" + imports + SAID)


def test_nothing_is_read_or_run_again_and_the_own_modules_stay() -> None:
    program = IN_A_FORK + "import dpbayes.auditing\nprint(json.dumps([mine, len(loads)]))"
    mine, loads = said(program)
    assert {"dpbayes", "dpbayes.press", "dpbayes.press.parked"} <= {*mine}
    assert "dpbayes.auditing" not in mine
    assert loads == 0


def test_a_module_that_cannot_be_loaded_fails_where_it_is_imported() -> None:
    program = (
        "import sys\nsys.modules['matplotlib'] = None\n"
        + IN_A_FORK
        + "import dpbayes.divergences\ntry:\n    import dpbayes.figures.theme\n"
        "except ImportError as error:\n    print(json.dumps([str(error)]))"
    )
    assert "matplotlib" in str(said(program)[0])
