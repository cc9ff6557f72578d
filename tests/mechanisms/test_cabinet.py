"""The suite against the cabinet: everything in it is noticed, and by the check it is there for."""

from __future__ import annotations

import pytest

import dpbayes as dp
from dpbayes.mechanisms.protocol import own
from tests.mechanisms import conformance
from tests.mechanisms.cabinet import CABINET, setting

# For each kind of fault the checks that are there to find it.
BY_LAW = (conformance.check_laws, conformance.check_audit)
SPECIAL = {
    "samples ten percent too sharp": conformance.check_samples,
    "noise for one change, two counts": conformance.check_promise,
    "a proof that is nowhere": conformance.check_promise,
    "epsilon rounded down": conformance.check_promise,
    "a source that is nowhere": conformance.check_sources,
    "a definition that is nowhere": conformance.check_sources,
    "input taken as it comes": conformance.check_input,
    "a large-n law ten percent off": conformance.check_step_law,
    "likelihoods ten percent off": conformance.check_likelihoods,
}


def checks_for(key):
    if "draw" in key and key != "the nearest of two draws":
        return (conformance.check_draws,)
    return (SPECIAL[key],) if key in SPECIAL else BY_LAW


@pytest.mark.slow
@pytest.mark.parametrize("key", CABINET)
def test_the_fault_is_noticed(key):
    assert conformance.complaints(CABINET[key], checks_for(key)) != []


@pytest.mark.parametrize("key", CABINET)
def test_nothing_with_a_fault_in_its_law_is_released(key):
    """Either it promises nothing, or what it promises is what the audit holds it to."""
    case = CABINET[key]
    if own(case.mechanism, "guarantee") is not None:
        return
    k = len(case.prior)
    with pytest.raises((ValueError, TypeError), match="must have a proved guarantee"):
        dp.release(case.mechanism, [case.n, *[1] * (k - 1)], case.prior)


@pytest.mark.slow
def test_what_is_right_gives_no_complaint_in_the_same_settings():
    assert conformance.complaints(setting(dp.mechanism("geometric", 0.5), draws=3000)) == []
