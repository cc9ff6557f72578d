"""Independent noise stands in `geometric`; this name stays until its last user is gone."""

from dpbayes.mechanisms.geometric import IndependentLaw as IndependentLaw
from dpbayes.mechanisms.geometric import IndependentNoise as IndependentNoise
