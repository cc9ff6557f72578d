"""A worker that runs a notebook's cells in its own process: no kernel, the same conversation.

What is tested with it is the build around the notebooks: what is run, why, and what is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from dpbayes.press import traces


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
