"""The site carries its source: the archive and the wheel that it was built from.

``dpbayes-<version>.tar.gz`` is ``git archive`` of the commit, or of the working tree
where that differs; where there is no git, the tree as it stands, less what
``.gitignore`` lists. The wheel is built from the unpacked archive, so it proves that
nothing else is needed. Both lie in the site below ``source/``, with their SHA-256 in
``SHA256SUMS``; ``{source}`` on a page lists them, and the footer of every page links
to the archive.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import dpbayes
from dpbayes.record import json_bytes, read_json, write_atomically

ROOT = Path(__file__).parents[3]
STAMP = "dpbayes/data/commit.txt"  # git archive writes hash and date into it
IGNORED = re.compile(
    r"(^|/)(\.git|\.venv|__pycache__|\.[a-z]+_cache|\.hypothesis|\.benchmarks"
    r"|\.ipynb_checkpoints|[^/]*\.egg-info)(/|$)"
    r"|^(build|dist|results|book/_build|book/results)(/|$)|\.part$"
)
WHEEL = (
    "import sys; from setuptools import build_meta;"
    " print('\\n' + build_meta.build_wheel(sys.argv[1]))"
)


@dataclass(frozen=True)
class Source:
    """What a site was built from: version, commit and date, archive and wheel."""

    version: str
    commit: str
    date: str
    archive: str
    archive_sha256: str
    wheel: str
    wheel_sha256: str

    @property
    def words(self) -> str:
        """Version, commit and date, such as ``0.3.0 (2b5207b8, 2026-11-29)``."""
        known = ", ".join(one for one in (self.commit, self.date) if one)
        return f"{self.version} ({known})" if known else self.version


def git(root: Path, *words: str, **settings: str) -> str:
    """Return what git says of a checkout, or nothing where there is none."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return ""  # a copy inside somebody else's repository is not of that repository
    command = ["git", "-C", str(root), *words]
    surroundings = {**os.environ, **settings}
    said = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    return said.stdout.strip()


def as_it_stands(root: Path) -> str:
    """Return the commit of a checkout, or one made of what it holds now.

    The second is on no branch: its files are all that git does not ignore.
    """
    head = git(root, "rev-parse", "HEAD")
    if not git(root, "status", "--porcelain"):
        return head
    with tempfile.TemporaryDirectory() as name:
        index = {"GIT_INDEX_FILE": f"{name}/index"}
        git(root, "read-tree", head, **index)
        git(root, "add", "--all", **index)
        files = git(root, "write-tree", **index)
    when = git(root, "log", "-1", "--format=%cI")  # the same commit for the same files
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "-"), ("EMAIL", "-"), ("DATE", when))
    }
    return git(root, "commit-tree", files, "-p", head, "-m", "as it stands", **who)


def commit(root: Path) -> tuple[str, str]:
    """Return the short hash and the date of the commit, or two empty texts.

    In a checkout git knows them; an unpacked archive has them in a file that
    ``git archive`` filled in.
    """
    said = git(root, "log", "-1", "--format=%h %cs")
    stamp = root / STAMP
    if not said and stamp.is_file() and "$" not in stamp.read_text(encoding="utf-8"):
        said = stamp.read_text(encoding="utf-8").strip()
    short, _, date = said.partition(" ")
    return short, date


def tree(root: Path, prefix: str) -> bytes:
    """Return the tar file of a tree without git, the same bytes for the same files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            above = list(path.relative_to(root).parents)[:-1]
            through = any((root / one).is_symlink() for one in above)
            folder = path.is_dir() and not path.is_symlink()
            if IGNORED.search(name) or through or folder:
                continue
            entry = archive.gettarinfo(path, f"{prefix}/{name}")
            entry.mtime = entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            content = b"" if entry.issym() else path.read_bytes()
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def archived(root: Path, prefix: str) -> bytes:
    """Return the compressed archive of a checkout or of a tree without git."""
    if now := as_it_stands(root):
        words = ["archive", "--format=tar", f"--prefix={prefix}/", now]
        packed = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, check=True
        ).stdout
    else:
        packed = tree(root, prefix)
    return gzip.compress(packed, mtime=0)


def built_wheel(archive: Path, prefix: str, folder: Path) -> Path:
    """Build the wheel from an archive, unpacked elsewhere, and return its path."""
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(archive) as packed:
            packed.extractall(name, filter="data")
        command = [sys.executable, "-c", WHEEL, str(folder)]
        made = subprocess.run(
            command,
            cwd=Path(name, prefix),
            capture_output=True,
            text=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "315532800"},  # zip begins in 1980
        )
    if made.returncode:
        raise ExtensionError(f"no wheel of {archive.name}: {made.stderr[-2000:]}")
    return folder / made.stdout.split()[-1]


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def made(root: Path, folder: Path) -> Source:
    """Return what a site is built from; archive and wheel are made anew if it changed.

    `folder` keeps both from build to build, with a file that says what they are.
    """
    prefix = f"dpbayes-{dpbayes.__version__}"
    packed = archived(root, prefix)
    kept = read_json(folder / "source.json")
    if kept.get("archive_sha256") == hashlib.sha256(packed).hexdigest():
        return Source(**kept)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = folder / f"{prefix}.tar.gz"
    write_atomically(archive, packed)
    wheel = built_wheel(archive, prefix, folder)
    short, date = commit(root)
    if git(root, "status", "--porcelain"):
        short += " with changes"
    hashes = digest(archive), digest(wheel)
    source = Source(
        dpbayes.__version__, short, date,
        archive.name, hashes[0], wheel.name, hashes[1],
    )  # fmt: skip
    sums = f"{hashes[0]}  {archive.name}\n{hashes[1]}  {wheel.name}\n"
    write_atomically(folder / "SHA256SUMS", sums.encode())
    write_atomically(folder / "source.json", json_bytes(asdict(source)))
    return source


def prepare(app: Sphinx, config: Any) -> None:
    """Make archive and wheel before pages are read.

    What the footers say is a value of the configuration, so that all pages are written
    again when it changes.
    """
    source = made(ROOT, Path(app.srcdir, "_build", "source"))
    config.dpbook_source = [source.words, source.archive]


def publish(app: Sphinx) -> None:
    """Put archive, wheel and their hashes into a finished site."""
    there = Path(app.outdir, "source")
    shutil.rmtree(there, ignore_errors=True)
    shutil.copytree(Path(app.srcdir, "_build", "source"), there)
    (there / "source.json").unlink()


def footer(
    app: Any, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Say on every page which version it is of, and link to the source."""
    version, archive = app.config.dpbook_source
    to = context["pathto"](f"source/{archive}", 1)
    link = f'<a href="{to}" download>source of this site</a>'
    words = f"<p>dpbayes {version} · {link}</p>"
    context["theme_extra_footer"] = f"{context.get('theme_extra_footer', '')}{words}"


class Listed(SphinxDirective):
    """The archive and the wheel of this site, with version, commit, date and hashes."""

    def run(self) -> list[nodes.Node]:
        """Return a list of two files."""
        path = Path(self.env.srcdir, "_build", "source", "source.json")
        self.env.note_dependency(str(path))
        source = Source(**read_json(path))
        up = "../" * self.env.docname.count("/")
        items = []
        for name, sha256, what in (
            (source.archive, source.archive_sha256, f"everything, {source.words}"),
            (source.wheel, source.wheel_sha256, "the package with its notebooks"),
        ):
            link = nodes.reference("", name, refuri=f"{up}source/{name}")
            text = nodes.paragraph("", "", link, nodes.Text(f": {what}. SHA-256 "))
            text += nodes.literal("", sha256)
            items.append(nodes.list_item("", text))
        return [nodes.bullet_list("", *items, classes=["source"])]
