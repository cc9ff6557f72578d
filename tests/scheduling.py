"""Which tests share a process when several run side by side."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/browser/",)  # one visit to every page serves all tests of such a folder


def share(name: str) -> str:
    """Return the share of the work that a test belongs to: its folder's, or its own."""
    return next((folder for folder in TOGETHER if name.startswith(folder)), name)


class InShares(LoadScopeScheduling):
    """Give each share to one process, the largest first; a share is a test unless said otherwise.

    The marks of pytest-xdist for this are lost under pytest 9.2, where the name of a test can no
    longer be changed after it was found; then two processes visit every page.
    """

    def _split_scope(self, nodeid: str) -> str:
        return share(nodeid)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note a finished test; a finished share is forgotten.

        What is kept is counted again after every test, thousands of shares thousands of times.
        """
        work, name = self.assigned_work[node], share(self.registered_collections[node][item_index])
        if name in work:
            super().mark_test_complete(node, item_index, duration)
            if all(work[name].values()):
                del work[name]


def scheduler(config: Any, log: Any) -> InShares:
    """Return what hands the tests out."""
    return InShares(config, log)
