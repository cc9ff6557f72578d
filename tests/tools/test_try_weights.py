"""The hostile weights of `tools/try_weights.py`: a few of each kind, and a law that is caught."""

import numpy as np
import pytest

from tools import try_weights


def test_nothing_goes_wrong_with_a_few_hostile_weights(capsys):
    assert try_weights.main(60, 3) == 0
    assert "60 tried" in capsys.readouterr().out


def test_every_kind_holds_weights_of_all_sizes():
    rng = np.random.default_rng(0)
    for kind in try_weights.KINDS:
        assert all(kind(rng, m).shape == (m,) and kind(rng, m).min() > 0.0 for m in (1, 2, 64))


@pytest.mark.parametrize("factor", [1.0001, float("nan")])
def test_a_wrong_half_width_is_reported(monkeypatch, factor, capsys):
    right = try_weights.NoiseLaw.half_width
    monkeypatch.setattr(try_weights.NoiseLaw, "half_width", lambda law, d: factor * right(law, d))
    assert try_weights.main(5, 1) == 5
    assert "5 wrong" in capsys.readouterr().out
