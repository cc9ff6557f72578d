"""Try the law of the noise on hostile weights: nothing may hang, be NaN or miss its confidence.

    python tools/try_weights.py [number [seed]]

Weights of 1 to 64 answers with scales from 1e-300 to 1e300, dust, ties, one dominant weight. For
each the half-width of a random confidence is found and its tail computed; a call that takes ten
seconds of one core counts as hanging. Prints how many of each kind were tried and what went wrong.
"""

from __future__ import annotations

import math
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpbayes.queries import NoiseLaw

LONGEST = 10.0
TOLERANCE = 1e-9
REPORT = 10_000

Weights = NDArray[np.float64]


def scales(rng: np.random.Generator, m: int) -> Weights:
    """Return weights of all sizes a float has."""
    return np.asarray(10.0 ** rng.uniform(-300.0, 300.0, m))


def dust(rng: np.random.Generator, m: int) -> Weights:
    """Return one ordinary weight and many that are close to nothing beside it."""
    return np.append(rng.uniform(0.5, 2.0), 10.0 ** rng.uniform(-17.0, -8.0, m - 1))


def ties(rng: np.random.Generator, m: int) -> Weights:
    """Return weights of a few values each, some of which differ in the last digit only."""
    few = 10.0 ** rng.uniform(-3.0, 3.0, 3)
    return np.asarray(rng.choice(few, m) * (1.0 + 2.0**-52 * rng.integers(-1, 2, m)))


def dominant(rng: np.random.Generator, m: int) -> Weights:
    """Return one weight that outweighs all others together, by any factor."""
    rest = rng.uniform(0.1, 1.0, m - 1)
    return np.append(rest, (1.0 + rest.sum()) * 10.0 ** rng.uniform(0.0, 20.0))


KINDS: tuple[Callable[[np.random.Generator, int], Weights], ...] = (scales, dust, ties, dominant)


def fault(weights: Weights, delta: float) -> str:
    """Return what is wrong with the half-width and its tail, or nothing."""
    law = NoiseLaw(weights)
    half = law.half_width(delta)
    if not (math.isfinite(half) and half > 0.0):
        return f"half-width {half!r}"
    log_tail = law.log_tail(half)
    if not abs(log_tail - math.log(0.5 * delta)) <= TOLERANCE * (1.0 - math.log(delta)):
        return f"log tail {log_tail!r} at the half-width of {delta!r}"
    return ""


def _hanging(signum: int, frame: object) -> NoReturn:
    raise TimeoutError


def attempt(rng: np.random.Generator) -> tuple[str, str]:
    """Return the kind that was tried, and its fault if it has one."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    weights = kind(rng, int(rng.integers(1, 65)))
    delta = float(10.0 ** rng.uniform(-12.0, -0.01))
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        wrong = fault(weights, delta)
    except (ArithmeticError, TimeoutError) as error:
        wrong = f"{type(error).__name__} {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    return kind.__name__, f"{wrong}: {weights.tolist()!r}" if wrong else ""


def main(number: int = 1_000_000, seed: int = 1) -> int:
    """Try `number` vectors; return how many went wrong."""
    signal.signal(signal.SIGVTALRM, _hanging)
    rng, tried, wrong = np.random.default_rng(seed), Counter[str](), 0
    for i in range(1, number + 1):
        kind, problem = attempt(rng)
        tried[kind] += 1
        if problem:
            wrong += 1
            print(kind, problem, flush=True)
        if i % REPORT == 0 or i == number:
            print(f"{i} tried, {dict(sorted(tried.items()))}, {wrong} wrong", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(*(int(value) for value in sys.argv[1:])), 1))
