"""How much goes on side by side: pages are written by several processes.

Jupyter Book has no option for that. Pages are read by one process: two of the theme's extensions
do not say whether they could be read by more.
"""

from __future__ import annotations

import os

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def write_side_by_side(app: Sphinx, env: BuildEnvironment) -> None:
    """Let all pages have been read, then use as many processes as there are processors."""
    app.parallel = max(app.parallel, processors())


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
