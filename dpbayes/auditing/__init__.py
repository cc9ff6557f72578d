"""Actual privacy loss by complete enumeration, delta(epsilon), calibration and
composition.
"""

from __future__ import annotations

from dpbayes.auditing.calibration import calibrate
from dpbayes.auditing.exact import Audit, audit, audit_corners, audit_pair

__all__ = ["Audit", "audit", "audit_corners", "audit_pair", "calibrate"]
