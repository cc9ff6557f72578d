"""Work that is killed at a step, in a process of its own, for tests of what it leaves
behind.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


def killed_at(step: int, work: Callable[[], object], *watched: tuple[Any, str]) -> int:
    """Do some work in a process that ends as its `step`-th step begins; return its exit
    status.

    A step begins where a function of `watched` is entered, and where it is left. The
    status of work that comes to its end is the number of its steps.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    count = 0

    def reach() -> None:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def stepped(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            reach()
            result = function(*given, **named)
            reach()
            return result

        return call

    try:
        for place, name in watched:
            setattr(place, name, stepped(getattr(place, name)))
        work()
        os._exit(count)
    finally:
        os._exit(255)
