"""Audits by permutation classes against all pairs."""

import numpy as np
import pytest

import dpbayes as dp
from dpbayes.auditing.structure import by_classes, fits, number_of_classes
from dpbayes.posteriors import compositions


@pytest.mark.parametrize("name", ["expMech", "expMech-smooth", "expMech-delta", "expMech-local"])
@pytest.mark.parametrize(
    ("n", "k", "value"), [(1, 3, 1.0), (7, 2, 0.5), (9, 3, 1.0), (12, 3, 0.1), (6, 4, 1.0)]
)
def test_classes_find_what_all_pairs_find(name: str, n: int, k: int, value: float) -> None:
    mechanism = dp.mechanism(name, 1.0)
    everything = dp.audit(mechanism, n, [value] * k)
    witness = by_classes(mechanism, n, np.full(k, value))
    assert witness.loss == pytest.approx(everything.epsilon, rel=1e-12)
    assert int(np.abs(witness.counts - witness.neighbour).sum()) == 2
    laws = [mechanism.law(x, [value] * k) for x in (witness.counts, witness.neighbour)]
    ratio = [float(np.log(law.probability(witness.output))) for law in laws]
    assert ratio[0] - ratio[1] == pytest.approx(witness.loss, abs=1e-9)


@pytest.mark.parametrize(("n", "k"), [(0, 2), (1, 3), (9, 3), (12, 4)])
def test_number_of_classes_by_listing(n: int, k: int) -> None:
    rows = np.unique(np.sort(compositions(n, k), axis=1), axis=0)
    assert number_of_classes(n, k) == len(rows)


def test_sizes_beyond_all_pairs_are_audited_by_classes() -> None:
    mechanism = dp.mechanism("expMech", 1.0)
    assert fits(300, 3)
    found = dp.audit(mechanism, 105, [1.0] * 3)
    assert found.certificate.rows > 20
    assert found.certificate.difference < 1e-9
    assert 0.0 < found.epsilon <= 1.0 + 1e-12
    with pytest.raises(ValueError, match="an audit takes n up to"):
        dp.audit(mechanism, 105, [1.0, 1.0, 2.0])


def test_classes_need_one_prior_parameter() -> None:
    with pytest.raises(ValueError, match="prior must be the same for all categories"):
        by_classes(dp.mechanism("expMech", 1.0), 5, np.array([1.0, 2.0]))
