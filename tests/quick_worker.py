"""A worker that runs a notebook's cells in its own process: no kernel, the same conversation.

What is tested with it is the build around the notebooks: what is run, why, and what is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO

from dpbayes.press import traces


def start(complaints: IO[str]) -> subprocess.Popen[str]:
    """Return a fresh worker; it stands in for `dpbayes.press.workers.start_notebooks`."""
    return subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        text=True,
    )


def run(order: dict[str, object]) -> None:
    stage = Path(str(order["stage"]))
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "results").mkdir(parents=True)
    os.environ["DPBAYES_RESULTS"] = str(stage / "results")
    made = json.loads(Path(str(order["notebook"])).read_text())
    names: dict[str, object] = {}
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            exec(cell["source"], names)
            if "parameters" in cell["metadata"].get("tags", []):
                names.update(order["values"])  # type: ignore[call-overload]
    traces.write(str(stage / "traces.json"))
    (stage / "notebook.ipynb").write_text(json.dumps(made))


if __name__ == "__main__":
    for line in sys.stdin:
        try:
            run(json.loads(line))
        except Exception as error:
            print(json.dumps({"failure": f"{json.loads(line)['name']}: {error}"}), flush=True)
        else:
            print(json.dumps({"cell": 0, "of": 1}), flush=True)
            print(json.dumps({"done": True}), flush=True)
