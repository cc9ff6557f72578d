"""Continuous noise stands in `laplace`; this name stays until its last user is gone."""

from dpbayes.mechanisms.laplace import ContinuousLaw as ContinuousLaw
from dpbayes.mechanisms.laplace import ParameterLaplace as ParameterLaplace
