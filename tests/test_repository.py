"""The repository as a whole: dependencies, the order of imports, licences, citation."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement

import dpbayes

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dpbayes"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Each may import what stands before it.
ORDER = (
    "_version", "_validate", "figures", "datasets", "posteriors", "log_gamma",
    "divergences", "sensitivity", "laws", "samplers", "mechanisms", "accuracy",
    "planning", "auditing", "tables", "study", "record", "runner", "cli", "commands", "__main__",
)  # fmt: skip
PLOTTING = {"matplotlib", "seaborn", "mpl_toolkits"}
RUN_TIME = {"numpy", "scipy", "matplotlib", "seaborn"}
# Other libraries, and the extra that brings them.
EXTRAS = {
    "tables": {"duckdb", "pydantic", "flint", "jinja2"},
    "serve": {"starlette", "uvicorn"},
    "cluster": {"dask", "distributed"},
    "book": {"docutils", "nbconvert", "nbformat", "traitlets", "yaml"},
}
CONDA_NAMES = {"python-duckdb": "duckdb"}


LOCK = "requirements.lock"


def lock(python: str) -> dict[str, str]:
    """Return the locked version of each package for one version of Python on Linux."""
    versions = {}
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for line in (ROOT / LOCK).read_text().splitlines():
        match = re.match(r"([\w.-]+)==([^ ;]+)(?: ; (.*))?$", line.removesuffix(" \\"))
        if match and (not match[3] or Marker(match[3]).evaluate(environment)):
            versions[match[1]] = match[2]
    return versions


def sources(folder: Path = PACKAGE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for path in map(ROOT.joinpath, listed.stdout.splitlines()) if path.is_file()]


def imports(tree: ast.AST) -> set[str]:
    """Return the full names of the modules that a piece of code imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "dpbayes":
            found |= {f"dpbayes.{name.name}" for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def at_import_time(tree: ast.Module) -> set[str]:
    """Return what is imported when the module is, outside functions and type checking."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= imports(node)
    return found


def home(path: Path) -> str:
    """Return the module directly below dpbayes that a source file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_the_lock_covers_every_dependency_and_names_no_address() -> None:
    text = (ROOT / LOCK).read_text()
    assert "://" not in text
    assert "index-url" not in text
    extras = PROJECT["optional-dependencies"].values()
    for python in ("3.11", "3.12", "3.13"):
        locked = lock(python)
        for line in [*PROJECT["dependencies"], *(one for extra in extras for one in extra)]:
            requirement = Requirement(line)
            version = locked[requirement.name.lower()]
            assert requirement.specifier.contains(version, prereleases=True), (python, line)


def test_every_locked_package_has_a_hash() -> None:
    blocks = re.split(r"\n(?=\S)", (ROOT / LOCK).read_text().strip())
    assert blocks
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def environment_versions() -> tuple[str, dict[str, str]]:
    """Return the Python of environment.yml and the version it asks of each package."""
    python, versions = "", {}
    for entry in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]:
        for line in entry["pip"] if isinstance(entry, dict) else [entry]:
            name, equals, version = line.replace("==", "=").partition("=")
            if name == "python":
                python = version
            elif equals:
                versions[CONDA_NAMES.get(name, name)] = version
    return python, versions


def test_the_conda_environment_agrees_with_the_lock() -> None:
    python, versions = environment_versions()
    locked = lock(python)
    assert {name: locked.get(name) for name in versions} == versions


def test_the_conda_environment_lists_every_direct_dependency() -> None:
    wanted = {
        Requirement(line).name.lower()
        for extra in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
        for line in extra
    }
    assert environment_versions()[1].keys() == wanted


@pytest.mark.slow
def test_imports_point_one_way() -> None:
    wrong = []
    for path in sources():
        place = home(path)
        if place == "__init__":
            continue
        for name in imports(ast.parse(path.read_text())):
            parts = name.split(".")
            if parts[0] != "dpbayes" or len(parts) == 1 or not stands_in_package(parts[1]):
                continue
            if rank(parts[1]) > rank(place):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


@pytest.mark.slow
def test_only_what_stands_on_the_whole_package_imports_it() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in sources()
        if "dpbayes" in imports(ast.parse(path.read_text()))
        and home(path) not in ("commands", "runner")
    ]
    assert wrong == []


def rank(place: str) -> int:
    assert place in ORDER, f"say in ORDER where {place} stands"
    return ORDER.index(place)


def stands_in_package(name: str) -> bool:
    return (PACKAGE / f"{name}.py").is_file() or (PACKAGE / name).is_dir()


@pytest.mark.slow
def test_only_figures_import_plotting_libraries() -> None:
    wrong = [
        path
        for path in sources()
        if home(path) != "figures"
        and PLOTTING & {name.split(".")[0] for name in imports(ast.parse(path.read_text()))}
    ]
    assert wrong == []


@pytest.mark.slow
def test_figures_leave_pyplot_alone() -> None:
    """A pyplot figure would be shown twice in a notebook."""
    names = {name for path in sources(PACKAGE / "figures") for name in all_names(path)}
    assert "matplotlib.pyplot" not in names


def all_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    found = imports(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "matplotlib":
            found |= {f"matplotlib.{name.name}" for name in node.names}
    return found


@pytest.mark.slow
def test_nothing_but_the_run_time_libraries_is_imported_with_the_package() -> None:
    optional = set().union(*EXTRAS.values())
    for path in sources():
        names = {name.split(".")[0] for name in at_import_time(ast.parse(path.read_text()))}
        names -= EXTRAS["tables"] | EXTRAS["serve"] if home(path) == "tables" else set()
        assert not names & optional, f"{path} imports {names & optional} when it is imported"


@pytest.mark.parametrize("folder", [PACKAGE, ROOT / "book" / "_ext"], ids=["dpbayes", "_ext"])
def test_modules_are_short(folder: Path) -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in sources(folder)}
    assert {path: lines for path, lines in lengths.items() if lines > 350} == {}


def test_version_and_licence_are_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert "version" in PROJECT["dynamic"]  # it is read from the package
    assert citation["version"] == zenodo["version"] == dpbayes.__version__
    assert citation["license"] == zenodo["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert citation["title"] == zenodo["title"]


def test_the_citation_file_is_well_formed() -> None:
    citation: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    required = {"cff-version", "message", "title", "authors", "type", "abstract", "date-released"}
    assert required <= citation.keys()
    assert citation["type"] == "software"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", citation["date-released"])
    assert all("name" in author or "family-names" in author for author in citation["authors"])


def test_the_changelog_is_well_formed() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^(#+) (.*)$", text, re.MULTILINE)
    assert headings[0] == ("#", "Changelog")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert {title for level, title in headings if level == "###"} <= kinds
    versions = [title for level, title in headings if level == "##"]
    assert versions
    assert all(re.fullmatch(r"Unreleased|\d+\.\d+\.\d+ — \d{4}-\d\d-\d\d", one) for one in versions)


def test_mathjax_is_the_published_file_with_its_licence() -> None:
    folder = ROOT / "book" / "_extra" / "mathjax"
    digest = hashlib.sha256((folder / "tex-svg.js").read_bytes()).hexdigest()
    assert digest == "d4295dc33744836935c1399feece5159577b34c5c8ffb9f1c6324cd82e03a882"
    assert "Apache License" in (folder / "LICENSE").read_text()


def test_uplot_is_the_published_version_with_its_licence() -> None:
    folder = ROOT / "book" / "_extra" / "uplot"
    published = {
        "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
        "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    }
    for name, digest in published.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    assert "1.6.32" in (folder / "uPlot.iife.min.js").read_text()[:200]
    assert "The MIT License" in (folder / "LICENSE").read_text()


def test_configuration_and_contents_are_linked_into_the_book() -> None:
    for name in ("_config.yml", "_toc.yml"):
        link = ROOT / "book" / name
        assert link.is_symlink()
        assert os.readlink(link) == f"../{name}"


def test_generated_files_are_not_tracked() -> None:
    generated = ("book/_build/", "book/results/", "results/")
    names = [path.relative_to(ROOT).as_posix() for path in tracked()]
    assert [name for name in names if name.startswith(generated)] == []


def test_no_path_of_one_machine_and_no_address_in_build_files() -> None:
    homes = re.compile(rf"{re.escape(str(ROOT))}/|/root/|/home/\w+/|/tmp/\w")
    build_files = {"Makefile", "run", LOCK, "_config.yml", "environment.yml"}
    for path in tracked():
        if path.suffix in {".py", ".md", ".yml", ".toml", ".ipynb", ".cff"} or not path.suffix:
            text = path.read_text(encoding="utf-8")
            assert path == Path(__file__) or not homes.search(text), path
            assert path.name not in build_files or "://" not in text, path
