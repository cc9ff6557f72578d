"""Bad calls of every public function and every command: all refused, in the one form,
at once.

A bad call is a good one with one argument exchanged for a value its kind forbids. It
must end in a ValueError or TypeError whose message names the argument, the value and
what is allowed. The good calls follow from the signatures: `PARAMETERS` says what a
parameter of that name takes.
"""

from __future__ import annotations

import inspect
import itertools
import math
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dpbayes as dp
from dpbayes import tables as qu
from dpbayes.__main__ import COMMANDS, main
from dpbayes.laws.exponential import ExponentialLaw
from dpbayes.mechanisms import DECLARED
from dpbayes.mechanisms.spec import Option, Spec
from dpbayes.sensitivity import profile

HUGE = 10**400


class _NoArray:
    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise RuntimeError("this object has no array")

    def __repr__(self) -> str:
        raise RuntimeError("this object has no text")


WORDS = ("", "nan", "1", "no such word", b"1", b"l1")
OTHERS = (
    None,
    (),
    [],
    {},
    {1},
    object(),
    _NoArray(),
    float,
    len,
    np.ma.masked,
    math.nan,
    HUGE,
)
NUMBERS: tuple[Any, ...] = (
    *OTHERS, *WORDS, True, np.bool_(True), 1j, np.complex128(1), [1.0], np.array([1.0]),
    bytearray(b"1"), math.inf, -math.inf, np.float32("nan"), -HUGE, 10**5000,
)  # fmt: skip
WHOLE = (*NUMBERS, 1.0, 0.5, np.float64(3), -1)
ARRAYS: tuple[Any, ...] = (
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
    slice(2),
    ...,
)
POSITIVE = (*NUMBERS, 0, 0.0, -1.0, -0.0, np.float64(-2))
UNIT = (*NUMBERS, -0.5, 1.5, 2)
VECTOR = (*ARRAYS, 1, 1.0, [])
COUNTS = (
    *VECTOR,
    [5],
    [1.5, 2],
    [-1, 5],
    [2**62] * 5,
    [2**63, 1],
    [1e300, 1],
    [2**62] * 4 + [7],
)
PARAMETER = (*VECTOR, [1.0], [0, 1], [1, -1], [-0.0, 1])
PRIOR = (*PARAMETER, [[1, 1], [1, 1]], [1e308, 1e308])
BAD: dict[str, tuple[Any, ...]] = {
    "number": NUMBERS,
    "positive": POSITIVE,
    # text is read as a decimal
    "epsilon": tuple(v for v in POSITIVE if not isinstance(v, str)),
    "at least 0": (*NUMBERS, -1.0, -1e-300),
    "open unit": (*UNIT, 0.0, 1.0),
    "unit": UNIT,
    "share": (*UNIT, 0.0),
    "whole": WHOLE,
    "from one": (*WHOLE, 0),
    "from two": (*WHOLE, 0, 1),
    "counts": (*COUNTS, [[1, 2], [3, 4]], np.zeros((2, 0)), np.array(3)),
    "rows": COUNTS,
    "prior": PRIOR,
    "prior of two": (*PRIOR, [1] * 7),
    "parameters": PARAMETER,
    "proportions": (
        *VECTOR,
        [1.0],
        [[0.5, 0.5]],
        [0.5, 0.6],
        [-0.5, 1.5],
        [0, 0],
        [0.2, 0.3],
    ),
    "sizes": (*ARRAYS, 5, [], [0], [-1], [1.5], [[1, 2]], [HUGE], [2**62 + 1]),
    "vector": (*VECTOR, [[[1.0]]], np.zeros((0, 3))),
    "numbers": ARRAYS,
    "positive vector": (*VECTOR, [0.0, 1], [1, -1.0, 1]),
    "matrix": (*VECTOR, [1.0, 2.0], [[[1.0]]], np.zeros((0, 3))),
    "steps": (*ARRAYS, [0.5], [1e300]),
    "object": (
        None,
        1,
        "law",
        object(),
        [1.0],
        {},
        len,
        _NoArray(),
        math.nan,
        dp.mechanism,
    ),
    "metric": (
        None,
        1,
        "hellinge",
        "",
        1.5,
        [],
        {},
        b"hellinger",
        object(),
        _NoArray(),
        HUGE,
    ),
    "word": (*OTHERS, "", "no such word", b"l1", 1.5, True),
    "rng": (
        None,
        0,
        1,
        "seed",
        np.random,
        np.random.RandomState(1),
        np.random.default_rng,
    ),
    "flag": (None, 0, 1, "yes", "", [], object(), _NoArray(), 1.0, HUGE),
    "text": (None, 1, "", b"a", [], object(), _NoArray(), math.nan),
    "lengths": (*ARRAYS, [], 0.0, -1, [1.0, -1.0], [1.0] * 3, [[1.0]]),
    "shape": (
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
        (True, 2),
    ),
    "place": (*ARRAYS, 1, [0], [0, 0, 0], [-1, 0], [3, 0], [0.5, 0]),
    "edges": (
        None,
        1,
        "01",
        (),
        (1.0,),
        (1.0, 0.0),
        (0.0, 0.0),
        (0.0, math.nan),
        ("a", "b"),
        (0.0, None),
        (0, HUGE),
        object(),
        (True, 2),
    ),
    "values": (
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
    ),
    "attributes": (None, 1, "a", [1], [None], object()),
}


def refuses(option: Option, value: Any) -> bool:
    """Whether an option says of itself that it does not take a value."""
    try:
        option.check("option", value)
    except (TypeError, ValueError):
        return True
    return False


for _spec in DECLARED.values():
    for _word, _option in _spec.options.items():
        BAD[f"{_spec.name} {_word}"] = tuple(
            value
            for value in (*NUMBERS, *ARRAYS, 0, -1, 0.5, "l1")
            if refuses(_option, value)
        )

GEOMETRIC, LISTED = (
    dp.mechanism("geometric", 1.0),
    dp.mechanism("geometric", 1.0).law([3, 4], [1, 1]),
)
H, CATEGORIES = [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], qu.Categories("a", ("u", "v"))
PARAMETERS: dict[str, tuple[Any, str]] = {
    "counts": ([3, 4], "counts"),
    "neighbour": ([4, 3], "counts"),
    "counts_out": ([3, 4], "rows"),
    "prior": ([1.0, 2.0], "prior of two"),
    "concentration": ([1.0, 2.0], "parameters"),
    "a": ([1, 2], "parameters"),
    "b": ([2, 1], "parameters"),
    "n": (4, "from one"),
    "k": (2, "from two"),
    "epsilon": (1.0, "epsilon"),
    "delta": (0.5, "open unit"),
    "error": (0.1, "open unit"),
    "gamma": (0.01, "positive"),
    "sensitivity": (2.0, "positive"),
    "divisor": (2.0, "positive"),
    "value": (0.5, "share"),
    "q": (0.5, "unit"),
    "metric": ("hellinger", "metric"),
    "form": ("reciprocal", "word"),
    "distance": ("l1", "word"),
    "rounding": ("floor", "word"),
    "failure_term": ("2n", "word"),
    "projection": ("l1", "word"),
    "objective": ("mean", "word"),
    "name": ("lattice", "word"),
    "step": ([0, 1], "steps"),
    "proportions": ([0.5, 0.5], "proportions"),
    "shares": ([0.5, 0.5], "proportions"),
    "sizes": ([2, 3], "sizes"),
    "mechanism": (GEOMETRIC, "object"),
    "mechanism_a": (GEOMETRIC, "object"),
    "mechanism_b": (dp.mechanism("lapMech", 1.0), "object"),
    "law": (LISTED, "object"),
    "rng": (np.random.default_rng(1), "rng"),
    "runs": (5, "from two"),
    "size": (3, "whole"),
    "random_state": (np.random.default_rng(1), "rng"),
    "epsilons": ([0.0, 1.0], "vector"),
    "witness": ((), ""),
    "smooth": (True, ""),
    "releases": (2, "from one"),
    "share": (0.5, "open unit"),
    "without_guarantee": (False, "flag"),
    "records_away": (0, ""),
    # the tables
    "H": (H, "matrix"),
    "scales": ([1.0, 2.0], "positive vector"),
    "y": ([3.0, 4.0], "vector"),
    "Q": ([1.0, 0.0, -1.0], "vector"),
    "w0": ([0.1], "vector"),
    "S": (1.0, "positive"),
    "L": (9.0, "positive"),
    "variance": (1.0, "at least 0"),
    "scale": (1.0, "positive"),
    "spending": ("smallest", "word"),
    "accounting": ("cells", "word"),
    "method": ("tree", "word"),
    "neighbours": ("add-or-remove", "word"),
    "outside": ("refuse", "word"),
    "cells": (3, "from one"),
    "half_lengths": ([1, 2], "steps"),
    "pmf": ([0.2, 0.6, 0.2], "vector"),
    "state": (qu.empty_state(3, qu.Policy()), "object"),
    "policy": (qu.Policy(), "object"),
    "query": (np.array([1.0, 0.0, 1.0]), "vector"),
    "bound": (1.0, "at least 0"),
    "terms": (2, "from one"),
    "x": ([0.0], "numbers"),
    "half_length": (3, "whole"),
    "masses": ([0.2, 0.6, 0.2], "vector"),
    "samples": (3, "from one"),
    "estimate": (1.0, "number"),
    "threshold": (0.0, "number"),
    "alpha": ([1.0, 1.0], "positive vector"),
    "weights": ([1.0], "vector"),
    "shape": ((3, 3), "shape"),
    "low": ([0, 0], "place"),
    "high": ([1, 1], "place"),
    "count": (2, "from one"),
    "questions": (H, "matrix"),
    "lengths": ([9.0, 9.0], "lengths"),
    "inference": (True, "flag"),
    "dropped": (False, "flag"),
    "whole": (False, "flag"),
    "edges": ((0.0, 1.0), "edges"),
    "values": (("u", "v"), "values"),
    "attributes": ((CATEGORIES,), "attributes"),
    "source": ("no such file.csv", ""),
    "table": ("no such file.csv", ""),
    "person": ("id", "text"),
    "keep": (2, "from one"),
    "noisy": ([3], "steps"),
    "repaired": (False, "flag"),
    "lost": (0.0, ""),
    "category": (1, "whole"),
    "level": (0.5, "open unit"),
    "confidence": (0.5, "open unit"),
    "design_effect": (1.5, "positive"),
    "unit": (qu.Unit(), ""),
    "rules": (None, ""),
    "show_values": (False, ""),
    "labels": ((), ""),
}
LAW_OF_NOISE = (qu.NoiseLaw([1.0, 2.0]), "object")
# Where a name means something else.
SPECIAL: dict[str, tuple[Any, str]] = {
    "FiniteLaw.cdf distance": (0.1, "number"),
    "FiniteLaw.sf distance": (0.1, "number"),
    "allocation spending": ("smallest", ""),
    "compositions n": (3, "whole"),
    "number_of_candidates n": (3, "whole"),
    "split n": (3, "whole"),
    "global_sensitivity prior": ([1.0, 2.0], "prior"),
    "calibrate delta": (0.0, "at least 0"),
    "Audit.delta epsilon": (1.0, "at least 0"),
    "mechanism name": ("geometric", "word"),
    "records_needed mechanism": (dp.mechanism("lattice", 1.0), "object"),
    "laplace_step_probability epsilon": (1.0, "positive"),
    "ExponentialLaw.probability counts_out": ([3, 4, 5], "rows"),
    "interval law": LAW_OF_NOISE,
    "laplace_masses gamma": (0.01, "open unit"),
    "Bins name": ("a", "text"),
    "Categories name": ("a", "text"),
    "count attributes": ([CATEGORIES], "attributes"),
    "Cube counts": ([1, 2], "counts"),
    "noise_aware n": (10, "whole"),
    "noise_aware rng": (None, ""),
}
# Results, protocols and what reads files, which tests of the tables have.
UNCALLED = {
    "Calibrated",
    "Crossover",
    "Guarantee",
    "Law",
    "Mechanism",
    "MonteCarlo",
    "NoiseAwarePosterior",
    "REGISTRY",
    "RecordsNeeded",
    "Release",
    "CountError",
    "ShareReading",
    "Allocation",
    "Answer",
    "Answering",
    "Blue",
    "CellCosts",
    "Decision",
    "Factor",
    "Interval",
    "NotEstimableError",
    "State",
    "Plan",
    "TableError",
    "create_account",
    "open_account",
    "read",
    "read_plan",
}
# What a message may call an argument, or an argument whose bad values it takes for
# another's.
ALIASES = {
    "prior": "counts",
    "cube": "counts",
    "q": "query",
    "pmf": "masses",
    "counts_out": "counts",
}


class Call(NamedTuple):
    """A callable with good arguments; `kinds` says what each one is."""

    name: str
    function: Callable[..., Any]
    good: dict[str, Any]
    kinds: dict[str, str]


def call(name: str, function: Callable[..., Any], *given: str) -> Call:
    good, kinds = {}, {}
    for word, one in inspect.signature(function).parameters.items():
        if one.kind is not inspect.Parameter.VAR_KEYWORD and word in (given or [word]):
            good[word], kind = SPECIAL.get(f"{name} {word}") or PARAMETERS[word]
            optional = one.default is None or str(one.annotation).endswith("None")
            kinds |= {word: f"{kind} or None" if optional else kind} if kind else {}
    return Call(name, function, good, kinds)


def calls() -> list[Call]:
    """Every public function, value object and mechanism, and the methods of their
    results.
    """
    audit = dp.audit(GEOMETRIC, 3, [1, 1])
    series = ExponentialLaw(np.ones(3), np.array([3, 4, 5]), 2.0)
    methods = [
        audit.delta,
        audit.curve,
        LISTED.quantile,
        LISTED.probability,
        LISTED.mean_distance,
        LISTED.rvs,
        LISTED.cdf,
        LISTED.sf,
        LISTED.simulate,
        series.probability,
        series.rvs,
    ]
    names = [
        (home, name)
        for home in (dp, qu)
        for name in home.__all__
        if name not in UNCALLED
    ]
    found = [call(name, getattr(home, name)) for home, name in dict.fromkeys(names)]
    found += [
        call(f"{type(one.__self__).__name__}.{one.__name__}", one) for one in methods
    ]
    found.append(call("profile", profile))
    for name, spec in DECLARED.items():
        found.append(Call(name, spec, {"epsilon": 1.0}, {"epsilon": "epsilon"}))
        good = {word: option.examples[-1] for word, option in spec.options.items()}
        kinds = {word: f"{name} {word}" for word in good}
        found.append(Call(f"options of {name}", partial(spec, 1.0), good, kinds))
        found.append(call(f"law of {name}", spec(1.0).law))
    return [one for one in found if one.good or not one.name.startswith("options of ")]


def bad_values(kind: str) -> list[Any]:
    known = BAD[kind.removesuffix(" or None")]
    return [
        value for value in known if value is not None or not kind.endswith("or None")
    ]


def bad_calls() -> list[tuple[Call, str, Any]]:
    """Every call with every argument and every value its kind forbids."""
    return [
        (one, word, bad)
        for one in calls()
        for word, kind in one.kinds.items()
        for bad in bad_values(kind)
    ]


class Hang(BaseException):
    """A call took too long."""


@contextmanager
def limited(seconds: float = 60.0) -> Iterator[None]:
    """Interrupt what takes longer than this, which is long enough for a busy
    machine."""

    def stop(number: int, frame: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def outcome(run: Callable[[], Any]) -> Any:
    """Return what a call returns or raises."""
    try:
        with limited():
            return run()
    except (Exception, SystemExit, Hang) as error:
        return error


def verdict(one: Call, argument: str, bad: Any) -> str:
    """Return "" when the bad call is refused as it should be, else what happened."""
    refusal = outcome(lambda: one.function(**{**one.good, argument: bad}))
    if not isinstance(refusal, (ValueError, TypeError)):
        return f"ends with {type(refusal).__name__}"
    message = str(refusal)
    place = max(message.find(" must "), message.find(" cannot be "))
    subject = message[: max(place, 0)]
    named = argument in subject or ALIASES.get(argument, argument) in subject
    shows = ", got " in message[place:] or message.startswith(("query ", "source "))
    return "" if place >= 0 and shows and named else f"says {message!r}"


def complaints(chosen: list[tuple[Call, str, Any]]) -> list[str]:
    return [
        f"{one.name}({word}={type(bad).__name__}): {what[:200]}"
        for one, word, bad in chosen
        if (what := verdict(one, word, bad))
    ]


@pytest.mark.parametrize("one", calls(), ids=lambda one: one.name)
def test_the_good_call_is_accepted(one: Call) -> None:
    with limited():
        if {"source", "table"} & set(one.good):
            with pytest.raises(
                ValueError, match=r"got 'no such file\.csv', which is none"
            ):
                one.function(**one.good)
        else:
            one.function(**one.good)


@pytest.mark.parametrize("spec", DECLARED.values(), ids=DECLARED)
def test_an_option_takes_its_examples_and_no_object_of_another_kind(spec: Spec) -> None:
    for name, option in spec.options.items():
        assert not any(refuses(option, example) for example in option.examples), name
        others = [value for value in OTHERS if value is not option.examples[0]]
        assert all(refuses(option, value) for value in others), name


def test_a_call_without_an_end_is_noticed() -> None:
    with pytest.raises(Hang), limited(0.02):
        all(True for _ in itertools.repeat(1))


def test_thousands_of_bad_calls_are_refused() -> None:
    assert complaints(bad_calls()) == []
    rng, several = random.Random(1), [one for one in calls() if len(one.kinds) > 1]
    for _ in range(2_000):
        # A second bad argument stands in the call already when the first one is tried.
        one = rng.choice(several)
        first, second = rng.sample(list(one.kinds), 2)
        spoiled = {**one.good, second: rng.choice(bad_values(one.kinds[second]))}
        bad = rng.choice(bad_values(one.kinds[first]))
        said = verdict(one._replace(good=spoiled), first, bad)
        assert said == "" or said.startswith("says "), (one.name, first, bad, second)


# How a message of a command says what is allowed, or that there is no such thing.
TELLING = (
    "got ",
    " must ",
    "no notebook",
    "not the name of",
    "invalid ",
    "required",
    "No such file",
    "cannot be",
    "no account",
    "too long",
    "usage",
    "takes a token",
)
ARGUMENTS = (
    "",
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "x",
    "1e999",
    "10" * 300,
    "1,",
    ",",
    "1,,2",
    "1;2",
    "(1,)",
    "None",
    "1e-400",
    "é",
    "9" * 5000,
    "True",
)
LINES = """\
audit geometric --epsilon {} --n 3
audit geometric --epsilon 1 --n {}
audit {} --epsilon 1 --n 3
audit geometric --epsilon 1 --n 3 --prior {}
audit geometric --epsilon 1 --n 3 -o {}
release {?} --plan {folder}/none.toml
release {folder}/none.csv --plan {?}
{}
cite {?}
list {?}x
run {?} --output {folder}/out
run part/tiny -p {} --output {folder}/out
run part/tiny -p n={} --output {folder}/out
sweep part/tiny -g {} --output {folder}/out
sweep part/tiny -g n={} --output {folder}/out
sweep part/tiny -g n=1;2 --jobs {} --output {folder}/out
ask all --cube {?} --account {folder}/a --length 9
ask all --server {} --length 9
plan {?}
plan {folder}/none.toml --records {}
verify {folder}/none --results {?}
serve {?}
serve {folder}/none.toml --port {}
account {}
account show {?}
account create {folder}/a --dataset d --epsilon {} --table {folder}/none.csv
"""


def commands(folder: Path) -> list[list[str]]:
    """Bad command lines: each holds one word that cannot stand where it does."""
    found = []
    for bad, line in itertools.product(ARGUMENTS, LINES.splitlines()):
        words = line.replace("{folder}", str(folder)).split(" ")
        if ("-p n=" in line or "--jobs" in line) and bad.isdigit() and bad != "0":
            # a whole number of any length: what a notebook makes of it is its own
            # affair
            continue
        if bad == "1;2" and "-g n={}" in line:
            continue
        found.append(
            [word.replace("{?}", bad or "?").replace("{}", bad) for word in words]
        )
    return found


def refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return "" when the command ends with status 1 or 2 and says what is allowed."""
    status = outcome(lambda: main(line))
    if isinstance(status, SystemExit):
        status = status.code
    message = capsys.readouterr().err
    if status not in (1, 2):
        return f"{line}: {status!r}"
    telling = any(word in message for word in TELLING) and "Traceback" not in message
    return "" if telling else f"{line} says {message[-200:]}"


@pytest.mark.slow
def test_bad_commands_are_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = commands(checkout)
    assert set(COMMANDS) == {line[0] for line in lines} & set(COMMANDS)
    assert [said for line in lines if (said := refused(line, capsys))] == []
