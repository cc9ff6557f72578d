"""The page made from an executed notebook: parameters box, alternative text, downloads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpbayes.press.pages import page, publish
from dpbayes.press.parameters import Parameter, read_declarations
from tests.tiny_notebooks import code, notebook

DECLARED = read_declarations("n: int = 3  # records | cases, at least 1\nsizes: list[int] = [1]")
VALUES = {"n": 5, "sizes": [10, 20]}


@pytest.fixture
def executed() -> dict[str, Any]:
    figure = code("record.figure('a', figure, alt)", mystnb={"figure": {"name": "fig-a"}})
    figure["outputs"] = [
        {
            "output_type": "execute_result",
            "execution_count": 1,
            "data": {"image/svg+xml": "<svg/>"},
            "metadata": {"image/svg+xml": {"alt": "a line that rises"}},
        }
    ]
    return notebook(
        code("n: int = 3", "parameters", "remove-cell"),
        code("# Parameters\nn = 5", "injected-parameters"),
        figure,
    )


def texts(made: dict[str, Any]) -> dict[str, str]:
    return {cell["id"]: cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown"}


def test_the_box_lists_every_value_and_what_it_is(executed: dict[str, Any]) -> None:
    box = texts(page(executed, "part/name", VALUES, DECLARED, []))["parameters-box"]
    assert r"| `n` | `5` | records \| cases, at least 1 |" in box
    assert "| `sizes` | `[10, 20]` |" in box
    assert "dpbayes run part/name -p n=10 --output rerun" in box


def test_the_box_stands_where_the_values_were_put_in(executed: dict[str, Any]) -> None:
    made = page(executed, "part/name", VALUES, DECLARED, [])
    kinds = [cell["id"] for cell in made["cells"]]
    assert kinds.index("parameters-box") == 3
    assert "remove-cell" in made["cells"][2]["metadata"]["tags"]


def test_a_recorded_alternative_text_becomes_the_images(executed: dict[str, Any]) -> None:
    made = page(executed, "part/name", VALUES, DECLARED, [])
    figure = next(cell for cell in made["cells"] if "figure(" in cell["source"])
    assert figure["metadata"]["mystnb"] == {
        "figure": {"name": "fig-a"},
        "image": {"alt": "a line that rises"},
    }


def test_every_file_can_be_downloaded(executed: dict[str, Any]) -> None:
    files = ["a.csv", "a.svg", "provenance.json"]
    links = texts(page(executed, "part/name", VALUES, DECLARED, files))["downloads"]
    for target in ("<name.ipynb>", "<name/a.csv>", "<name/a.svg>", "<name/provenance.json>"):
        assert target in links


def stage_with(tmp_path: Path, executed: dict[str, Any], **files: str) -> Path:
    stage = tmp_path / "stage"
    (stage / "results/part/name").mkdir(parents=True, exist_ok=True)
    (stage / "notebook.ipynb").write_text(json.dumps(executed))
    for name, content in files.items():
        (stage / "results/part/name" / f"{name}.csv").write_text(content)
    return stage


def test_equal_files_are_left_alone_and_stale_ones_go(
    tmp_path: Path, executed: dict[str, Any]
) -> None:
    declared: dict[str, Parameter] = DECLARED
    root = tmp_path / "out"
    stage = stage_with(tmp_path, executed, kept="1", gone="2")
    publish(stage, root, "part/name", VALUES, declared)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    assert {path.name for path in before} == {"name.ipynb", "kept.csv", "gone.csv"}
    publish(stage, root, "part/name", VALUES, declared)
    assert before == {path: path.stat().st_mtime_ns for path in before}
    (stage / "results/part/name/gone.csv").unlink()
    publish(stage, root, "part/name", VALUES, declared)
    assert not (root / "part/name/gone.csv").exists()
    assert (root / "part/name/kept.csv").exists()


def test_a_notebook_without_parameters_has_a_page_too() -> None:
    made = page(notebook(code("1 + 1")), "part/name", {}, {}, [])
    assert list(texts(made)) == ["title", "downloads"]


def test_outputs_that_stand_elsewhere_on_the_page_are_left_out(executed: dict[str, Any]) -> None:
    finding = {"finding": {"name": "x", "sentence": "It is **so**."}}
    for told in ({"numbers": True}, finding, {"caption-of": "fig-a"}):
        output = {"output_type": "display_data", "data": {}, "metadata": {"dpbayes": told}}
        executed["cells"][3]["outputs"].append(output)
    made = page(executed, "part/name", VALUES, DECLARED, [])
    (cell,) = (cell for cell in made["cells"] if "figure(" in cell["source"])
    assert len(cell["outputs"]) == 1
    assert "It is **so**." in texts(made)["said-x"]


def test_no_two_cells_of_a_page_have_the_same_name(executed: dict[str, Any]) -> None:
    told = {"finding": {"name": "x", "sentence": "It is **so**."}}
    output = {"output_type": "display_data", "data": {}, "metadata": {"dpbayes": told}}
    executed["cells"][3] |= {"id": "finding-x", "outputs": [output]}
    names = [cell["id"] for cell in page(executed, "part/name", VALUES, DECLARED, [])["cells"]]
    assert len(names) == len(set(names))
