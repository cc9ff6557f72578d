"""Windows hold what psi says they must, category by category, against psi in high precision."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from dpbayes.laws.series import category_windows
from dpbayes.laws.series.category_windows import NEVER, build_windows

CASES = [((1.0, 1.0, 1.0), (5, 5, 40), 1.0, 20.0), ((0.1, 3.0), (0, 60), 2.0, 9.0),
         ((1e-3, 1.0, 1.0, 50.0), (1, 30, 30, 0), 0.5, 40.0)]  # fmt: skip


def psi(alpha: float, count: int, released: int) -> mp.mpf:
    a, b = mp.mpf(alpha) + count, mp.mpf(alpha) + released
    return mp.loggamma((a + b) / 2) - (mp.loggamma(a) + mp.loggamma(b)) / 2


@pytest.mark.parametrize(("prior", "counts", "exponent", "depth"), CASES)
def test_rows_are_psi_and_reach_past_the_depth(prior, counts, exponent, depth):
    n = sum(counts)
    windows = build_windows(np.array(prior), np.array(counts), exponent, depth)
    assert windows.copies.sum() == len(counts)
    with mp.workdps(40):
        for i, row in enumerate(windows.rows):
            for d in range(-windows.down, windows.up + 1):
                held = windows.table[row, windows.down + d]
                inside = -windows.lows[row] <= d <= windows.highs[row]
                possible = 0 <= counts[i] + d <= n
                assert inside <= possible
                if inside:
                    exact = psi(prior[i], counts[i], counts[i] + d)
                    assert abs(held - exact) <= 1e-12 * max(1, abs(exact))
                else:
                    assert held == NEVER
                    if possible:
                        assert exponent * psi(prior[i], counts[i], counts[i] + d) < -depth
            assert windows.cut_low[row] == (windows.lows[row] < counts[i])
            assert windows.cut_high[row] == (windows.highs[row] < n - counts[i])


def test_a_steeper_power_needs_a_part_of_the_table():
    windows = build_windows(np.ones(3), np.array([50, 60, 70]), 1.0, 30.0)
    for exponent in (1.0, 5.0, 300.0):
        down, up = windows.slab(exponent, 30.0)
        beyond = np.concatenate(
            (windows.table[:, : windows.down - down], windows.table[:, windows.down + up + 1 :]),
            axis=1,
        )
        assert np.all(exponent * beyond < -30.0)
    assert windows.slab(300.0, 30.0) < windows.slab(1.0, 30.0)


def test_tables_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(category_windows, "LARGEST_TABLE", 100)
    with pytest.raises(ValueError, match="at most 50 fit in memory"):
        build_windows(np.ones(2), np.array([400, 600]), 1.0, 40.0)
