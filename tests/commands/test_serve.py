"""``dpbayes serve``: its file, its tokens, and a service that is asked as long as it runs."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from dpbayes import cli
from dpbayes.queries.service import new_token, token_digest
from dpbayes.releasing.opening import open_account

ANNA = new_token()


def test_only_digests_are_stored_and_tokens_are_long(capsys):
    assert cli.main(["serve", "--new-token"]) == 0
    token, digest = (line.split()[1] for line in capsys.readouterr().out.splitlines())
    assert token_digest(token) == digest
    assert len(token) >= 32


@pytest.fixture
def described(cells):
    """Write a table, its cube and the file of a service of Anna; return the place of a socket."""
    pytest.importorskip("duckdb")
    (cells / "table.csv").write_text("age\n" + "\n".join(str(a) for a in range(18, 78)) * 5 + "\n")
    open_account(cells / "a.account").accept(cells / "table.csv")
    (cells / "cube.toml").write_text(
        'source = "table.csv"\nbound = 1.0\noutside = "drop"\n'
        '[[attribute]]\nname = "age"\nedges = [18, 38, 58, 78]\n'
    )
    (cells / "service.toml").write_text(
        'cube = "cube.toml"\naccount = "a.account"\ntick = 0.01\n[[analyst]]\nname = "anna"\n'
        f'token = "{token_digest(ANNA)}"\nbudget = "0.3"\n'
    )
    return cells / "s"


def appeared(place):
    for _ in range(300):
        if place.exists():
            return
        time.sleep(0.1)


def test_the_command_serves_what_its_file_says(cells, described, monkeypatch, capsys):
    place = described
    words = ["serve", str(cells / "service.toml"), "--socket", str(place)]
    thread = threading.Thread(target=cli.main, args=(words,), daemon=True)
    thread.start()
    appeared(place)
    monkeypatch.setenv("DPBAYES_TOKEN", ANNA)
    asking = ["ask", "age between 18 and 58", "--server", f"unix:{place}", "--length", "60"]
    assert cli.main([*asking, "--price"]) == 0
    assert cli.main(asking) == 0
    printed = capsys.readouterr().out
    assert "fresh, cost 0.0998" in printed
    assert "left 0.2001" in printed
    monkeypatch.delenv("DPBAYES_TOKEN")
    assert cli.main(asking) == 2


@pytest.fixture
def interruptible():
    """Commands started here can be interrupted even if the tests run where that is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGKILL"])
def test_the_same_command_serves_again_after_an_end(cells, described, name):
    words = [sys.executable, "-m", "dpbayes", "serve", "service.toml", "--socket", described.name]
    for _ in range(2):
        served = subprocess.Popen(words, cwd=cells, stdout=subprocess.PIPE, text=True)
        assert served.stdout.readline().startswith("serving at ")
        served.send_signal(signal.Signals[name])
        assert served.communicate(timeout=60) == ("", None)
        assert served.returncode == (-signal.SIGKILL if name == "SIGKILL" else 0)
        assert described.exists() == (name == "SIGKILL")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must set cube, account, analyst"),
        ("cube = 1", "must set cube, account, analyst"),
        ("what", "cannot be read"),
        ('cube = "c"\naccount = "a.account"\ntick = 0\nanalyst = []', "tick must lie in"),
        ('cube = "c"\naccount = 2\nanalyst = []', "account must be the path of a file, got 2"),
        ('cube = []\naccount = "a"\nanalyst = []', "cube must be the path of a file, got []"),
        ('cube = "c"\naccount = "a"\nanalyst = []', "analyst must be one or more tables"),
        ('cube = "c"\naccount = "a"\nanalyst = 3', "analyst must be one or more tables"),
        ('cube = "c"\naccount = "a"\nanalyst = [1]', "an analyst must be a table"),
    ],
)
def test_a_service_file_with_a_mistake(cells, capsys, text, message):
    (cells / "service.toml").write_text(text)
    assert cli.main(["serve", str(cells / "service.toml")]) == 2
    assert message in capsys.readouterr().err
