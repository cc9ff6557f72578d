"""The settings of `tools/try_laws.py`: a right one passes, wrong ones are reported."""

import json

import numpy as np
import pytest

from tools import try_laws

SETTING = {"name": "ilapMech", "epsilon": 1.0, "counts": [5, 3, 2], "prior": 1.0}


def test_every_shape_has_its_categories_and_a_record():
    rng = np.random.default_rng(0)
    for shape in try_laws.SHAPES:
        for k, n in ((2, 1), (3, 10), (50, 10**9)):
            counts = try_laws.counts_of(shape, k, n, rng)
            assert len(counts) == k
            assert min(counts) >= 0
            assert sum(counts) > 0


def test_settings_are_those_of_their_seed():
    one, other = (
        [try_laws.random_setting(np.random.default_rng(4)) for _ in range(5)] for _ in range(2)
    )
    assert one == other
    assert json.loads(json.dumps(one)) == one


@pytest.mark.slow
def test_a_setting_in_a_process_of_its_own():
    assert try_laws.tried(SETTING) == []
    assert try_laws.tried(SETTING, limit=0.01) == ["more than 0.01 s"]
    assert "refused" in try_laws.tried({**SETTING, "epsilon": -1.0})[0]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"mean": [float("nan"), 0.0, "sum"]}, "mean nan"),
        ({"affinity": [0.5, float("nan"), "sum"]}, "affinity within nan"),
        ({"seconds": 11.0}, "11 s"),
        ({"mb": 301.0}, "301 MB"),
        ({"refused": "ValueError: no"}, "refused (ValueError: no)"),
    ],
)
def test_each_fault_is_named(change, fault):
    assert try_laws.faults({"seconds": 1.0, "mb": 100.0, **change}) == [fault]
