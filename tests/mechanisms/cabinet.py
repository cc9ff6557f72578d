"""Mechanisms broken in one point each, some forty in all, which the suite has to
notice.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import dpbayes as dp
from dpbayes.laws.finite import FiniteLaw, normalised
from dpbayes.laws.numbers import (
    Estimate,
)
from dpbayes.laws.steps import StepLaw
from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.calibrations import GlobalCalibration, SmoothCalibration
from dpbayes.mechanisms.exponential import ExponentialMechanism
from dpbayes.mechanisms.geometric import TruncatedGeometric
from dpbayes.mechanisms.lattice import SumZeroLattice
from dpbayes.mechanisms.protocol import Guarantee, exact_epsilon
from dpbayes.samplers.whole_numbers import two_sided_geometric
from dpbayes.sensitivity import Sensitivity
from dpbayes.study.broken import ClampBeforeNoise, HalfTheNoise, OneCountClean
from tests.mechanisms.conformance import Setting

EPSILON = 0.5


def setting(mechanism, n=12, prior=(1.0, 1.0), draws=0, advertised=EPSILON):
    return Setting(mechanism, n, prior, draws, advertised)


# --- Laws with one wrong number
# -----------------------------------------------------------------


@dataclass(frozen=True)
class Altered:
    """The geometric mechanism with its law changed by a function of logs, outputs and
    counts.
    """

    change: Any
    outside: float = 0.0
    kind: type = FiniteLaw
    epsilon: float = EPSILON
    name: str = "altered"

    def law(self, counts, prior):
        law = TruncatedGeometric(self.epsilon).law(counts, prior)
        logs, outputs = self.change(
            law.log_probabilities.copy(), law.outputs.copy(), law.counts
        )
        return self.kind(law.prior, law.counts, outputs, logs, self.outside)


def altered(change, outside=0.0):
    return setting(Altered(change, outside))


def at_first(value):
    return altered(lambda logs, outputs, counts: (np.append(value, logs[1:]), outputs))


def shifted(by, outside=0.0):
    return altered(lambda logs, outputs, counts: (logs + by, outputs), outside)


def sharper(factor):
    """Noise that is smaller by a function of the first count."""
    return altered(lambda logs, outputs, x: (normalised(factor(x[0]) * logs), outputs))


def truth_now_and_then(logs, outputs, counts):
    true = np.all(outputs == counts, axis=1)
    return np.log((1 - 1e-3) * np.exp(logs) + 1e-3 * true), outputs


def bounded_noise(logs, outputs, counts):
    logs[np.abs(outputs[:, 0] - counts[0]) > 3] = -np.inf
    return normalised(logs), outputs


def answering(**answers):
    """The geometric mechanism with one answer of its law replaced."""
    kind = type("Odd", (FiniteLaw,), answers)
    return setting(Altered(lambda logs, outputs, counts: (logs, outputs), kind=kind))


def sampling_too_sharply(law, size, rng):
    sharp = normalised(1.1 * law.log_probabilities)
    return FiniteLaw(law.prior, law.counts, law.outputs, sharp).rvs(size, rng)


# --- Subclasses of mechanisms that were proved
# --------------------------------------------------


@dataclass(frozen=True)
class Truthful(ExponentialMechanism):
    def law(self, counts, prior):
        law = super().law(counts, prior)
        with np.errstate(divide="ignore"):
            logs = np.log(np.all(law.outputs == law.counts, axis=1).astype(float))
        return FiniteLaw(law.prior, law.counts, law.outputs, logs)


@dataclass(frozen=True)
class Hasty(ExponentialMechanism):
    def rate(self, counts, prior):
        return 1e4 * super().rate(counts, prior)


def changed(kind, *made, **parts):
    """One of these mechanisms, or calibrations, with methods of its own."""
    return dataclass(frozen=True)(type(f"Changed{kind.__name__}", (kind,), parts))(
        *made
    )


def geometrically(**parts):
    return setting(changed(TruncatedGeometric, EPSILON, **parts))


def declared(**parts):
    spec = replace(REGISTRY["geometric"], **parts)
    return replace(setting(TruncatedGeometric(EPSILON)), spec=spec)


def exponential(kind, calibration=None):
    return setting(kind(EPSILON, calibration or SmoothCalibration()), 8)


def half_the_sensitivity(calibration, counts, prior, epsilon, metric):
    found = dp.global_sensitivity(int(np.sum(counts)), prior, metric)
    return Sensitivity(0.4 * found.value, found.witness)


def unchecked(mechanism, counts, prior):
    whole = np.floor(np.abs(np.nan_to_num(np.array(list(counts), dtype=float))))
    x = np.resize(whole, 2).astype(int)
    return TruncatedGeometric(mechanism.epsilon).law(x, np.ones(2))


# --- Promises that say too much
# -----------------------------------------------------------------


class RoundedDown(Guarantee):
    @property
    def sentence(self):
        return super().sentence.replace("e^1.0000004", "e^1")


def promising(
    kind, epsilon, share=1, theorem="thm-geometric-private", failure=0, said=Guarantee
):
    """A mechanism that promises a share of its epsilon."""

    def guarantee(mechanism, k):
        bound = exact_epsilon(mechanism.epsilon) * Fraction(share)
        return said(bound, "said aloud", theorem, Fraction(failure))

    return setting(changed(kind, epsilon, guarantee=guarantee), 6 if failure else 12)


# --- Samplers
# -----------------------------------------------------------------------------------


def drawing(step):
    """A geometric mechanism whose draw turns count, n, rate and bits into a released
    count.
    """

    def draw(mechanism, counts, prior, bits):
        n = int(counts.sum())
        first = step(int(counts[0]), n, exact_epsilon(mechanism.epsilon), bits)
        return np.array([first]), np.array([first, n - first])

    return changed(TruncatedGeometric, EPSILON, draw=draw)


def adding(noise):
    """The same with noise from rate and bits, clamped as it should be."""
    return drawing(lambda x, n, rate, bits: min(max(x + noise(rate, bits), 0), n))


ASKED, THREE, TWICE = itertools.count(), (1.0, 1.0, 1.0), [*range(13), 12]

CABINET: dict[str, Setting] = {
    "nan in one place": at_first(np.nan),
    "sums to one and a millionth": shifted(1e-6),
    "an output lost": at_first(-np.inf),
    "outputs left off and the rest scaled": altered(bounded_noise),
    "an output listed twice": altered(lambda logs, rows, x: (logs[TWICE], rows[TWICE])),
    "mass outside": shifted(0.0, 1e-6),
    "a count below zero": altered(lambda logs, rows, x: (logs, rows - [1, 0])),
    "one data set mirrored": altered(
        lambda logs, rows, x: (logs[:: -1 if x[0] == 3 else 1], rows)
    ),
    "the truth one time in a thousand": altered(truth_now_and_then),
    "less noise for no record": sharper(lambda x: 4.0 if x == 0 else 1.0),
    "noise five percent too small": sharper(lambda x: 1.05),
    "another law each time": sharper(lambda x: 1 + 0.01 * next(ASKED)),
    "half the mean": answering(
        mean_distance=lambda law: Estimate(
            0.5 * law.moment(1, "hellinger"), 0.0, "listed"
        )
    ),
    "distances of zero": answering(distances=property(lambda law: np.zeros(13))),
    "median at the end": answering(quantile=lambda law, q: law.distances.max()),
    "probability of the mirror image": answering(
        one_probability=lambda law, x: FiniteLaw.one_probability(law, x[::-1])
    ),
    "samples ten percent too sharp": answering(rvs=sampling_too_sharply),
    "half the noise": setting(HalfTheNoise(EPSILON)),
    "clamp before noise": setting(ClampBeforeNoise(EPSILON)),
    "one count left clean": setting(OneCountClean(EPSILON), 6, THREE),
    "one-sided noise": setting(dp.mechanism("draft-laplace", EPSILON)),
    "local sensitivity as if global": setting(
        dp.mechanism("expMech-local", 1.0), 300, (0.02, 0.02), advertised=1.0
    ),
    "noise for one change, two counts": setting(
        dp.mechanism("ilapMech", EPSILON, sensitivity=1.0), 5, THREE
    ),
    "an exponential mechanism that tells the truth": exponential(Truthful),
    "a rate ten thousand times too large": exponential(Hasty),
    "a factor of a thousandth": exponential(
        ExponentialMechanism, changed(SmoothCalibration, factor=1e-3)
    ),
    "less than half the sensitivity": exponential(
        ExponentialMechanism,
        changed(GlobalCalibration, sensitivity=half_the_sensitivity),
    ),
    "a lattice at twice epsilon": setting(
        changed(
            SumZeroLattice,
            EPSILON,
            law=lambda one, *at: SumZeroLattice(2 * EPSILON).law(*at),
        ),
        5,
        THREE,
    ),
    "half of epsilon promised": promising(TruncatedGeometric, EPSILON, Fraction(1, 2)),
    "a proof that is nowhere": promising(
        TruncatedGeometric, EPSILON, theorem="thm-nowhere"
    ),
    "epsilon rounded down": promising(TruncatedGeometric, 1.0000004, said=RoundedDown),
    "a delta too small": promising(
        SumZeroLattice,
        EPSILON,
        Fraction(1, 2),
        "thm-lattice-private",
        Fraction(1, 10**9),
    ),
    "a source that is nowhere": declared(sources=("no",)),
    "a definition that is nowhere": declared(name="nothing"),
    "input taken as it comes": geometrically(law=unchecked),
    "a large-n law ten percent off": geometrically(
        step_law=lambda one, k=2: StepLaw(0.45)
    ),
    "likelihoods ten percent off": geometrically(
        draw=TruncatedGeometric.draw,
        log_likelihoods=lambda one, noisy, n, k: [
            -0.9 * EPSILON * abs(noisy[0] - np.arange(n + 1)),
            np.zeros(n + 1),
        ],
    ),
    "draws ten percent too sharp": setting(
        adding(lambda rate, bits: two_sided_geometric(bits, rate * Fraction(11, 10))),
        draws=12_000,
    ),
    "the truth drawn now and then": setting(
        adding(lambda rate, bits: bits.bits(4) and two_sided_geometric(bits, rate)),
        draws=12_000,
    ),
    "draws that are not clamped": setting(
        drawing(lambda x, n, rate, bits: x + two_sided_geometric(bits, rate)), draws=500
    ),
    "draws that use no bits": setting(adding(lambda rate, bits: 0), draws=50),
}
