"""Pages written by several processes: the same site, and warnings still stop a strict build."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "book" / "_ext"
CONF = """
extensions = ["myst_nb", "dpbook", "sphinx.ext.autosectionlabel"]
nb_execution_mode = "off"
exclude_patterns = ["_build"]
"""
# How many processors a build finds, and how many processes it writes with.
FIND = "import dpbook.side_by_side as it; it.processors = lambda: int(os.environ['PROCESSORS'])\n"
TELL = """
import os
from pathlib import Path
import sphinx.builders.html as html
def setup(app):
    def told(self, name, tree, write=html.StandaloneHTMLBuilder.write_doc):
        with open(Path(app.srcdir).parent / "writers.txt", "a") as file:
            file.write(f"{os.getpid()}\\n")
        write(self, name, tree)
    html.StandaloneHTMLBuilder.write_doc = told
"""


def write_book(root: Path, last: str = "") -> None:
    book = root / "book"
    book.mkdir()
    (root / "_toc.yml").touch()
    (root / "notebooks").mkdir()
    (book / "conf.py").write_text(CONF + TELL + FIND)
    names = [f"page{number}" for number in range(25)]
    for name in names:
        linked = f"[](page{(int(name[4:]) + 7) % 25}.md)"
        (book / f"{name}.md").write_text(f"# The {name}\n\nWords of it, running on to {linked}.\n")
    (book / f"{names[-1]}.md").write_text("# The last\n\nIt stands alone.\n" + last)
    (book / "index.md").write_text("# All\n\n```{toctree}\n" + "\n".join(names) + "\n```\n")


def build(root: Path, processors: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-b", "html", "book", "site"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(EXTENSION), "PROCESSORS": str(processors)},
        capture_output=True,
        text=True,
        check=False,
    )


def files(site: Path) -> dict[str, str]:
    return {
        path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in site.rglob("*")
        if path.is_file() and ".doctrees" not in path.parts
    }


def test_a_site_is_the_same_whether_one_process_writes_it_or_two(tmp_path: Path) -> None:
    sites, writers = [], []
    write_book(tmp_path)
    for processors in (1, 2):
        done = build(tmp_path, processors)
        assert done.returncode == 0, done.stderr
        sites.append(files(tmp_path / "site"))
        told = tmp_path / "writers.txt"
        writers.append(len(set(told.read_text().split())))
        told.unlink()
        (tmp_path / "site").rename(tmp_path / f"site{processors}")
    assert sites[0] == sites[1]
    assert len(sites[0]) > 25
    assert writers[0] == 1
    assert writers[1] > 1


@pytest.mark.parametrize("processors", [1, 2])
def test_a_warning_while_a_page_is_written_stops_a_strict_build(
    tmp_path: Path, processors: int
) -> None:
    write_book(tmp_path, '\n```json\n{"not": json at all\n```\n')
    done = build(tmp_path, processors)
    assert done.returncode == 1
    assert re.search(r"page24\.md:\d+: WARNING: .*[Ll]exing", done.stderr), done.stderr
