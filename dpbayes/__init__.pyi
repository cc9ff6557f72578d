from dpbayes import figures as figures
from dpbayes import laws as laws
from dpbayes import tables as tables
from dpbayes.accuracy import Crossover as Crossover
from dpbayes.accuracy import RecordsNeeded as RecordsNeeded
from dpbayes.accuracy import crossover as crossover
from dpbayes.accuracy import laplace_step_probability as laplace_step_probability
from dpbayes.accuracy import mean_distances as mean_distances
from dpbayes.accuracy import records_needed as records_needed
from dpbayes.accuracy import split as split
from dpbayes.auditing import audit as audit
from dpbayes.auditing import audit_pair as audit_pair
from dpbayes.auditing import calibrate as calibrate
from dpbayes.auditing.calibration import Calibrated as Calibrated
from dpbayes.divergences import hellinger as hellinger
from dpbayes.divergences import hellinger_published as hellinger_published
from dpbayes.divergences import log_affinity as log_affinity
from dpbayes.mechanisms import REGISTRY as REGISTRY
from dpbayes.mechanisms import Law as Law
from dpbayes.mechanisms import Mechanism as Mechanism
from dpbayes.mechanisms import mechanism as mechanism
from dpbayes.mechanisms.protocol import Guarantee as Guarantee
from dpbayes.posteriors import Posterior as Posterior
from dpbayes.posteriors import compositions as compositions
from dpbayes.posteriors import neighbours as neighbours
from dpbayes.posteriors import number_of_candidates as number_of_candidates
from dpbayes.posteriors import posterior as posterior
from dpbayes.sensitivity import Sensitivity as Sensitivity
from dpbayes.sensitivity import global_sensitivity as global_sensitivity
from dpbayes.sensitivity import local_sensitivity as local_sensitivity
from dpbayes.sensitivity import smooth_sensitivity as smooth_sensitivity
from dpbayes.tables.drawn import Release as Release
from dpbayes.tables.drawn import release as release
from dpbayes.tables.forecast import CountError as CountError
from dpbayes.tables.forecast import count_error as count_error
from dpbayes.tables.published import read as read
from dpbayes.tables.reading import NoiseAwarePosterior as NoiseAwarePosterior

__version__: str
__all__: list[str]
_MODULE_OF: dict[str, str]
