"""Notebooks that run in forks: the bytes of a kernel, the same traces, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpbayes.press.jobs import ONE_THREAD, TRACES
from tests.press.processes import gone
from tests.tiny_notebooks import write_tiny

SHOWN = (
    "print('one', end=' ')\nprint('two')\nimport sys\nprint('three', file=sys.stderr)\nn",
    "from IPython.display import HTML, Markdown, display\n"
    "display(HTML('<b>a</b>'), metadata={'a': 1})\n"
    "display(Markdown('*b*'))\nprint('c')\nHTML('<i>d</i>')",
    "class Picture:\n    def _repr_png_(self):\n        return b'\\x89PNG\\x00'\n"
    "    def __repr__(self):\n        return 'picture'\nPicture()",
    "{'a': [1, 2]};",
    "_ = 3\nIn[1][:3], get_ipython().user_ns['n'], __name__",
    "# nothing but a remark",
    "",
)  # fmt: skip
RUNS = """
import json, sys
from dpbayes.press.forked import warm_up
warm = warm_up()
from pathlib import Path
from dpbayes.press.execution import execute
from dpbayes.press.jobs import Job, NotebookFailure
for path, stage, kernel in json.loads(sys.argv[1]):
    job = Job("part/tiny", Path(path), {"n": 3, "label": "a"}, Path(stage))
    try:
        execute(job, warm=None if kernel else warm)
    except Exception as failure:
        print(type(failure).__name__, failure)
"""


def runs(*orders: tuple[Path, Path, bool]) -> str:
    """Run notebooks (path, stage, whether in a kernel) in a process of their own."""
    told = json.dumps([(str(path), str(stage), kernel) for path, stage, kernel in orders])
    done = subprocess.run(
        [sys.executable, "-c", RUNS, told],
        env={**os.environ, **ONE_THREAD},
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_a_fork_gives_the_bytes_and_the_traces_of_a_kernel(tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("1")
    ordered = (
        "import os\nfrom dpbayes.press.opening import ORDER\nlen(open(os.environ[ORDER]).read())"
    )
    tried = (
        "from dpbayes.mechanisms import REGISTRY\n"
        "try:\n    import nowhere_to_be_found\nexcept ImportError as error:\n    print(error)"
    )
    read = f"len(open({str(data)!r}).read())"
    path = write_tiny(tmp_path / "notebooks", "part/tiny", *SHOWN, ordered, tried, read)
    warm, cold = tmp_path / "warm", tmp_path / "cold"
    assert runs((path, warm, False), (path, cold, True)) == ""
    assert (warm / "notebook.ipynb").read_bytes() == (cold / "notebook.ipynb").read_bytes()
    seen, known = (json.loads((one / TRACES).read_text()) for one in (warm, cold))
    assert seen["modules"] == known["modules"]
    assert "mechanisms/__init__.py" in seen["modules"]
    assert "auditing/__init__.py" not in seen["modules"]
    assert seen["read"] == known["read"] == [str(data)]
    assert "nowhere_to_be_found" in seen["absent"]
    assert not {"papermill", "nbformat", "zmq"} & {*seen["packages"]}


def test_each_notebook_gets_a_fresh_process_that_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "process"
    path = write_tiny(
        tmp_path / "notebooks",
        "part/tiny",
        f"import os\nwith open({str(note)!r}, 'a') as file: print(os.getpid(), file=file)",
        "assert 'left_over' not in globals()\nleft_over = 1",
    )
    assert runs((path, tmp_path / "a", False), (path, tmp_path / "b", False)) == ""
    processes = [int(line) for line in note.read_text().split()]
    assert len(set(processes)) == 2
    assert all(gone(process) for process in processes)


def test_a_failing_cell_is_reported_and_nothing_after_it_runs(tmp_path: Path) -> None:
    note = tmp_path / "note"
    path = write_tiny(
        tmp_path / "notebooks",
        "part/tiny",
        "raise ValueError('four is not for us')",
        f"open({str(note)!r}, 'w')",
    )
    said = runs((path, tmp_path / "a", False), (path, tmp_path / "b", True)).split(
        "NotebookFailure"
    )
    assert "four is not for us" in said[1]
    assert "code cell with execution count" in said[1]
    assert said[1] == said[2]
    assert not note.exists()


@pytest.mark.parametrize(
    ("cell", "how"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "was killed by SIGTERM"),
        ("import os\nos._exit(3)", "ended with status 3"),
    ],
)
def test_a_process_that_dies_says_how(tmp_path: Path, cell: str, how: str) -> None:
    path = write_tiny(tmp_path / "notebooks", "part/tiny", cell)
    assert runs((path, tmp_path / "a", False)) == (
        f"RuntimeError the process of the notebook {how}\n"
    )


def test_a_fork_ends_with_the_process_that_forked_it(tmp_path: Path) -> None:
    note = tmp_path / "process"
    path = write_tiny(
        tmp_path / "notebooks",
        "part/tiny",
        f"import os, time\nwith open({str(note)!r}, 'w') as file: print(os.getpid(), file=file)",
        "time.sleep(100)",
    )
    told = json.dumps([(str(path), str(tmp_path / "a"), False)])
    family = subprocess.Popen([sys.executable, "-c", RUNS, told], env={**os.environ, **ONE_THREAD})
    while family.poll() is None and not (note.is_file() and note.read_text().strip()):
        time.sleep(0.05)
    family.send_signal(signal.SIGKILL)
    family.wait()
    assert gone(int(note.read_text()))
