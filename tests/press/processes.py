"""Waiting for processes that a test has started."""

from __future__ import annotations

import os
import time


def gone(process: int) -> bool:
    """Return whether a process ends within twenty seconds."""
    for _ in range(400):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
