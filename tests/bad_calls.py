"""Good calls of every public function, and the values no argument of a kind may take.

A bad call is a good one with one argument exchanged for a value its kind forbids. It must end in a
ValueError or TypeError whose message names the argument, the value and what is allowed.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import dpbayes as dp
from dpbayes import tables as qu
from dpbayes.laws.exponential import ExponentialLaw

SECONDS = 5.0
HUGE = 10**400


class _NoArray:
    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError("this object has no array")

    def __repr__(self) -> str:
        raise RuntimeError("this object has no text")


class _Plain:
    def __repr__(self) -> str:
        return "<plain>"


NOT_NUMBERS: tuple[Any, ...] = (
    None,
    "1",
    "",
    "nan",
    b"1",
    True,
    np.bool_(True),
    1j,
    np.complex128(1),
    [1.0],
    (),
    {},
    {1},
    object(),
    _Plain(),
    _NoArray(),
    float,
    len,
    np.array([1.0]),
    bytearray(b"1"),
    np.ma.masked,
)
NOT_FINITE: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    np.float32("nan"),
    HUGE,
    -HUGE,
    10**5000,
)
NOT_ARRAYS: tuple[Any, ...] = (
    None,
    "1,2",
    "",
    b"ab",
    bytearray(b"ab"),
    memoryview(b"ab"),
    object(),
    _NoArray(),
    {1: 2},
    {1, 2},
    [1, None],
    ["1", "2"],
    [1, "b"],
    [[1], [2, 3]],
    [1, [2, 3]],
    [1j, 2],
    [True, False],
    [1, True],
    [HUGE, 1],
    [object(), 1],
    np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    [np.ma.masked, 1],
    range(10**15),
    np.array(["a", "b"]),
    np.array([1, 2], dtype=object),
    np.array([1, 2], dtype="M8[D]"),
    (x for x in (1, 2)),
    iter([1, 2]),
    len,
    np,
    [np.nan, 1],
    [1, np.inf],
    [b"1", b"2"],
    [bytearray(b"1"), 2],
    [[[1, 2], [3]]],
    [{}, {}],
    [set(), 1],
    slice(2),
    ...,
)

BAD: dict[str, tuple[Any, ...]] = {
    "positive": (*NOT_NUMBERS, *NOT_FINITE, 0, 0.0, -1.0, -0.0, np.float64(-2)),
    "non-negative": (*NOT_NUMBERS, *NOT_FINITE, -1.0, -1e-300),
    "real": (*NOT_NUMBERS, *NOT_FINITE),
    "open unit": (*NOT_NUMBERS, *NOT_FINITE, 0.0, 1.0, -0.5, 1.5, 2),
    "integer": (*NOT_NUMBERS, *NOT_FINITE, 1.0, 0.5, np.float64(3), -1),
    "from one": (*NOT_NUMBERS, *NOT_FINITE, 1.0, 2.5, np.float64(3), 0, -1, -5),
    "from two": (*NOT_NUMBERS, *NOT_FINITE, 2.0, 2.5, 1, 0, -1),
    "counts": (
        *NOT_ARRAYS,
        5,
        5.0,
        [5],
        [],
        [[1, 2], [3, 4]],
        [1.5, 2],
        [-1, 5],
        [2**62] * 5,
        [2**63, 1],
        [1e300, 1],
        [2**64 - 1, 1],
        np.zeros((2, 0)),
        np.array(3),
        [2**62] * 4 + [7],
    ),
    "prior": (
        *NOT_ARRAYS,
        1,
        1.0,
        [1.0],
        [],
        [[1, 1], [1, 1]],
        [0, 1],
        [1, -1],
        [1e308, 1e308],
        [-0.0, 1],
        [1, 1, 1, 1, 1, 1, 1],
    ),
    "parameters": (
        *NOT_ARRAYS,
        1,
        1.0,
        [1.0],
        [],
        [0, 1],
        [1, -1],
        [-0.0, 1],
    ),
    "proportions": (
        *NOT_ARRAYS,
        1,
        1.0,
        [1.0],
        [],
        [[0.5, 0.5]],
        [0.5, 0.6],
        [-0.5, 1.5],
        [0, 0],
        [0.2, 0.3],
    ),
    "sizes": (*NOT_ARRAYS, 5, [], [0], [-1], [1.5], [[1, 2]], [HUGE], [2**62 + 1]),
    "vector": (*NOT_ARRAYS, 1, 1.0, [], [[[1.0]]], np.zeros((0, 3))),
    "positive vector": (*NOT_ARRAYS, 1, 1.0, [], [0.0, 1], [1, -1.0, 1]),
    "matrix": (*NOT_ARRAYS, 1, 1.0, [], [1.0, 2.0], [[[1.0]]], np.zeros((0, 3))),
    "steps": (*NOT_ARRAYS, 0.5, [0.5], [1e300]),
    "mechanism": (
        None,
        1,
        "geometric",
        object(),
        [],
        {},
        dp.mechanism,
        len,
        _NoArray(),
        math.nan,
        type(dp.mechanism("geometric", 1.0)),
    ),
    "law": (None, 1, "law", object(), [], {}, len, _NoArray(), math.nan),
    "metric": (None, 1, "hellinge", "", 1.5, [], {}, b"hellinger", object(), _NoArray(), HUGE),
    "word": (
        None,
        1,
        "",
        "no such word",
        b"l1",
        1.5,
        [],
        (),
        object(),
        _NoArray(),
        HUGE,
        True,
        math.nan,
    ),
    "rng": (
        None,
        0,
        1,
        "seed",
        np.random,
        np.random.RandomState(1),
        object(),
        np.random.default_rng,
    ),
    "flag": (None, 0, 1, "yes", "", [], object(), _NoArray(), 1.0, HUGE),
    "text": (None, 1, "", b"a", [], object(), _NoArray(), math.nan),
    "noise law": (None, 1, "law", object(), [1.0], _NoArray(), math.nan),
}


@dataclass(frozen=True)
class Call:
    """A callable with good arguments; `kinds` says what each one is."""

    name: str
    function: Callable[..., Any]
    good: dict[str, Any]
    kinds: dict[str, str]


def _call(name: str, function: Callable[..., Any], /, **arguments: tuple[Any, str]) -> Call:
    good = {word: value for word, (value, _) in arguments.items()}
    kinds = {word: kind for word, (_, kind) in arguments.items() if kind}
    return Call(name, function, good, kinds)


def library_calls() -> list[Call]:
    """Every public function of the library and every public value object that checks itself."""
    m = dp.mechanism("geometric", 1.0)
    x, a = ([3, 4], "counts"), ([1.0, 2.0], "prior")
    rng = (np.random.default_rng(1), "rng")
    listed = m.law([3, 4], [1, 1])
    series = ExponentialLaw(np.ones(3), np.array([3, 4, 5]), 2.0)
    calls = [
        _call("posterior", dp.posterior, counts=x, prior=a),
        _call("Posterior", dp.Posterior, concentration=([1.0, 2.0], "parameters")),
        _call("neighbours", dp.neighbours, counts=x),
        _call("compositions", dp.compositions, n=(3, "integer"), k=(2, "from two")),
        _call("number_of_candidates", dp.number_of_candidates, n=(3, "integer"), k=(2, "from two")),
        _call("split", dp.split, n=(10, "integer"), proportions=([0.5, 0.5], "proportions")),
        _call("hellinger", dp.hellinger, a=([1, 2], "parameters"), b=([2, 1], "parameters")),
        _call(
            "hellinger_published",
            dp.hellinger_published,
            a=([1, 2], "parameters"),
            b=([2, 1], "parameters"),
        ),
        _call("log_affinity", dp.log_affinity, a=([1, 2], "parameters"), b=([2, 1], "parameters")),
        _call(
            "local_sensitivity",
            dp.local_sensitivity,
            counts=x,
            prior=a,
            metric=("hellinger", "word"),
        ),
        _call(
            "global_sensitivity",
            dp.global_sensitivity,
            n=(4, "from one"),
            prior=([1.0, 2.0], "prior of any length"),
            metric=("hellinger", "word"),
        ),
        _call(
            "smooth_sensitivity",
            dp.smooth_sensitivity,
            counts=x,
            prior=a,
            gamma=(1.0, "positive"),
            form=("reciprocal", "word"),
            distance=("l1", "word"),
            metric=("hellinger", "word"),
        ),
        _call(
            "profile",
            dp.sensitivity.profile,
            n=(4, "from one"),
            prior=a,
            gamma=(1.0, "positive"),
            form=("reciprocal", "word"),
        ),
        _call(
            "laplace_step_probability",
            dp.laplace_step_probability,
            step=([0, 1], "steps"),
            epsilon=(1.0, "epsilon"),
            sensitivity=(2.0, "positive"),
        ),
        _call(
            "mean_distances",
            dp.mean_distances,
            mechanism=(m, "mechanism"),
            proportions=([0.5, 0.5], "proportions"),
            prior=([1, 1], "prior"),
            sizes=([2, 3], "sizes"),
            metric=(dp.hellinger, "metric"),
        ),
        _call(
            "crossover",
            dp.crossover,
            mechanism_a=(m, "mechanism"),
            mechanism_b=(dp.mechanism("lapMech", 1.0), "mechanism"),
            proportions=([0.5, 0.5], "proportions"),
            prior=([1, 1], "prior"),
            sizes=([2, 3], "sizes"),
            metric=(dp.hellinger, "metric"),
        ),
        _call(
            "simulate",
            dp.simulate,
            law=(listed, "law"),
            counts=x,
            prior=a,
            rng=rng,
            runs=(5, "from two"),
            metric=(dp.hellinger, "metric"),
        ),
        _call("audit", dp.audit, mechanism=(m, "mechanism"), n=(3, "from one"), prior=a),
        _call(
            "audit_pair",
            dp.audit_pair,
            mechanism=(m, "mechanism"),
            counts=x,
            neighbour=([4, 3], "counts"),
            prior=a,
        ),
        _call(
            "calibrate",
            dp.calibrate,
            mechanism=(m, "mechanism"),
            n=(3, "from one"),
            prior=a,
            epsilon=(1.0, "epsilon"),
            delta=(0.0, "non-negative"),
        ),
        _call(
            "release",
            dp.release,
            mechanism=(m, "mechanism"),
            counts=x,
            prior=a,
            without_guarantee=(False, "flag"),
        ),
        _call(
            "records_needed",
            dp.records_needed,
            error=(0.1, "open unit"),
            epsilon=(1.0, "positive"),
            shares=([0.5, 0.5], "proportions"),
            prior=([1.0, 1.0], "prior or None"),
            name=("lattice", "word"),
        ),
        _call("Audit.delta", dp.audit(m, 3, [1, 1]).delta, epsilon=(1.0, "non-negative")),
        _call("Audit.curve", dp.audit(m, 3, [1, 1]).curve, epsilons=([0.0, 1.0], "vector")),
        _call("FiniteLaw.quantile", listed.quantile, q=(0.5, "closed unit")),
        _call("FiniteLaw.probability", listed.probability, counts_out=([3, 4], "rows of counts")),
        _call("FiniteLaw.mean_distance", listed.mean_distance, metric=(dp.hellinger, "metric")),
        _call("FiniteLaw.sample", listed.sample, rng=rng, size=(3, "integer")),
        _call(
            "SeriesLaw.probability", series.probability, counts_out=([3, 4, 5], "rows of counts")
        ),
        _call("SeriesLaw.sample", series.sample, rng=rng, size=(3, "integer")),
        _call("Sensitivity", dp.Sensitivity, value=(0.5, "share"), witness=((), "")),
    ]
    for name in dp.REGISTRY:
        calls.append(
            _call(
                f"mechanism {name}",
                lambda name=name, **o: dp.mechanism(name, **o),
                epsilon=(1.0, "epsilon"),
            )
        )
        counts = ([3, 4], "counts")
        calls.append(_call(f"law of {name}", dp.mechanism(name, 1.0).law, counts=counts, prior=a))
    calls.append(
        _call("mechanism", dp.mechanism, name=("geometric", "word"), epsilon=(1.0, "epsilon"))
    )
    for name, option, value, kind in (
        ("lapMech", "sensitivity", 1.0, "positive"),
        ("lapMech", "rounding", "floor", "word"),
        ("expMech", "metric", "hellinger", "word"),
        ("expMech", "divisor", 2.0, "positive"),
        ("expMech-smooth", "gamma", 1.0, "positive"),
        ("expMech-smooth", "distance", "l1", "word"),
        ("expMech-delta", "delta", 0.1, "open unit"),
        ("expMech-delta", "failure_term", "2n", "word"),
        ("lattice", "projection", "l1", "word"),
        ("optimal", "objective", "mean", "word"),
        ("permute-and-flip", "gamma", 1.0, "positive"),
        ("permute-and-flip", "sensitivity", "smooth", "word"),
    ):
        # None stands for the calibration's own value of these two.
        kind = (
            f"{kind} or None"
            if option in ("sensitivity", "divisor") and kind == "positive"
            else kind
        )
        arguments = {"name": (name, ""), "epsilon": (1.0, ""), option: (value, kind)}
        calls.append(_call(f"{name} {option}", dp.mechanism, **arguments))
    return calls


BAD["prior of any length"] = BAD["prior"][:-1]
# Text is read as a decimal number.
BAD["epsilon"] = tuple(value for value in BAD["positive"] if not isinstance(value, str))
BAD["positive or None"] = tuple(value for value in BAD["positive"] if value is not None)


def query_calls() -> list[Call]:
    """Every public function of the tables."""
    H, scales, y = [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [1.0, 2.0], [3.0, 4.0]
    history, several, answers = (H, "matrix"), (scales, "positive vector"), (y, "vector")
    rng = (np.random.default_rng(1), "rng")
    positive, unit, word = (1.0, "positive"), (0.5, "open unit"), ("add-remove", "word")
    law = qu.NoiseLaw([1.0, 2.0])
    noise = (law, "noise law")
    state = qu.empty_state(3, "add-remove")
    q, example = [1.0, 0.0, 1.0], (scipy.sparse.csr_array(H), "law")
    return [
        _call(
            "random_ranges",
            qu.random_ranges,
            shape=((3, 3), "shape"),
            count=(2, "from one"),
            rng=rng,
        ),
        _call(
            "allocation",
            qu.allocation,
            w0=([0.1], "vector or None"),
            S=positive,
            L=(9.0, "positive"),
            delta=unit,
        ),
        _call("consistent", qu.consistent, H=history, scales=several, y=answers, Q=(q, "vector")),
        _call("blue_sparse", qu.blue_sparse, H=example, scales=several, Q=(q, "vector")),
        _call(
            "stream",
            qu.stream,
            questions=history,
            lengths=([9.0, 9.0], "lengths"),
            delta=unit,
            bound=positive,
            policy=(qu.Policy(), "noise law"),
        ),
        _call("blue", qu.blue, H=history, scales=several, Q=([1.0, 0.0, -1.0], "vector")),
        _call("budget", qu.budget, S=positive, L=positive, delta=unit),
        _call(
            "chebyshev_half_width",
            qu.chebyshev_half_width,
            variance=(1.0, "non-negative"),
            delta=unit,
        ),
        _call("combine", qu.combine, w0=([0.1], "vector"), scale=positive),
        _call("convolution_work", qu.convolution_work, half_lengths=([1, 2], "whole vector")),
        _call("cost_of_scales", qu.cost_of_scales, H=history, scales=several, neighbours=word),
        _call(
            "credible_interval", qu.credible_interval, pmf=([0.2, 0.6, 0.2], "vector"), delta=unit
        ),
        _call("empty_factor", qu.empty_factor, cells=(3, "from one")),
        _call("empty_state", qu.empty_state, cells=(3, "from one"), neighbours=word),
        _call(
            "decide",
            qu.decide,
            state=(state, "noise law"),
            query=(np.array(q), "vector"),
            L=positive,
            delta=unit,
            bound=(1.0, "non-negative"),
            policy=(qu.Policy(), "noise law"),
        ),
        _call(
            "exact_masses",
            qu.exact_masses,
            law=noise,
            half_length=(3, "integer or None"),
            step=positive,
        ),
        _call(
            "expected_squared_error",
            qu.expected_squared_error,
            masses=([0.5, 0.5], "vector"),
            samples=(3, "from one"),
        ),
        _call("interval", qu.interval, estimate=(1.0, "real"), law=noise, delta=unit),
        _call(
            "laplace_scales",
            qu.laplace_scales,
            H=history,
            alpha=([1.0, 1.0], "positive vector"),
            neighbours=word,
        ),
        _call(
            "pmf_monte_carlo",
            qu.pmf_monte_carlo,
            weights=([1.0], "vector"),
            samples=(10, "from one"),
            rng=rng,
        ),
        _call(
            "pmf_probability_calculation",
            qu.pmf_probability_calculation,
            weights=([1.0], "vector"),
            gamma=(0.01, "open unit"),
            method=("tree", "word"),
        ),
        _call(
            "privacy_cost",
            qu.privacy_cost,
            H=history,
            alpha=([1.0, 1.0], "positive vector"),
            neighbours=word,
        ),
        _call(
            "probability_at_least",
            qu.probability_at_least,
            estimate=(1.0, "real"),
            law=noise,
            threshold=(0.0, "real"),
        ),
        _call("sensitivity", qu.sensitivity, H=history, neighbours=word),
        _call(
            "Policy",
            qu.Policy,
            neighbours=word,
            accounting=("cells", "word"),
            spending=("smallest", "word"),
            inference=(True, "flag"),
        ),
        _call(
            "Bins", qu.Bins, name=("a", "text"), edges=((0.0, 1.0), "edges"), whole=(False, "flag")
        ),
        _call("Categories", qu.Categories, name=("a", "text"), values=(("u", "v"), "values")),
        _call(
            "Cube",
            qu.Cube,
            attributes=((qu.Categories("a", ("u", "v")),), "attributes"),
            counts=([1, 2], "counts"),
        ),
        _call(
            "build_cube",
            qu.build_cube,
            source=("no such file.csv", ""),
            attributes=([qu.Categories("a", ("u",))], "attributes"),
            outside=("refuse", "word"),
        ),
        _call(
            "count",
            qu.count,
            table=("no such file.csv", ""),
            attributes=([qu.Categories("a", ("u",))], "attributes"),
        ),
        _call("Unit", qu.Unit, person=("id", "text or None"), keep=(2, "from one")),
        _call(
            "noise_aware",
            qu.noise_aware,
            mechanism=(dp.mechanism("geometric", 1.0), "mechanism"),
            noisy=([3], "whole numbers"),
            n=(10, "integer"),
            prior=([1.0, 1.0], "prior"),
            repaired=(False, "flag"),
        ),
        _call("NoiseLaw", qu.NoiseLaw, weights=([1.0], "vector")),
        _call("MassVector", qu.MassVector, masses=([0.5, 0.5, 0.0], "vector"), lost=(0.0, "")),
    ]


BAD["vector or None"] = tuple(value for value in BAD["vector"] if value is not None)
BAD["text or None"] = tuple(value for value in BAD["text"] if value is not None)
BAD["whole numbers"] = (*NOT_ARRAYS, [0.5], [1e300])
BAD["integer or None"] = tuple(value for value in BAD["integer"] if value is not None)
BAD["whole vector"] = (*NOT_ARRAYS, [], [0.5], [-1], [1e300])
BAD["closed unit"] = (*NOT_NUMBERS, *NOT_FINITE, -0.5, 1.5, 2)
BAD["prior or None"] = tuple(value for value in BAD["prior"] if value is not None)
BAD["rows of counts"] = (*NOT_ARRAYS, 5, [5], [], [1.5, 2], [-1, 5], [2**62] * 4 + [7])
BAD["share"] = (*NOT_NUMBERS, *NOT_FINITE, 0.0, -0.5, 1.5, 2)
BAD["vector any"] = NOT_ARRAYS
BAD["lengths"] = (*NOT_ARRAYS, [], 0.0, -1, [1.0, -1.0], [1.0] * 3, [[1.0]])
BAD["shape"] = (
    None,
    1.5,
    "3",
    [],
    (0,),
    (-1, 2),
    (1.5, 2),
    (HUGE,),
    ("a",),
    object(),
    {},
    (True, 2),
    _NoArray(),
)
BAD["place"] = (*NOT_ARRAYS, 1, [0], [0, 0, 0], [-1, 0], [3, 0], [0.5, 0])
BAD["edges"] = (
    None,
    1,
    "01",
    (),
    (1.0,),
    (1.0, 0.0),
    (0.0, 0.0),
    (0.0, math.nan),
    (0.0, math.inf),
    ("a", "b"),
    (0.0, None),
    (0, HUGE),
    object(),
    (True, 2),
)
BAD["values"] = (
    None,
    1,
    (),
    ("u", "u"),
    ("u", 1),
    (math.nan,),
    (1.0, math.inf),
    (None, "u"),
    ([],),
    object(),
    (b"u",),
    (1, HUGE),
    (True, False),
)
BAD["counts or cube"] = (*NOT_ARRAYS, 5, [], [-1, 5], [1.5, 2], [[1, 2]], [2**62] * 5)
BAD["question"] = (
    None,
    1,
    [],
    [0.0, 0.0, 0.0],
    [1.0],
    [1.0, math.nan, 0.0],
    [[1.0, 0.0, 1.0]],
    "",
    "no such attribute = 1",
    b"all",
    object(),
    _NoArray(),
    [1e300, 0, 0],
    [HUGE, 0, 0],
    [[1], [2, 3]],
)
BAD["attributes"] = (None, 1, "a", [1], [None], object())
BAD["content"] = (None, 1, "text", [], object())
BAD["terms"] = (None, 1, "text", [], object())


ALIASES = {
    "prior": "counts",
    "coefficients": "q",
    "cube": "counts",
    "q": "query",
    "w0": "w0",
    "pmf": "masses",
    "counts_out": "counts",
    "concentration": "concentration",
}


class Hang(BaseException):
    """A call took more than `SECONDS` of processor time, or waited a minute for nothing."""


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Interrupt what computes longer than this, however busy the machine is, or waits for long."""

    def stop(number: int, frame: Any) -> None:
        raise Hang

    timers = {
        signal.ITIMER_PROF: (signal.SIGPROF, seconds),
        signal.ITIMER_REAL: (signal.SIGALRM, max(60.0, 12.0 * seconds)),
    }
    before = {sign: signal.signal(sign, stop) for sign, _ in timers.values()}
    for timer, (_, limit) in timers.items():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0.0)
        for sign, handler in before.items():
            signal.signal(sign, handler)


def verdict(call: Call, argument: str, bad: Any) -> str:
    """Return "" when the bad call is refused as it should be, else what happened."""
    try:
        with limited():
            call.function(**{**call.good, argument: bad})
    except (ValueError, TypeError) as error:
        return _complaint(str(error), argument)
    except Hang:
        return "hangs"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def _complaint(message: str, argument: str) -> str:
    place = max(message.find(" must "), message.find(" cannot be "))
    subject = message[: max(place, 0)]
    named = argument in subject or ALIASES.get(argument, argument) in subject
    shows = ", got " in message[place:] or message.startswith(("query ", "source "))
    if place < 0 or not shows or not named:
        return f"says {message!r}"
    return ""
