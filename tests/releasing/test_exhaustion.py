"""Killed, or out of memory, at every step of a release, over extreme plans and tables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest

from dpbayes.releasing.account import Account
from dpbayes.releasing.opening import create_account, open_account
from dpbayes.releasing.plan import read_plan

pytest.importorskip("duckdb")

# The named steps of a release; memory runs out when one is entered, and again when it is left.
STEPS = (
    "count_table", "rehearse", "spend", "_append", "_move_witness", "write_witness", "release",
    "draw", "keep", "_settled", "account", "write_files", "bounded_analysis", "figure_of",
)  # fmt: skip

FAILING = """
import os, sys
from dpbayes.cli import main
from dpbayes.commands import paid
from dpbayes.releasing import account, from_table, record
step, moment, kind = sys.argv[1:4]
places = {
    "count_table": from_table, "rehearse": from_table, "spend": account.Account,
    "_append": account.Account, "_move_witness": account.Account, "write_witness": account,
    "release": from_table, "draw": record, "keep": account.Account, "_settled": account.Account,
    "account": from_table, "write_files": paid, "bounded_analysis": paid, "figure_of": paid,
}
name = "open_account" if step == "account" else step
function = getattr(places[step], name)
def fail():
    if kind == "kill":
        os.kill(os.getpid(), 9)
    raise MemoryError("exhausted")
def call(*given, **named):
    if moment == "before":
        fail()
    result = function(*given, **named)
    fail()
    return result
setattr(places[step], name, call)
try:
    code = main(["release", "people.csv", "--plan", "plan.toml", "--output", "out"])
except MemoryError:
    code = 9
sys.exit(code)
"""

MANY = [f"c{i}" for i in range(300)]


def extremes():
    """Return one hundred plans and tables: priors, sizes, epsilons, categories, mechanisms."""
    cases = []
    for i in range(100):
        categories = [["a", "b"], ["a", "b", "c"], MANY][i % 3]
        prior = [1e-300, 1e-9, 1, 1e9, 0.5][i % 5]
        epsilon = ["1e-6", "0.001", "0.5", "20", "1e5"][(i // 5) % 5]
        secret = i % 4 == 3
        mechanism = "independent" if secret else ["lattice", "ilapMech", "lapMech"][i % 3]
        rows = [1, 2, 50, 3000][(i // 2) % 4]
        cases.append((categories, prior, epsilon, secret, mechanism, rows))
    return cases


def prepared(folder, case):
    categories, prior, epsilon, secret, mechanism, rows = case
    (folder / "people.csv").write_text(
        "x\n" + "".join(f"{categories[i * i % len(categories)]}\n" for i in range(rows))
    )
    (folder / "plan.toml").write_text(
        f'dataset = "d"\naccount = "a"\ncolumn = "x"\ncategories = {json.dumps(categories)}\n'
        f'mechanism = "{mechanism}"\nepsilon = "{epsilon}"\nprior = {prior}\n'
        + ('records = "secret"\n' if secret else "")
    )
    relation = "add-or-remove" if secret else "replace-one"
    create_account(folder / "a", "d", "1e6", folder / "people.csv", relation)


def run(folder, *arguments):
    words = [sys.executable, "-c", *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


AGAIN = """
import sys
from dpbayes.releasing.from_table import release_table
from dpbayes.releasing.plan import read_plan
print(release_table("people.csv", read_plan("plan.toml")).private.noisy.tolist())
"""


def outcome(folder, case, step, moment, kind):
    """Fail one release at one step, release again; count what was lost and what was drawn."""
    prepared(folder, case)
    failed = run(folder, FAILING, step, moment, kind)
    plan = read_plan(folder / "plan.toml")
    account: Account = open_account(folder / "a")
    request = plan.request_of(account.fingerprint(folder / "people.csv"))
    before = account.result(request)
    first, second = run(folder, AGAIN), run(folder, AGAIN)
    assert (first.returncode, second.returncode) == (0, 0), f"{step} {first.stderr[-600:]}"
    entries = open_account(folder / "a").entries
    kinds = Counter(entry.kind for entry in entries)
    spent = sum((entry.epsilon for entry in entries), Fraction(0))
    shown = json.loads(first.stdout)
    kept = before is None or json.loads(before)["noisy"] == shown
    return {
        "failed": failed.returncode != 0,
        "lost": int(not kept or first.stdout != second.stdout),
        "draws": kinds["result"],
        "spends": kinds["spend"],
        "exact": spent == plan.epsilon,
    }


@pytest.mark.parametrize("step", ["spend", "release", "keep", "write_files"])
def test_memory_that_runs_out_loses_no_paid_draw(tmp_path, monkeypatch, step):
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    found = outcome(tmp_path, extremes()[2], step, "after", "memory")
    assert found == {"failed": True, "lost": 0, "draws": 1, "spends": 1, "exact": True}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(100))
def test_kill_or_exhaust_at_every_step_of_extreme_releases(tmp_path, monkeypatch, number):
    """Answers lost: 0; draws and spends for each request: 1, at every step, entered and left."""
    total: Counter[str] = Counter()
    for place, step in enumerate(STEPS):
        moment = ("before", "after")[(number + place) % 2]
        kind = ("memory", "kill")[(number // 2 + place) % 2]
        folder = tmp_path / step
        folder.mkdir()
        monkeypatch.setenv("DPBAYES_KEYS", str(folder / "keys"))
        found = outcome(folder, extremes()[number], step, moment, kind)
        total.update({name: int(found[name]) for name in ("lost", "draws", "spends", "exact")})
    steps = len(STEPS)
    assert total == Counter(lost=0, draws=steps, spends=steps, exact=steps)


LIMITED = """
import resource, sys
from dpbayes.cli import main
import dpbayes.commands.paid, duckdb, numpy
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
    prepared(tmp_path, (MANY, 1, "0.5", False, "lattice", 3000))
    run(tmp_path, LIMITED, str(megabytes))
    plan = read_plan(tmp_path / "plan.toml")
    account = open_account(tmp_path / "a")
    before = account.result(plan.request_of(account.fingerprint(tmp_path / "people.csv")))
    again = run(tmp_path, AGAIN)
    assert again.returncode == 0, again.stderr
    entries = open_account(tmp_path / "a").entries
    assert Counter(e.kind for e in entries) == Counter(open=1, table=1, spend=1, result=1)
    assert before is None or json.loads(before)["noisy"] == json.loads(again.stdout)
