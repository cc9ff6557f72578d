"""Killed, or out of memory, at every step of a release, over extreme plans and
tables."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from fractions import Fraction

import pytest

from dpbayes.commands import Refused
from dpbayes.commands import release as paid
from dpbayes.tables import drawn, keys
from dpbayes.tables import release as releases
from dpbayes.tables.account import Account
from dpbayes.tables.analysis import PARTS
from dpbayes.tables.files import PlanError
from dpbayes.tables.opening import create_account, open_account
from dpbayes.tables.plan import read_plan
from dpbayes.tables.release import release_table
from dpbayes.tables.units import RECORD
from tests.tables.cases import many

pytest.importorskip("duckdb")

# The named steps of a release, in their order, and where each is looked up.
STEPS = (
    ("open_account", releases),
    ("read", releases),
    ("rehearse", releases),
    ("reserve", Account),
    ("append", Account),
    ("write_witness", keys),
    ("_move_witness", Account),
    ("release", releases),
    ("draw", drawn),
    ("keep", Account),
    ("write_files", paid),
    ("bounded_analysis", paid),
    ("analysis_text", paid),
)
MANY = [f"c{i}" for i in range(300)]


def extremes():
    """Return one hundred plans and tables: priors, sizes, epsilons, categories,
    mechanisms.
    """
    cases = []
    for i in range(100):
        categories = [["a", "b"], ["a", "b", "c"], MANY][i % 3]
        prior = [1e-9, 1e-3, 1, 1e9, 0.5][i % 5]
        epsilon = ["1e-6", "0.001", "0.5", "20", "1e5"][(i // 5) % 5]
        secret = i % 4 == 3
        mechanism = (
            "independent" if secret else ["lattice", "ilapMech", "lapMech"][i % 7 % 3]
        )
        rows = [1, 2, 50, 3000][(i // 2) % 4]
        cases.append((categories, prior, epsilon, secret, mechanism, rows))
    return cases


def prepared(folder, case):
    """Write plan and table, open an account, and return the request's name."""
    categories, prior, epsilon, secret, mechanism, rows = case
    least = 1 if len(categories) == 2 else 2  # what lapMech needs for its epsilon
    (folder / "people.csv").write_text(
        "x\n" + "".join(f"{categories[i * i % len(categories)]}\n" for i in range(rows))
    )
    (folder / "plan.toml").write_text(
        'dataset = "d"\naccount = "a"\nunit = "record"\ncolumn = "x"\n'
        f"categories = {json.dumps(categories)}\n"
        f'mechanism = "{mechanism}"\nepsilon = "{epsilon}"\nprior = {prior}\n'
        + ('records = "secret"\n' if secret else "")
        + (f"options = {{sensitivity = {least}}}\n" if mechanism == "lapMech" else "")
    )
    relation = "add-or-remove" if secret else "replace-one"
    made = create_account(
        folder / "a", "d", "1e6", folder / "people.csv", RECORD, relation
    )
    plan = read_plan(folder / "plan.toml")
    mark = made.fingerprint(folder / "people.csv")
    return plan.request_of(mark, releases.statement_of(plan))


def kept(folder, request):
    account = open_account(folder / "a")
    return account.result(request, account.fingerprint(folder / "people.csv"))


def publish(folder):
    paid.run(
        Namespace(
            plan=folder / "plan.toml",
            table=folder / "people.csv",
            show_values=False,
            output=folder / "out",
        )
    )


def failing(patch, name, place, late, fail):
    """Let a step fail when it is entered, or when it is left."""
    function = getattr(place, name)

    def call(*given, **named):
        if not late:
            fail()
        function(*given, **named)
        fail()

    patch.setattr(place, name, call)


def exhausted():
    raise MemoryError("exhausted")


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def failed_once(folder, name, place, late, kill):
    """Publish a release that fails at one step; return whether it did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            paid, "bounded_analysis", lambda _: {p: {"missing": "-"} for p in PARTS}
        )
        failing(patch, name, place, late, killed if kill else exhausted)
        if not kill:
            with pytest.raises((MemoryError, Refused)):
                publish(folder)
            return
        child = os.fork()
        if child == 0:
            publish(folder)
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def outcome(folder, case, step, late, kill):
    """Fail one release at one step, release again twice; count what was lost and
    drawn."""
    request = prepared(folder, case)
    plan, table = read_plan(folder / "plan.toml"), folder / "people.csv"
    failed_once(folder, *step, late, kill)
    before = kept(folder, request)
    first, second = (
        release_table(table, plan).private.noisy.tolist() for _ in range(2)
    )
    lost = first != second or (
        before is not None and json.loads(before)["noisy"] != first
    )
    entries = open_account(folder / "a").entries
    kinds = Counter(entry.kind for entry in entries)
    spent = sum((entry.epsilon for entry in entries), Fraction(0))
    return Counter(
        lost=int(lost),
        draws=kinds["result"],
        spends=kinds["spend"],
        exact=spent == plan.epsilon,
    )


def every_step(tmp_path, monkeypatch, number, capsys):
    total: Counter[str] = Counter()
    for place, step in enumerate(STEPS):
        folder = tmp_path / f"{number}-{place}"
        folder.mkdir()
        monkeypatch.setenv("DPBAYES_KEYS", str(folder / "keys"))
        late, kill = (number + place) % 2 == 1, (number // 2 + place) % 2 == 1
        total.update(outcome(folder, extremes()[number], step, late, kill))
        capsys.readouterr()
    steps = len(STEPS)
    assert total == Counter(lost=0, draws=steps, spends=steps, exact=steps)


def test_memory_or_life_ends_at_every_step_of_one_release(
    tmp_path, monkeypatch, capsys
):
    every_step(tmp_path, monkeypatch, 37, capsys)


READABLE = [i for i, case in enumerate(extremes()) if case[2] != "1e-6"]


@pytest.mark.parametrize("number", [0, 25, 52, 79])
def test_a_release_that_could_not_be_read_costs_nothing(tmp_path, monkeypatch, number):
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    prepared(tmp_path, extremes()[number])
    plan, before = read_plan(tmp_path / "plan.toml"), sorted(tmp_path.rglob("*"))
    with pytest.raises(PlanError, match="epsilon must be larger to read a release"):
        release_table(tmp_path / "people.csv", plan)
    assert open_account(tmp_path / "a").spent == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("number", READABLE[:: len(READABLE) // many(27) or 1])
def test_kill_or_exhaust_at_every_step_of_extreme_releases(
    tmp_path, monkeypatch, capsys, number
):
    """Answers lost: 0; draws and spends for each request: 1, at every step, entered or
    left.
    """
    every_step(tmp_path, monkeypatch, number, capsys)


LIMITED = """
import resource, sys
from dpbayes.__main__ import main
import dpbayes.commands.release, duckdb, numpy
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
room = used + (int(sys.argv[1]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
sys.exit(main(["release", "people.csv", "--plan", "plan.toml", "--output", "out"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [1, 4, 16, 64, 128, 256, 512, 1024])
def test_a_real_limit_on_memory_loses_no_paid_draw(tmp_path, monkeypatch, megabytes):
    """The operating system refuses memory, wherever that happens to be."""
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    request = prepared(tmp_path, (MANY, 1, "0.5", False, "lattice", 3000))
    subprocess.run(
        [sys.executable, "-c", LIMITED, str(megabytes)],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    before = kept(tmp_path, request)
    again = release_table(tmp_path / "people.csv", read_plan(tmp_path / "plan.toml"))
    kinds = Counter(entry.kind for entry in open_account(tmp_path / "a").entries)
    assert kinds == Counter(open=1, table=1, spend=1, result=1)
    assert before is None or json.loads(before)["noisy"] == again.private.noisy.tolist()
