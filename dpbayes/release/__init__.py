"""Releases of real data: exact whole-number samplers, system randomness, guarantees in words.

`dpbayes.release` is the name of this package and of its main function; calling the package calls
the function, whichever of the two was loaded first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from dpbayes.release.guarantees import Guarantee, guarantee
from dpbayes.release.noise_aware import NoiseAwarePosterior, noise_aware
from dpbayes.release.record import Release, release

__all__ = ["Guarantee", "NoiseAwarePosterior", "Release", "guarantee", "noise_aware", "release"]


class _CallablePackage(ModuleType):
    """A package that can be called like the function it is named after."""

    def __call__(self, *arguments: Any, **options: Any) -> Release:
        return release(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
