"""Bad calls of every public function and every command: all refused, in the one form, at once.

The full run makes 10 000 calls of functions and some hundred of commands; the quick one draws from
the same calls with a fixed seed.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

import dpbayes as dp
from dpbayes import tables
from dpbayes.cli import COMMANDS, main
from tests import bad_calls
from tests.bad_calls import BAD, Call, library_calls, limited, query_calls, verdict

ALL = 10_000
QUICK = 600


def calls() -> list[Call]:
    return [*library_calls(), *query_calls()]


def single(call: Call) -> list[tuple[Call, str, Any]]:
    return [(call, word, bad) for word, kind in call.kinds.items() for bad in BAD[kind]]


def double(rng: random.Random, every: list[Call]) -> tuple[Call, str, Any]:
    # A second bad argument stands in the call already when the first one is tried.
    call = rng.choice([one for one in every if len(one.kinds) > 1])
    first, second = rng.sample(list(call.kinds), 2)
    spoiled = {**call.good, second: rng.choice(BAD[call.kinds[second]])}
    return (
        Call(call.name, call.function, spoiled, call.kinds),
        first,
        rng.choice(BAD[call.kinds[first]]),
    )


def complaints(chosen: list[tuple[Call, str, Any]]) -> list[str]:
    found = []
    for call, word, bad in chosen:
        said = verdict(call, word, bad)
        if said:
            found.append(f"{call.name}({word}={type(bad).__name__}): {said[:200]}")
    return found


@pytest.mark.parametrize("call", calls(), ids=lambda call: call.name)
def test_the_good_call_is_accepted(call: Call) -> None:
    with limited():
        if call.name in ("build_cube", "count"):
            with pytest.raises(ValueError, match=r"got 'no such file\.csv', which is none"):
                call.function(**call.good)
        else:
            call.function(**call.good)


def test_every_public_function_is_called() -> None:
    names = {call.name for call in calls()}
    values = {
        "Crossover", "Guarantee", "Law", "Mechanism", "MonteCarlo", "NoiseAwarePosterior",
        "REGISTRY", "RecordsNeeded", "Release", "Allocation", "Answer", "Answering", "Blue",
        "CellCosts", "CellInterval", "Consistent", "Decision", "Factor", "Interval",
        "NotEstimableError", "PredicateError", "State", "Stream", "Plan", "TableError",
        "create_account", "open_account", "read_plan",  # tests/tables has what their files may say
    }  # fmt: skip
    missing = {*dp.__all__, *tables.__all__} - names - values
    assert not missing, f"no bad calls are listed for {sorted(missing)}"


def test_a_call_without_an_end_is_noticed() -> None:
    with pytest.raises(bad_calls.Hang), limited(0.02):
        all(True for _ in itertools.repeat(1))


def test_some_hundred_bad_calls_are_refused() -> None:
    rng = random.Random(20_190)
    every = [bad for call in calls() for bad in single(call)]
    assert complaints(rng.sample(every, QUICK)) == []


@pytest.mark.slow
def test_ten_thousand_bad_calls_are_refused() -> None:
    rng = random.Random(1)
    every = calls()
    chosen = [bad for call in every for bad in single(call)]
    assert complaints(chosen) == []
    doubles = [double(rng, every) for _ in range(max(0, ALL - len(chosen)))]
    said = [one for one in complaints(doubles) if ": says " not in one]
    assert said == []  # the message may name the other of the two


# How a message of a command says what is allowed, or that there is no such thing.
TELLING = (
    "got ", " must ", "no notebook", "invalid ", "required", "No such file", "cannot be",
    "no account", "too long",
)  # fmt: skip
WORDS = (
    "", "nan", "inf", "-inf", "-1", "0", "x", "1e999", "10" * 300, "1,", ",", "1,,2", "1;2",
    "(1,)", "None", "1e-400", "\x00", "é", "9" * 5000, "True",
)  # fmt: skip


def commands(folder: Path) -> list[list[str]]:
    """Bad command lines: each holds one word that cannot stand where it does."""
    audit = ["audit", "geometric", "--epsilon", "1", "--n", "3"]
    release = ["release", "--counts", "3,4", "--epsilon", "1"]
    lines = []
    for word in WORDS:
        for line in (
            [*audit[:3], word, *audit[4:]],
            [*audit[:5], word],
            ["audit", word, *audit[2:]],
            [*audit, "--prior", word],
            [*audit, "-o", word],
            [*release[:2], word, *release[3:]],
            [*release[:4], word],
            [*release, "--mechanism", word],
            [*release, "--prior", word],
            [*release, "-o", f"projection={word}"],
            [word],
            ["cite", word or "?"],
            ["list", word or "no such word"],
            ["run", word or "?", "--output", str(folder / "out")],
            ["run", "part/tiny", "-p", word, "--output", str(folder / "out")],
            ["run", "part/tiny", "-p", f"n={word}", "--output", str(folder / "out")],
            ["sweep", "part/tiny", "-g", word, "--output", str(folder / "out")],
            ["sweep", "part/tiny", "-g", f"n={word}", "--output", str(folder / "out")],
            ["sweep", "part/tiny", "-g", "n=1;2", "--jobs", word, "--output", str(folder / "out")],
            ["ask", "all", "--cube", word or "?", "--ledger", str(folder / "l"), "--length", "9"],
            ["plan", word or "?"],
            ["verify", str(folder / "no site"), "--results", word or "?"],
            ["serve", word or "?"],
            ["serve", str(folder / "no service.toml"), "--port", word],
            ["plan", str(folder / "no plan.toml"), "--records", word],
            ["account", word],
            ["account", "show", word or "?"],
            [
                "account",
                "create",
                str(folder / "a"),
                "--dataset",
                "d",
                "--epsilon",
                word,
                "--table",
                str(folder / "no table.csv"),
            ],
            ["ask", word, "--cube", "rand-hie", "--ledger", str(folder / "l"), "--length", "9"],
        ):
            lines.append(line)
    # A notebook may take a whole number of any length; what it makes of it is its own affair.
    own = [line for line in lines if not any(w.startswith(("n=10101", "n=99999")) for w in line)]
    return [line for line in own if "n=1;2" not in line or "--jobs" in line]


def refused(line: list[str]) -> str:
    """Return "" when the command ends with status 1 or 2 and no traceback, else what it did."""
    try:
        with limited(10.0):
            status = main(line)
    except SystemExit as end:
        status = int(end.code or 0)
    except bad_calls.Hang:
        return f"{line}: hangs"
    except Exception as error:
        return f"{line}: {type(error).__name__}: {str(error)[:150]}"
    return "" if status in (1, 2) else f"{line}: accepted"


def command_complaints(lines: list[list[str]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    found = []
    for line in lines:
        said = refused(line)
        message = capsys.readouterr().err
        shows = any(word in message for word in TELLING)
        if said or "Traceback" in message or not (shows or "usage" in message):
            found.append(said or f"{line} says {message[-200:]}")
    return found


@pytest.mark.slow
def test_some_bad_commands_are_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = random.Random(3).sample(commands(checkout), 40)
    assert command_complaints(chosen, capsys) == []


@pytest.mark.slow
def test_all_bad_commands_are_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(COMMANDS) == {line[0] for line in commands(checkout)} & set(COMMANDS)
    assert command_complaints(commands(checkout), capsys) == []
