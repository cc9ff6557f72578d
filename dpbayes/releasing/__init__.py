"""Releases of real data: exact whole-number samplers, system randomness, guarantees in words."""

from __future__ import annotations

from dpbayes.mechanisms.guarantees import Guarantee, guarantee
from dpbayes.releasing.noise_aware import NoiseAwarePosterior, noise_aware
from dpbayes.releasing.record import Release, release

__all__ = ["Guarantee", "NoiseAwarePosterior", "Release", "guarantee", "noise_aware", "release"]
