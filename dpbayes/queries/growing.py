"""Arrays that grow without being copied, shared by all states of one history.

A state reads the first entries of such an array; its successor adds some behind them, in place. So
no state changes under who holds it, and one that is gone back to, because an answer could not be
kept, finds its own entries as they were.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from dpbayes._validate import frozen

_CLAIM = threading.Lock()
_LEAST_ROOM = 16


class Growing:
    """Room for the entries of a growing array along its first axis.

    >>> first = Growing(np.zeros(1))
    >>> second = first.with_more(1, np.ones(2))
    >>> first.head(1), second.head(3)
    (array([0.]), array([0., 1., 1.]))
    >>> third = first.with_more(1, np.full(2, 5.0))
    >>> second.head(3), third.head(3)
    (array([0., 1., 1.]), array([0., 5., 5.]))
    """

    def __init__(self, entries: NDArray[np.float64], most: int | None = None) -> None:
        """Hold `entries`; there will never be more than `most` of them, where that is known."""
        self._room, self._most, self._used = entries, most, entries.shape[0]

    def head(self, size: int) -> NDArray[np.float64]:
        """Return the first `size` entries, as a view that cannot be written to."""
        return frozen(self._room[:size])

    def with_more(self, size: int, entries: NDArray[np.float64]) -> Growing:
        """Return an array of our first `size` entries and then the given ones.

        It is this one, if nobody has added anything after the first `size` yet, and a copy else.
        What is added is out of sight of everybody else: a step that ends halfway leaves no trace
        but lost room.
        """
        end = size + entries.shape[0]
        with _CLAIM:
            ours = self._used == size and end <= self._room.shape[0]
            if ours:
                self._used = end
        if ours:
            self._room[size:end] = entries
            return self
        room = max(2 * end, _LEAST_ROOM)
        if self._most is not None:
            room = max(min(room, self._most), end)
        grown = self._copied(size, room)
        grown._room[size:end], grown._used = entries, end
        return grown

    def apart(self, size: int) -> tuple[Growing, NDArray[np.float64]]:
        """Return a copy of the first `size` entries with as much room, and them to be written to.

        >>> old = Growing(np.zeros(2))
        >>> new, entries = old.apart(2)
        >>> entries += 1.0
        >>> old.head(2), new.head(2)
        (array([0., 0.]), array([1., 1.]))
        """
        copy = self._copied(size, max(self._room.shape[0], size))
        return copy, copy._room[:size]

    def _copied(self, size: int, room: int) -> Growing:
        wider = np.empty((room, *self._room.shape[1:]))
        wider[:size] = self._room[:size]
        copy = Growing(wider, self._most)
        copy._used = size
        return copy
