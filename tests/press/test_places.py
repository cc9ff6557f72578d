"""Where notebooks are found, from wherever one stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.press.places import (
    all_notebooks,
    checkout_of,
    find_notebook,
    name_of,
    notebooks_folder,
    results_folder,
)
from tests.tiny_notebooks import write_tiny


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "_toc.yml").touch()
    write_tiny(tmp_path / "notebooks", "part/tiny")
    write_tiny(tmp_path / "notebooks", "part/.ipynb_checkpoints/tiny-checkpoint")
    (tmp_path / "deep/er").mkdir(parents=True)
    return tmp_path


def test_a_checkout_is_found_from_anywhere_inside(checkout: Path) -> None:
    for start in (checkout, checkout / "deep/er", checkout / "notebooks/part"):
        assert notebooks_folder(start) == checkout / "notebooks"
        assert results_folder(start) == checkout / "results"


def test_outside_a_checkout_the_package_s_own_notebooks_are_used(tmp_path: Path) -> None:
    assert (notebooks_folder(tmp_path) / "tables/laplace-steps.ipynb").is_file()
    assert results_folder(tmp_path) == tmp_path / "results"


@pytest.mark.parametrize(
    "given", ["part/tiny", "part/tiny.ipynb", "notebooks/part/tiny.ipynb", "notebooks/part/tiny"]
)
def test_a_notebook_is_meant_by_name_or_path(checkout: Path, given: str) -> None:
    assert find_notebook(given, checkout) == ("part/tiny", checkout / "notebooks/part/tiny.ipynb")


def test_an_unknown_name_is_answered_with_the_known_ones(checkout: Path) -> None:
    with pytest.raises(ValueError, match=r"no notebook 'part/tin'; .*\n  part/tiny$"):
        find_notebook("part/tin", checkout)


def test_checkpoints_of_an_editor_are_no_notebooks(checkout: Path) -> None:
    assert list(all_notebooks(checkout / "notebooks")) == ["part/tiny"]


def test_names_and_checkouts_of_paths() -> None:
    inside = Path("/a/notebooks/b/notebooks/part/x.ipynb")
    assert name_of(inside) == "part/x"
    assert checkout_of(inside) == Path("/a/notebooks/b")
    assert name_of(Path("/a/x.ipynb")) == "x"
    assert checkout_of(Path("/a/x.ipynb")) is None
