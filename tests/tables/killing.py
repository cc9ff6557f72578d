"""A program that is killed at a step of its work, for tests of what it leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, signal, sys
{imports}
left = [{step}]
def counted(place, name):
    function = getattr(place, name)
    def call(*given, **named):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **named)
    setattr(place, name, call)
for step in "{steps}".split():
    *path, name = step.split(".")
    place = globals()[path[0]]
    counted(getattr(place, path[1]) if path[1:] else place, name)
{work}
print(left[0])
"""


def killed_at(
    step: int, folder: Path, *, imports: str, steps: str, work: str
) -> subprocess.CompletedProcess[str]:
    """Run some work in a process of its own that is killed as it begins its `step`-th step.

    `steps` names the functions whose calls are counted, each as module.function or
    module.Class.function. Work that comes to its end prints how many steps were left.
    """
    program = PROGRAM.format(step=step, imports=imports, steps=steps, work=work)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
