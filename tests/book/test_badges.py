"""Badges come from results: the weakest curve of a figure, the outcome of a table's finding."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dpbayes.study.reproduction.catalogue import catalogue
from tests.book.test_sphinx import page, sphinx
from tests.tiny_notebooks import write_tiny

BOOK = Path(__file__).parents[2] / "book"
LISTS = yaml.safe_load((BOOK / "accuracy/gallery.yml").read_text(encoding="utf-8"))
ENTRIES = [one for many in LISTS.values() for one in many]
FIT = """
rows = [('D', '5', '', 3, 'reproduced'), ('D', '5', '', 4, '{weak}')]
rows.append(('D', '6', 'a', 5, 'reproduced'))
names = ('document', 'figure', 'panel', 'points', 'badge')
record.table('fit', {{name: [row[i] for row in rows] for i, name in enumerate(names)}})
"""
DRAWN = """
figure = __import__('matplotlib.figure').figure.Figure()
record.figure('d', figure, 'a blank', 'Drawn.')
record.finding('printed', n == 3, true='Every digit.', false='Some digits.')
"""
LIST = """
full:
- {label: "D, Table 1", page: part/tiny, finding: printed}
- {label: "D, Figure 5", page: part/tiny, image: d, panels: [[D, "5", ""]]}
- {label: "D, Figure 6", page: part/tiny, image: d, panels: [[D, "6", a]]}
- {label: "D, Figure 9", page: part/tiny, panels: [[D, "9", ""]]}
"""


def prepare(project: Path, weak: str) -> None:
    write_tiny(project / "notebooks", "part/tiny", *DRAWN.strip().splitlines())
    fit = FIT.format(weak=weak).strip().splitlines()
    write_tiny(project / "notebooks", "reproduction/published-fit", *fit)
    (project / "book/accuracy").mkdir(exist_ok=True)
    (project / "book/accuracy/gallery.yml").write_text(LIST)
    toctree = "```{toctree}\nresults/part/tiny\nresults/reproduction/published-fit\n```\n"
    (project / "book/index.md").write_text(f"# A book\n\n:::{{gallery}} full\n:::\n\n{toctree}")


@pytest.mark.parametrize("weak", ["reproduced as drawn", "not reproduced"])
def test_a_badge_is_the_weakest_of_its_curves(project: Path, weak: str) -> None:
    prepare(project, weak)
    done = sphinx(project)
    assert done.returncode == 0, done.stderr
    for html in (page(project), page(project, "results/part/tiny")):
        assert f'fit-badge-{weak.replace(" ", "-")}">{weak}</span> 2 curves, 7 points' in html
        assert 'fit-badge-reproduced">reproduced</span> 1 curve, 5 points' in html
        assert 'fit-badge-reproduced">reproduced</span> every printed digit' in html
        assert "not compared in this build</span> no points of it were compared" in html
    assert page(project).count("<img") == 2
    assert 'alt="D, Figure 5, drawn again"' in page(project)
    assert "What is twice n?" in page(project).partition("gallery")[2]
    (project / "parameters.yml").write_text("part/tiny: {n: 4}\n")
    assert sphinx(project).returncode == 0
    assert 'fit-badge-not-reproduced">not reproduced</span> every printed digit' in page(project)


def test_an_unknown_list_or_figure_stops_a_strict_build(project: Path) -> None:
    prepare(project, "reproduced")
    index = project / "book/index.md"
    index.write_text(index.read_text().replace("{gallery} full", "{gallery} empty"))
    done = sphinx(project)
    assert done.returncode != 0
    assert "has no list 'empty'; it has full" in done.stderr


def test_every_panel_with_points_is_in_a_gallery_once_and_nothing_else_is() -> None:
    listed = [tuple(panel) for one in ENTRIES for panel in one.get("panels", [])]
    assert sorted(listed) == sorted({(s.document, s.figure, s.panel) for s in catalogue()})
    assert all(("panels" in one) != ("finding" in one) for one in ENTRIES)


@pytest.mark.parametrize("one", ENTRIES, ids=[one["label"] for one in ENTRIES])
def test_the_page_of_an_entry_records_its_picture_and_its_badge(one: dict[str, str]) -> None:
    source = (BOOK.parent / "notebooks" / f"{one['page']}.ipynb").read_text(encoding="utf-8")
    if "image" in one:
        assert f'record.figure(\\"{one["image"]}\\"' in source
        assert '\\"badge\\", **verdict(' in source
    else:
        assert f'\\"{one["finding"]}\\"' in source
