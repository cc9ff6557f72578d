"""The ledger under kill -9, concurrent askers, foreign cubes and damage."""

import hashlib
import json
import multiprocessing
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dpbayes import queries
from dpbayes.queries.cube import as_cube
from dpbayes.queries.grid import from_text
from dpbayes.queries.ledger import open_ledger
from tests.queries import asker

KILLS = 10


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.BaseContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.queries.asker"])
    return context


def received(line: object) -> list[object]:
    messages = []
    try:
        while True:
            messages.append(line.recv())  # type: ignore[attr-defined]
    except (EOFError, ConnectionResetError):
        return messages


def check(path: Path, told: list[tuple[int, float]]) -> queries.QueryServer:
    """Check that the file is whole, holds every answer that was told, and is within the bound."""
    server = asker.open_server(str(path))
    numbers = [entry.number for entry in server.entries]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {number for number, _ in told} <= set(numbers)
    assert len({number for number, _ in told}) == len(told)
    H = np.array([entry.query for entry in server.entries]).reshape(-1, 16)
    if len(H):
        scales = [entry.scale / 2**128 for entry in server.entries]
        assert server.spent == pytest.approx(queries.cost_of_scales(H, scales), rel=1e-12)
    assert server.spent <= asker.BOUND
    return server


def test_killed_in_a_loop(processes: multiprocessing.context.BaseContext, tmp_path: Path) -> None:
    path, rng = tmp_path / "spend.sqlite", np.random.default_rng(5)
    told: list[tuple[int, float]] = []
    interrupted = 0
    for seed in range(KILLS):
        ours, theirs = processes.Pipe(duplex=False)
        child = processes.Process(target=asker.ask_until_refused, args=(str(path), seed, theirs))
        child.start()
        theirs.close()
        if ours.poll(20):
            time.sleep(rng.uniform(0.0, 0.02))
        child.kill()
        child.join()
        interrupted += child.exitcode == -9
        told += received(ours)  # type: ignore[arg-type]
        check(path, told).close()
    assert interrupted > KILLS // 3
    assert told


@pytest.mark.parametrize(
    ("moment", "recorded"),
    [
        ("before the draw", 0),
        ("after the draw", 0),
        ("before the commit", 0),
        ("after the commit", 1),
    ],
)
def test_killed_at_each_step(
    processes: multiprocessing.context.BaseContext, tmp_path: Path, moment: str, recorded: int
) -> None:
    path = tmp_path / "spend.sqlite"
    ours, theirs = processes.Pipe(duplex=False)
    child = processes.Process(target=asker.ask_and_die, args=(str(path), moment, theirs))
    child.start()
    theirs.close()
    child.join()
    assert child.exitcode == -9
    assert received(ours) == []
    server = check(path, [])
    assert len(server.entries) == recorded
    assert (server.spent > 0) == bool(recorded)
    assert server.ask(np.ones(16), 20.0, 0.05).outcome == ("derived" if recorded else "fresh")


def test_concurrent_askers_never_overspend(
    processes: multiprocessing.context.BaseContext, tmp_path: Path
) -> None:
    path = tmp_path / "spend.sqlite"
    lines, children = [], []
    for seed in range(4):
        ours, theirs = processes.Pipe(duplex=False)
        child = processes.Process(
            target=asker.ask_until_refused, args=(str(path), 100 + seed, theirs)
        )
        child.start()
        theirs.close()
        lines.append(ours)
        children.append(child)
    told = [message for line in lines for message in received(line)]
    for child in children:
        child.join()
        assert child.exitcode == 0
    server = check(path, told)  # type: ignore[arg-type]
    assert len(server.entries) == len(told)


def test_threads_share_one_server(tmp_path: Path) -> None:
    server = asker.open_server(str(tmp_path / "spend.sqlite"))
    outcomes: list[queries.Answer] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for q in queries.random_ranges((16,), 6, rng):
            outcomes.append(server.ask(q, 60.0, 0.05))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = sorted(a.number for a in outcomes if a.number is not None)
    assert numbers == [entry.number for entry in server.entries]
    assert server.spent <= asker.BOUND


def test_spend_and_answers_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "spend.sqlite"
    first = asker.open_server(str(path))
    answer = first.ask("cell < 4", 40.0, 0.05)
    first.close()
    second = asker.open_server(str(path))
    assert second.spent == answer.spent
    again = second.ask("cell < 4", 40.0, 0.05)
    assert again.outcome == "derived"
    assert again.estimate == pytest.approx(answer.estimate)
    assert again.sources[0].label == "cell < 4"


def ledger_with_an_answer(path: Path) -> Path:
    server = asker.open_server(str(path))
    server.ask("cell < 4", 40.0, 0.05)
    server.ask("cell >= 8", 40.0, 0.05)
    server.close()
    return path


@pytest.mark.parametrize(
    ("counts", "bound", "options", "message"),
    [
        (np.arange(16) * 7 + 1, 3.0, {}, "belongs to another cube"),
        (np.arange(15) * 7, 3.0, {}, "belongs to another cube"),
        (asker.COUNTS, 4.0, {}, "was opened with bound '3.0', got '4.0'"),
        (asker.COUNTS, 3.0, {"neighbours": "replace-one"}, "neighbours 'add-remove'"),
        (asker.COUNTS, 3.0, {"accounting": "sequential"}, "accounting 'cells'"),
    ],
)
def test_ledger_on_other_terms(
    tmp_path: Path, counts: np.ndarray, bound: float, options: dict[str, str], message: str
) -> None:
    path = ledger_with_an_answer(tmp_path / "spend.sqlite")
    before = path.read_bytes()
    with pytest.raises(queries.LedgerError, match=message):
        queries.QueryServer(counts, bound, ledger=path, **options)  # type: ignore[arg-type]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answers SET scale = '1' || scale WHERE id = 1",
        "UPDATE answers SET answer = 'many' WHERE id = 2",
        "UPDATE answers SET query = x'00' WHERE id = 2",
        "UPDATE answers SET label = 'other' WHERE id = 2",
        "DELETE FROM answers WHERE id = 1",
        "UPDATE answers SET digest = 'x' WHERE id = 1",
        "DROP TABLE answers",
        "DELETE FROM answers WHERE id = 2",
        "DELETE FROM terms WHERE name = 'head'",
        "DELETE FROM terms WHERE name = 'salt'",
        "UPDATE terms SET value = '2' WHERE name = 'format'",
    ],
)
def test_edited_ledger_is_noticed(tmp_path: Path, damage: str) -> None:
    path = ledger_with_an_answer(tmp_path / "spend.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(queries.LedgerError, match=r"spend\.sqlite"):
        asker.open_server(str(path))


@pytest.mark.parametrize(
    "content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_file_that_is_no_ledger(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "spend.sqlite"
    path.write_bytes(content)
    with pytest.raises(queries.LedgerError, match=r"spend\.sqlite (is damaged|cannot be used)"):
        asker.open_server(str(path))
    assert path.read_bytes() == content


def test_overwritten_pages_are_noticed(tmp_path: Path) -> None:
    path = ledger_with_an_answer(tmp_path / "spend.sqlite")
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = b"\x55" * (len(content) - len(content) // 2)
    path.write_bytes(bytes(content))
    with pytest.raises(queries.LedgerError, match=r"spend\.sqlite"):
        asker.open_server(str(path))


def test_damage_while_open_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    path = ledger_with_an_answer(tmp_path / "spend.sqlite")
    server = asker.open_server(str(path))
    state = server._history.state
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO answers VALUES (3, 'x', x'00', '1', '1', 'forged')")
    connection.close()
    with pytest.raises(queries.LedgerError, match="damaged"):
        server.ask("cell < 2", 40.0, 0.05)
    assert server._history.state is state


def test_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(queries.LedgerError, match="cannot be used: unable to open"):
        asker.open_server(str(tmp_path / "nowhere" / "spend.sqlite"))


def test_failed_commit_spends_nothing_and_answers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = asker.open_server(str(tmp_path / "spend.sqlite"))
    state = server._history.state

    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(server._ledger, "append", broken)
    with pytest.raises(OSError, match="disk full"):
        server.ask("cell < 2", 40.0, 0.05)
    assert server._history.state is state
    monkeypatch.undo()
    assert server.spent == 0.0
    assert server.ask("cell < 2", 40.0, 0.05).number == 1


def test_ledger_keeps_no_exact_count(tmp_path: Path) -> None:
    path = ledger_with_an_answer(tmp_path / "spend.sqlite")
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT answer FROM answers").fetchall()
        terms = dict(connection.execute("SELECT name, value FROM terms").fetchall())
    connection.close()
    truths = {int(asker.COUNTS[:4].sum()) << 128, int(asker.COUNTS[8:].sum()) << 128}
    assert not truths & {from_text(row[0]) for row in rows}
    assert json.dumps(asker.COUNTS.tolist()) not in json.dumps(terms)


@pytest.mark.parametrize("right", [True, False])
def test_a_guess_of_all_counts_is_confirmed_by_the_fingerprint(right: bool, tmp_path: Path) -> None:
    path = ledger_with_an_answer(tmp_path / "spend.sqlite")
    with sqlite3.connect(path) as connection:
        terms = dict(connection.execute("SELECT name, value FROM terms").fetchall())
    connection.close()
    guess = as_cube(asker.COUNTS if right else asker.COUNTS + 1).content()
    assert (hashlib.sha256(terms["salt"].encode() + guess).hexdigest() == terms["cube"]) == right


def test_a_cut_is_noticed_unless_the_last_digest_is_made_to_fit(tmp_path: Path) -> None:
    path = tmp_path / "spend"
    server = queries.QueryServer([10, 20], 1.0, ledger=path)
    for length in (60, 30):
        server.ask([1.0, 0.0], length, 0.05)
    server.close()
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM answers WHERE id = 2")
    file.close()
    with pytest.raises(queries.LedgerError, match="missing at its end"):
        queries.QueryServer([10, 20], 1.0, ledger=path)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE terms SET value = (SELECT digest FROM answers) WHERE name = 'head'")
    file.close()
    # The ledger cannot know, and the page says so; an account can, which has a key.
    assert len(queries.QueryServer([10, 20], 1.0, ledger=path).entries) == 1


def test_rows_in_the_older_units_keep_their_text_and_their_digest() -> None:
    ledger = open_ledger(None, b"cube", 2, {"bound": "1.0"})
    scale, answer, query = 4 * 2**32, 30 * 2**32 + 17, np.array([1.0, round(2**32 / 3) / 2**32])
    start = ledger.position[1]
    with ledger.writing():
        entry = ledger.append("all", query, scale << 96, answer << 96)
    written = ledger._connection.execute("SELECT scale, answer, digest FROM answers").fetchone()
    head = f"{start}|1|all|{scale}|{answer}|".encode() + query.astype("<f8").tobytes()
    assert written == (str(scale), str(answer), hashlib.sha256(head).hexdigest())
    assert [one.answer for one in ledger.read_new()] == [entry.answer]
    assert entry.answer / 2**128 == answer / 2**32
