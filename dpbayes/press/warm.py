"""Kernels that start warm: forked from a process that has imported the heavy modules once.

Starting Python, ipykernel, numpy and matplotlib takes longer than most notebooks run. The nursery
imports them once and forks a kernel for each notebook, which is as fresh as any other: no notebook
has run in the nursery. Papermill sees an ordinary kernel; its process is a small attendant
that asks the nursery for a kernel, hands on signals, and ends when the kernel ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

NAME = "warm"
ORDINARY = "python3"
_HERE = Path(__file__).parent


@contextmanager
def warm_kernels(settings: Mapping[str, str]) -> Iterator[str]:
    """Start a nursery and yield the kernel name to use; the usual one where there is no fork.

    `settings` are environment variables that must be in force before the heavy modules load.
    """
    if not hasattr(os, "fork"):
        yield ORDINARY
        return
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:
        address = Path(folder) / "nursery"
        _write_kernel_spec(Path(folder), address)
        before = os.environ.get("JUPYTER_PATH")
        os.environ["JUPYTER_PATH"] = os.pathsep.join([folder, *([before] if before else [])])
        nursery = subprocess.Popen(
            [sys.executable, "-m", "dpbayes.press.nursery", str(address)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **settings},
        )
        try:
            assert nursery.stdout
            # One line says that it listens; none says that it could not start.
            yield NAME if nursery.stdout.readline() else ORDINARY
        finally:
            nursery.kill()
            nursery.communicate()
            _restore(before)


def _write_kernel_spec(folder: Path, address: Path) -> None:
    spec = {
        "argv": [
            sys.executable,
            "-I",
            "-S",
            str(_HERE / "attendant.py"),
            str(address),
            "-f",
            "{connection_file}",
        ],
        "display_name": "Python 3",
        "language": "python",
    }
    place = folder / "kernels" / NAME
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop("JUPYTER_PATH", None)
    else:
        os.environ["JUPYTER_PATH"] = before
