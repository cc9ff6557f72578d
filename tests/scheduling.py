"""Which tests share a process when several run side by side, and which come first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/browser/",)  # one visit to every page serves all tests of such a folder


class InShares(LoadScopeScheduling):
    """Give each share to one process, those that may take long first.

    A share is a file, whose tests have their preparations in common; a test of ``spread``, where it
    is listed or its function or file is, is a share by itself. The marks of pytest-xdist for this
    are lost under pytest 9.2, where the name of a test can no longer be changed after it was found;
    then two processes visit every page.
    """

    def __init__(self, config: Any, log: Any = None, spread: frozenset[str] = frozenset()) -> None:
        super().__init__(config, log)
        self.spread = spread
        self.in_order = False

    def _split_scope(self, nodeid: str) -> str:
        file, function = nodeid.partition("::")[0], nodeid.partition("[")[0]
        if {nodeid, function, file} & self.spread:
            file = nodeid
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), file)

    def rank(self, share: str) -> tuple[bool, bool, int]:
        """Return how early a share comes, the largest first: its kind, and how much it may take.

        A file of which much is listed takes long to prepare, whatever is run of it.
        """
        file = share.partition("::")[0]
        listed = sum(name.startswith(f"{file}::") for name in self.spread)
        many = len(self.workqueue[share]) + 40 * listed
        return share in TOGETHER, file in self.spread, 40 if "::" in share else many

    def _assign_work_unit(self, node: Any) -> None:
        """Put the shares in order before the first is given away."""
        if not self.in_order:
            ranks = {share: self.rank(share) for share in self.workqueue}
            order = sorted(self.workqueue, key=ranks.__getitem__, reverse=True)
            self.workqueue = OrderedDict((share, self.workqueue[share]) for share in order)
            self.in_order = True
        super()._assign_work_unit(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note a finished test; a finished share is forgotten.

        What is kept is counted again after every test, thousands of shares thousands of times.
        """
        work = self.assigned_work[node]
        name = self._split_scope(self.registered_collections[node][item_index])
        if name in work:
            super().mark_test_complete(node, item_index, duration)
            if all(work[name].values()):
                del work[name]


def scheduler(config: Any, log: Any, spread: frozenset[str] = frozenset()) -> InShares:
    """Return what hands the tests out."""
    return InShares(config, log, spread)
