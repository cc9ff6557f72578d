"""What references are called on a page that stands alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.press.places import notebooks_folder
from dpbayes.press.titles import called, titles, works
from tests.tiny_notebooks import write_tiny

PAGE = """# What is a *distance*?

```{prf:theorem} It is small
:label: thm-small
:class: wide

Small.
```

```{prf:definition}
:label: def-bare

Bare.
```

````{prf:remark} No label
:class: wide

Lost.
````
"""
BIB = """@article{one,
 author = {Ghosh, Arpita},
 year = {2012}
}
@book{three,
 author = {{Dwork}, Cynthia and Roth, Aaron and Reingold, Omer},
 year = {2014},
 title = {T}
}
@misc{none,
 title = {No names}
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "book/part").mkdir(parents=True)
    (tmp_path / "book/part/page.md").write_text(PAGE)
    (tmp_path / "book/references.bib").write_text(BIB)
    write_tiny(tmp_path / "notebooks", "part/tiny")
    return tmp_path


def test_pages_notebooks_blocks_and_works_have_names(root: Path) -> None:
    found = titles(root)
    assert found["part/page"] == "What is a *distance*?"
    assert found["results/part/tiny"] == "What is twice n?"
    assert found["thm-small"] == "Theorem (It is small)"
    assert found["def-bare"] == "Definition"
    assert not any("No label" in name for name in found.values())


def test_works_are_called_by_author_and_year() -> None:
    assert works(BIB) == {"one": "Ghosh, 2012", "three": "Dwork et al., 2014", "none": ", n.d."}


@pytest.mark.parametrize(
    ("page", "target", "name"),
    [
        ("part/page", "thm-small", "Theorem (It is small)"),
        ("part/page", "../results/part/tiny", "What is twice n?"),
        ("results/part/tiny", "../../part/page", "What is a *distance*?"),
        ("index", "/part/page", "What is a *distance*?"),
        ("index", "nowhere", "nowhere"),
    ],
)
def test_a_target_is_found_from_where_it_is_named(
    root: Path, page: str, target: str, name: str
) -> None:
    assert called(root, page, target) == name
    assert called(None, page, target) == target


def test_every_reference_of_this_book_s_notebooks_has_a_name() -> None:
    folder = notebooks_folder(Path(__file__))
    known = titles(folder.parent)
    assert sum(name.startswith("results/") for name in known) > 100
    assert sum(name.startswith("thm-") for name in known) > 20
    assert all(name.strip() for name in known.values())
