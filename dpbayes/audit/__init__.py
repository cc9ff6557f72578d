"""Actual privacy loss by complete enumeration, delta(epsilon), calibration and composition.

`dpbayes.audit` names this package and, in `dpbayes.audit(mechanism, n, prior)`, the function: the
package can be called, so that the call works whichever of the two was loaded first.
"""

from __future__ import annotations

import sys
from types import ModuleType

from numpy.typing import ArrayLike

from dpbayes.audit.calibration import calibrate
from dpbayes.audit.exact import Audit, DeltaCurve, audit, audit_corners
from dpbayes.audit.losses import DeltaWitness, PairAudit, Witness, audit_pair
from dpbayes.mechanisms.protocol import Mechanism

pair = audit_pair


class _CallablePackage(ModuleType):
    def __call__(self, mechanism: Mechanism, n: int, prior: ArrayLike) -> Audit:
        return audit(mechanism, n, prior)


sys.modules[__name__].__class__ = _CallablePackage

__all__ = [
    "Audit",
    "DeltaCurve",
    "DeltaWitness",
    "PairAudit",
    "Witness",
    "audit",
    "audit_corners",
    "audit_pair",
    "calibrate",
    "pair",
]
