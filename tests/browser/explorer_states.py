"""Random states of the explorer, with hostile corners, and what the package says about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbayes.mechanisms import REGISTRY
from dpbayes.mechanisms.protocol import Mechanism
from dpbayes.study.one_release import EXPLORED, NOISY, NOMINAL, RAISED, explored

SIZES = (1, 2, 3, 499, 500)
PARAMETERS = (1e-6, 1e-3, 0.5, 1.0, 1.5, 30.0, 1e4)
EPSILONS = (0.01, 0.1, 1.0, 20.0)
NUMBER = 1000
WALK = "permute-and-flip"
LONGEST_WALK = 120  # the package's law of every data set costs the cube of the records


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def either(rng: np.random.Generator, corners: tuple[Any, ...], value: Any, share: float) -> Any:
    """Return one of the corners in that share of all cases, else the value."""
    return corners[rng.integers(len(corners))] if rng.random() < share else value


def random_state(rng: np.random.Generator) -> dict[str, Any]:
    n = int(either(rng, SIZES, int(log_uniform(rng, 1.0, 501.0)), 0.15))
    name = str(rng.choice(EXPLORED))
    n = min(n, LONGEST_WALK) if name == WALK else n
    equal = rng.random() < 0.4
    prior = [float(either(rng, PARAMETERS, log_uniform(rng, 1e-3, 1e3), 0.5)) for _ in range(2)]
    ones = int(either(rng, (0, n), int(rng.integers(n + 1)), 0.3))
    reach = (ones if name in RAISED else -n, 2 * n) if name in NOISY else (0, n)
    audited = rng.random() < 0.2 and name not in NOMINAL
    return {
        "n": n,
        "ones": ones,
        "prior": [prior[0], prior[0] if equal else prior[1]],
        "epsilon": float(either(rng, EPSILONS, log_uniform(rng, 0.01, 20.0), 0.3)),
        "mechanism": name,
        "gamma": log_uniform(rng, 0.05, 10.0),
        "delta": log_uniform(rng, 1e-12, 0.1),
        "promise": "audited" if audited else "nominal",
        "distance": "published" if rng.random() < 0.25 else "hellinger",
        "noisy": int(rng.integers(reach[0], reach[1] + 1)),
    }


def random_states(number: int = NUMBER, seed: int = 15) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [random_state(rng) for _ in range(number)]


def mechanism_of(state: dict[str, Any]) -> Mechanism:
    """Return the nominal mechanism of a state."""
    assert state["mechanism"] in REGISTRY
    parts = ("epsilon", "gamma", "delta", "distance")
    return explored(state["mechanism"], **{part: state[part] for part in parts})
