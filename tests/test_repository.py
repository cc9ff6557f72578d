"""The repository as a whole: dependencies, the order of imports, licences, citation."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement

import dpbayes

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dpbayes"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DIRECT = [Requirement(one) for extra in [PROJECT["dependencies"],
          *PROJECT["optional-dependencies"].values()] for one in extra]  # fmt: skip
LOCK = (ROOT / "requirements.lock").read_text()
# Each may import what stands before it.
ORDER = (
    "_lazy",
    "_roots",
    "_validate",
    "_values",
    "_stirling",
    "posteriors",
    "divergences",
    "sensitivity",
    "laws",
    "samplers",
    "mechanisms",
    "figures",
    "accuracy",
    "auditing",
    "tables",
    "study",
    "_tabulated",
    "notebooks",
    "record",
    "runner",
    "commands",
    "__main__",
)
# What jupyter-book, myst-nb and the rest of the extra cannot do without.
BROUGHT = {
    "sphinx",
    "docutils",
    "myst-parser",
    "pybtex",
    "traitlets",
    "markupsafe",
    "nbclient",
    "sphinx-external-toc",
    "pandas",
    "packaging",
    "pydantic-core",
}
PLOTTING = {"matplotlib", "seaborn", "mpl_toolkits"}
TABLES = {"duckdb", "pydantic", "flint", "jinja2", "starlette", "uvicorn"}
OPTIONAL = {
    "dask",
    "distributed",
    "docutils",
    "nbconvert",
    "nbformat",
    "traitlets",
    "yaml",
}


def lock(python: str) -> dict[str, str]:
    """Return the locked version of each package for one version of Python on Linux."""
    environment = {
        "python_version": python, "python_full_version": f"{python}.9",
        "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix",
        "platform_machine": "x86_64", "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }  # fmt: skip
    found = re.findall(
        r"^([\w.-]+)==([^ ;]+)(?: ; (.*?))?(?: \\)?$", LOCK, re.MULTILINE
    )
    return {
        name: version
        for name, version, marker in found
        if not marker or Marker(marker).evaluate(environment)
    }


def imports(tree: ast.AST) -> set[str]:
    """Return the full names of the modules that a piece of code imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in (
            "dpbayes",
            "matplotlib",
        ):
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


IMPORTS = {path: imports(ast.parse(path.read_text())) for path in SOURCES}


def home(path: Path) -> str:
    """Return the module directly below dpbayes that a source file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_lock_and_conda_environment_cover_every_dependency() -> None:
    assert "://" not in LOCK
    assert "index-url" not in LOCK
    blocks = re.split(r"\n(?=\S)", LOCK.strip())
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    for python in ("3.11", "3.12", "3.13"):
        locked = lock(python)
        for one in DIRECT:
            assert one.specifier.contains(locked[one.name.lower()], prereleases=True), (
                python,
                one,
            )
    asked: dict[str, str] = {}
    for entry in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]:
        for line in entry["pip"] if isinstance(entry, dict) else [entry]:
            name, _, version = line.replace("==", "=").partition("=")
            asked[name.replace("python-duckdb", "duckdb")] = version
    python = asked.pop("python")
    del asked["pip"]
    del asked["-e ."]  # the package itself
    assert {name: lock(python).get(name) for name in asked} == asked
    assert asked.keys() == {one.name.lower() for one in DIRECT}


def test_imports_point_one_way() -> None:
    wrong = []
    for path, names in IMPORTS.items():
        for name in {
            part for one in names for part in one.split(".")[1:2] if "dpbayes." in one
        }:
            known = name in ORDER and home(path) != "__init__"
            if known and ORDER.index(name) > ORDER.index(home(path)):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
        if "dpbayes" in names and home(path) not in ("commands", "notebooks", "runner"):
            wrong.append(f"{path.relative_to(ROOT)} imports the whole package")
    assert wrong == []
    assert {home(path) for path in SOURCES} - {*ORDER, "__init__"} == set()


@cache
def named(code: str) -> frozenset[str]:
    """Return the modules that code imports; an attribute of the package loads one."""
    tree = ast.parse(code)
    offered = {
        f"dpbayes.{dpbayes._MODULE_OF[one.attr]}"
        for one in ast.walk(tree)
        if isinstance(one, ast.Attribute) and one.attr in dpbayes._MODULE_OF
    }
    return frozenset(imports(tree) | offered)


def distributions(code: str, seen: set[str]) -> set[str]:
    """Return the top names that code imports, itself and through this package."""
    found = {one.split(".")[0] for one in named(code)}
    for name in named(code) - seen:
        inside = PACKAGE.parent / name.replace(".", "/")
        for path in (inside.with_suffix(".py"), inside / "__init__.py"):
            if name.startswith("dpbayes.") and path.is_file():
                seen.add(name)
                found |= distributions(path.read_text(), seen)
    return found


def test_the_extra_for_the_book_holds_all_that_notebooks_and_extension_import() -> None:
    code = [one.read_text() for one in (ROOT / "book/_ext").rglob("*.py")]
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        source = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
        lines = "\n".join(source).splitlines()
        code.append("\n".join(one for one in lines if one[:1] not in "%!"))
    seen: set[str] = set()
    needed = set().union(*(distributions(one, seen) for one in code))
    needed -= {*sys.stdlib_module_names, "dpbayes", "dpbook", "conftest"}
    homes = importlib.metadata.packages_distributions()
    extras = PROJECT["optional-dependencies"]
    given = [Requirement(one) for one in PROJECT["dependencies"] + extras["book"]]
    brought = {one.name.lower() for one in given} | BROUGHT
    missing = {
        one
        for one in needed
        if not {name.lower().replace("_", "-") for name in homes[one]} & brought
    }
    assert missing == set()
    assert {"duckdb", "pydantic", "flint"} <= needed


def test_libraries_are_imported_where_they_belong() -> None:
    """A pyplot figure would be shown twice in a notebook."""
    for path, names in IMPORTS.items():
        roots = {name.split(".")[0] for name in names}
        assert home(path) == "figures" or not PLOTTING & roots, path
        assert "matplotlib.pyplot" not in names, path
        top = [
            one for one in ast.parse(path.read_text()).body if isinstance(one, ast.stmt)
        ]
        plain = [one for one in top if isinstance(one, ast.Import | ast.ImportFrom)]
        early = {name.split(".")[0] for one in plain for name in imports(one)}
        if path.name == "engine.py":  # which papermill imports, or a run that has it
            continue
        assert not early & (
            OPTIONAL if home(path) == "tables" else OPTIONAL | TABLES
        ), path


@pytest.mark.parametrize("folder", ["dpbayes", "book/_ext"])
def test_modules_are_short(folder: str) -> None:
    long = [
        path
        for path in (ROOT / folder).rglob("*.py")
        if path.read_text().count("\n") > 400
    ]
    assert long == []


def test_version_licence_and_changes_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert "version" in PROJECT["dynamic"]  # it is read from the package
    assert citation["version"] == zenodo["version"] == dpbayes.__version__
    assert citation["license"] == zenodo["license"] == "MIT"
    assert citation["title"] == zenodo["title"]
    assert {
        "cff-version",
        "message",
        "authors",
        "type",
        "date-released",
    } <= citation.keys()
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    newest = re.findall(
        r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )[0]
    assert dpbayes.__version__ in newest or newest.endswith("unreleased")


def test_scripts_of_others_are_the_published_files() -> None:
    digests = {
        "mathjax/tex-svg.js": (
            "d4295dc33744836935c1399feece5159577b34c5c8ffb9f1c6324cd82e03a882"
        ),
        "uplot/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba",
        "uplot/uPlot.min.css": (
            "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"
        ),
    }
    for file, digest in digests.items():
        path = ROOT / "book" / "_extra" / file
        assert hashlib.sha256(path.read_bytes()).hexdigest().startswith(digest)
        assert re.search(
            "Apache License|The MIT License", path.with_name("LICENSE").read_text()
        )


def test_links_into_book_and_package_are_relative() -> None:
    for link, target in {
        "book/_config.yml": "../_config.yml", "book/_toc.yml": "../_toc.yml",
        "dpbayes/carried/notebooks": "../../notebooks", "dpbayes/carried/reference":
        "../../book/reference", "dpbayes/carried/mathjax": "../../book/_extra/mathjax",
    }.items():  # fmt: skip
        assert os.readlink(ROOT / link) == target


def test_nothing_generated_and_no_path_of_one_machine_is_tracked() -> None:
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    names = listed.splitlines()
    assert not [
        one
        for one in names
        if one.startswith(("book/_build/", "book/results/", "results/"))
    ]
    homes = re.compile(rf"{re.escape(str(ROOT))}/|/root/|/home/\w+/|/tmp/\w")
    build = {"Makefile", "run", "requirements.lock", "environment.yml"}
    for path in [ROOT / one for one in names]:
        read = (
            path.suffix in {".py", ".md", ".yml", ".toml", ".ipynb", ".cff"}
            or not path.suffix
        )
        if read and path.is_file() and path != Path(__file__):
            text = path.read_text(encoding="utf-8")
            assert not homes.search(text), path
            assert path.name not in build or "://" not in text, path
