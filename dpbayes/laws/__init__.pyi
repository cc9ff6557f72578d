from dpbayes.laws.estimate import MonteCarlo as MonteCarlo
from dpbayes.laws.finite import FiniteLaw as FiniteLaw
from dpbayes.laws.law import Law as Law
from dpbayes.laws.law import Listed as Listed
from dpbayes.laws.law import mean_difference as mean_difference
from dpbayes.laws.numbers import Estimate as Estimate
from dpbayes.laws.numbers import Estimates as Estimates
from dpbayes.laws.steps import StepLaw as StepLaw

__all__: list[str]
