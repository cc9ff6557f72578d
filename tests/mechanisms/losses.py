"""The privacy loss of a mechanism by plain loops over its laws."""

from __future__ import annotations

import numpy as np

import dpbayes as dp


def law_table(mechanism, n, prior):
    """ln P(output) for every histogram of n records: {counts: {output: log probability}}."""
    table = {}
    for x in dp.compositions(n, len(prior)):
        law = mechanism.law(x, prior)
        table[tuple(x.tolist())] = dict(
            zip(map(tuple, law.outputs.tolist()), law.log_probabilities.tolist(), strict=True)
        )
    return table


def privacy_loss(mechanism, n, prior):
    """The largest |ln P(r|x) - ln P(r|x')| over all neighbours and outputs, by plain loops."""
    table = law_table(mechanism, n, prior)
    worst = 0.0
    for x, row in table.items():
        for neighbour in dp.neighbours(list(x)):
            other = table[tuple(neighbour.tolist())]
            assert row.keys() == other.keys()
            for output, log_probability in row.items():
                if not log_probability == other[output] == -np.inf:
                    worst = max(worst, abs(log_probability - other[output]))
    return worst
