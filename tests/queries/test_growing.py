"""Arrays that several states share: whoever adds first stays in place, everybody else copies."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

from dpbayes.queries.growing import Growing


def test_growing_at_the_end_copies_seldom() -> None:
    array, size, copies = Growing(np.zeros((0, 3))), 0, 0
    for i in range(1000):
        grown = array.with_more(size, np.full((1, 3), float(i)))
        copies, array, size = copies + (grown is not array), grown, size + 1
    assert np.array_equal(array.head(size), np.repeat(np.arange(1000.0)[:, None], 3, axis=1))
    assert copies <= 8


def test_room_never_passes_what_can_come() -> None:
    array = Growing(np.zeros(60), 100).with_more(60, np.ones(1))
    for size in range(61, 100):
        assert array.with_more(size, np.ones(1)) is array
    assert array.with_more(100, np.ones(1)).head(101).sum() == 41.0


def test_what_is_read_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Growing(np.zeros(3)).head(2)[0] = 1.0


def test_of_two_that_grow_at_once_one_copies() -> None:
    for _ in range(50):
        start = Growing(np.zeros(1)).with_more(1, np.ones(1))
        found: dict[int, Growing] = {}
        ready = threading.Barrier(4)

        def grow(
            i: int, start: Growing = start, found: dict = found, ready: threading.Barrier = ready
        ) -> None:
            ready.wait()
            found[i] = start.with_more(2, np.full(2, float(i)))

        threads = [threading.Thread(target=grow, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(one is start for one in found.values()) == 1
        for i, one in found.items():
            assert one.head(4).tolist() == [0.0, 1.0, i, i]


def test_a_copy_is_on_its_own() -> None:
    one = Growing(np.zeros(1)).with_more(1, np.ones(1))
    other = copy.deepcopy(one)
    one.with_more(2, np.full(1, 5.0))
    assert other.with_more(2, np.full(1, 7.0)).head(3).tolist() == [0.0, 1.0, 7.0]
    assert one.head(3).tolist() == [0.0, 1.0, 5.0]
