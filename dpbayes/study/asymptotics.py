"""What every mechanism tends to as the data grow: step laws, and mean distances without
a law.

Far from the edges a posterior moves by H(t) = c |t| when t records change category,
with c^2 t^2 = sum_i t_i^2 / (8 a_i). The released *step* keeps a law that no longer
depends on n, and the mean distance is c times its mean. Answers question 1 of A's
future work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbayes import _validate
from dpbayes.laws.finite import normalised
from dpbayes.laws.steps import TAIL, StepLaw
from dpbayes.mechanisms.capabilities import Steps, own
from dpbayes.mechanisms.protocol import Mechanism

_LARGEST_WINDOW = 3000


def step_law(mechanism: Mechanism, k: int = 2) -> StepLaw:
    """Return the large-n step law of a mechanism, as its exact type states it.

    decay = epsilon/factor for the exponential family with S = LS, 1/scale and floored
    for lapMech and ilapMech, epsilon for the truncated geometric. ValueError for
    expMech: its sensitivity does not shrink, its steps have no limit and its mean
    distance tends to 1.
    """
    stated = own(mechanism, Steps)
    if stated is None:
        raise ValueError(f"no large-n law is known for {mechanism.name!r}")
    return stated.step_law(k)


def unit_distance(concentration: ArrayLike) -> float:
    """Return the limit c = sqrt((1/a + 1/b)/8) of LS(x), a and b the two smallest
    parameters.
    """
    a = _validate.prior("concentration", concentration)
    return float(np.sqrt((1.0 / np.sort(a)[:2]).sum() / 8.0))


@dataclass(frozen=True)
class Prediction:
    """Large-n values of one release: the mean distance c E|T| and its first correction.

    The exact mean is `mean_distance` (1 + `correction`) up to O(1/n^2); nan for k = 3.
    """

    mean_distance: float
    correction: float = float("nan")

    @property
    def corrected(self) -> float:
        """The mean distance with its first correction, right up to O(1/n^2)."""
        return self.mean_distance * (1.0 + self.correction)


def predict(mechanism: Mechanism, counts: ArrayLike, prior: ArrayLike) -> Prediction:
    """Return the large-n values of a mechanism at these counts, shape (k,) with k = 2
    or 3.

    For the exponential family they hold once S(x) = LS(x); compare
    `sensitivity(...).records_away`.
    """
    x, alpha = _validate.counts_and_prior(counts, prior)
    a = alpha + x
    if a.size == 2:
        law = step_law(mechanism)
        return Prediction(unit_distance(a) * law.mean_step, _correction(law, a))
    if a.size == 3:
        return Prediction(_mean_of_three(step_law(mechanism, 3), a))
    raise ValueError(
        f"counts must have 2 or 3 categories for a prediction, got {a.size}"
    )


def _correction(law: StepLaw, a: NDArray[np.float64]) -> float:
    # H(t) = c|t| (1 + shift - tilt t - c^2 t^2/4) up to O(1/n^2) relative; see
    # thm-large-n-error.
    inverse = 1.0 / a
    shift = 0.25 * (inverse**2).sum() / inverse.sum()
    tilt = 0.25 * (inverse[0] - inverse[1])
    c2 = inverse.sum() / 8.0
    signed = float(np.dot(law.probabilities, law.steps * np.abs(law.steps)))
    total = shift * law.mean_step - tilt * signed - 0.25 * c2 * law.moment(3)
    if law.scored:
        spread = law.moment(2) - law.mean_step**2
        cubic = law.moment(4) - law.mean_step * law.moment(3) - spread
        total += law.decay * (abs(tilt) * spread + 0.25 * c2 * cubic)
    return float(total / law.mean_step)


def _mean_of_three(law: StepLaw, a: NDArray[np.float64]) -> float:
    steps = [law.steps, law.steps]
    if law.scored:
        # |t_i| <= sqrt(8 a_i) H, so steps beyond this window weigh less than e^-45.
        window = np.ceil(
            TAIL / law.decay * unit_distance(a) * np.sqrt(8.0 * a[:2])
        ).astype(int)
        if window.max() > _LARGEST_WINDOW:
            raise ValueError(
                f"the lattice sum for decay {law.decay:g} needs {window.max()} steps to"
                f" each side; at most {_LARGEST_WINDOW} are summed"
            )
        steps = [np.arange(-reach, reach + 1) for reach in window]
    first, second = np.meshgrid(*steps, indexing="ij")
    squares = first**2 / a[0] + second**2 / a[1] + (first + second) ** 2 / a[2]
    distances = np.sqrt(squares / 8.0).ravel()
    if law.scored:
        weights = np.exp(normalised(-law.decay / unit_distance(a) * distances))
    else:
        weights = np.outer(law.probabilities, law.probabilities).ravel()
    return float(weights @ distances)
