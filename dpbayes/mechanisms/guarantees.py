"""Guarantees stand in `protocol`; this name stays until its last user is gone."""

from dpbayes.mechanisms.protocol import NEIGHBOURS as NEIGHBOURS
from dpbayes.mechanisms.protocol import Epsilon as Epsilon
from dpbayes.mechanisms.protocol import Guarantee as Guarantee
from dpbayes.mechanisms.protocol import exact_epsilon as exact_epsilon
from dpbayes.mechanisms.protocol import given_epsilon as given_epsilon
from dpbayes.mechanisms.protocol import guarantee as guarantee
from dpbayes.mechanisms.protocol import own as own
from dpbayes.mechanisms.protocol import quantified as quantified
