"""What tests of several folders begin with: books of tiny notebooks, tables with an
account.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.tiny_notebooks import write_tiny

collect_ignore = ["jitter.py"]  # a plugin, which changes numpy where it is imported
# No test is about time: a busy machine must not fail one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


CONF = """
extensions = ["myst_nb", "dpbook"]
exclude_patterns = ["_build", "results/*/*/*"]
nb_execution_mode = "off"
nb_output_stderr = "warn"
nb_render_markdown_format = "myst"
myst_enable_extensions = ["colon_fence"]
numfig = True
"""
INDEX = """# A book

Twice n is {result}`part/tiny::double:d`. {claim}`part/tiny::few`

:::{result-table} part/tiny::squares
:name: tab-squares
:columns: i, square
:header: number, a third of its square
:format: d, .2f
Squares.
:::

See {numref}`tab-squares`.

```{toctree}
results/part/tiny
```
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the root of a book with one notebook and one page that quotes it."""
    return write_project(tmp_path)


def write_project(root: Path) -> Path:
    """Write a book with one notebook and one page that quotes it, and return its
    root."""
    (root / "_toc.yml").touch()
    write_tiny(root / "notebooks", "part/tiny")
    book = root / "book"
    book.mkdir()
    (book / "conf.py").write_text(CONF)
    (book / "index.md").write_text(INDEX)
    return root


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with one tiny notebook; it is the working folder."""
    (tmp_path / "_toc.yml").touch()
    write_tiny(tmp_path / "notebooks", "part/tiny")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def picky(checkout: Path) -> Path:
    """Return a checkout whose one notebook refuses n = 4; it is the working folder."""
    write_tiny(
        checkout / "notebooks", "part/tiny", "assert n != 4, 'four is not for us'"
    )
    return checkout


@pytest.fixture
def purse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working folder in which accounts can be made; their keys are kept
    there.
    """
    monkeypatch.setenv("DPBAYES_KEYS", str(tmp_path / "keys"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two_people(purse: Path) -> Path:
    """Return a table of two people."""
    path = purse / "people.csv"
    path.write_text("id,health\n1,good\n2,poor\n")
    return path


@pytest.fixture
def clinic(purse: Path) -> Path:
    """Return a folder with a table of seventy people, a plan for it and its account of
    1.2.
    """
    pytest.importorskip("duckdb")
    from tests.tables.clinic import opened  # the keys' folder is known now

    return opened(purse)
