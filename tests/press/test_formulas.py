"""The formulas of an exported notebook are those of the book: the same TeX, the same typesetter."""

from __future__ import annotations

import ast
import html
import json
import re
from itertools import product
from pathlib import Path
from string import Formatter

import pytest
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from dpbayes.press import html as export
from dpbayes.press.boxes import finding_boxes
from dpbayes.press.pages import with_figure, without_findings
from dpbayes.press.parameters import load, source_of
from dpbayes.press.shown import ShownFigure, ShownFinding
from tests.notebooks.test_sources import NOTEBOOKS, ROOT, cells

SHOWN = re.compile(r'<(span|div) class="[^"]*\bmath\b[^"]*"[^>]*>\s*(.*?)\s*</\1>', re.DOTALL)
# How a page marks TeX for MathJax: \( \) in a line, \[ \] or an equation without number apart.
MARKS = re.compile(
    r"\\\((.*)\\\)|\\\[(.*)\\\]|\\begin\{equation\*\}(.*)\\end\{equation\*\}", re.DOTALL
)


def written(name: str) -> list[str]:
    """Return the TeX between dollars in a notebook's prose, in its order."""
    reader = MarkdownIt().use(dollarmath_plugin)
    blocks = [block for cell in cells(name, "markdown") for block in reader.parse(source_of(cell))]
    tokens = [token for block in blocks for token in (block, *(block.children or []))]
    return [plain(token.content) for token in tokens if token.type.startswith("math")]


def exported(name: str, folder: Path) -> list[str]:
    """Return the TeX that the export of a notebook's prose hands to MathJax, in its order."""
    path = folder / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**load(NOTEBOOKS[name]), "cells": cells(name, "markdown")}))
    page = export.html_page(path, folder, ROOT)
    found = [MARKS.fullmatch(html.unescape(tex)) for _, tex in SHOWN.findall(page)]
    assert None not in found, f"{name}: a formula without the marks of MathJax"
    return [plain(next(filter(None, one.groups()))) for one in found if one]


def computed(name: str) -> list[ShownFinding | ShownFigure]:
    """Return what the sentences and captions of a notebook show, each outcome, with 1 for values.

    Only those with a formula.
    """
    shown: list[ShownFinding | ShownFigure] = []
    for cell in cells(name):
        for node in ast.walk(ast.parse(source_of(cell))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "record.finding":
                texts = [text for one in node.keywords for text in texts_of(one.value)]
                shown += [ShownFinding("x", with_ones(text)) for text in texts if "$" in text]
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                texts = [" ".join(text.split()) for text in texts_of(node.value) if "$" in text]
                if ast.unparse(target) == "caption":
                    shown += [ShownFigure("<svg />", "a figure", text) for text in texts]
                else:  # a clause that some sentence takes up
                    shown += [ShownFinding("x", with_ones(text)) for text in texts]
    return shown


def texts_of(node: ast.expr) -> list[str]:
    """Return every text that an expression can have, with 1 for what is not written in it.

    Both sides of a condition are read, and sums and f-strings with all ways to fill them.

    >>> texts_of(ast.parse("'a' + (f'{x} b' if c else 'd')", mode="eval").body)
    ['a1 b', 'ad']
    """
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp():
            return texts_of(node.body) + texts_of(node.orelse)
        case ast.BinOp(op=ast.Add()):
            return [a + b for a, b in product(texts_of(node.left), texts_of(node.right))]
        case ast.JoinedStr():
            return ["".join(parts) for parts in product(*map(texts_of, node.values))]
        case ast.FormattedValue():
            return texts_of(node.value)
        case ast.Dict():
            return [text for value in node.values for text in texts_of(value)]
    return ["1"]


def with_ones(text: str) -> str:
    return "".join(before + ("1" if field else "") for before, field, *_ in Formatter().parse(text))


def exported_output(shown: ShownFinding | ShownFigure, folder: Path) -> list[str]:
    """Return the TeX that the page and the export of a cell with this output hand to MathJax."""
    bundle, metadata = shown._repr_mimebundle_()
    if isinstance(shown, ShownFigure):
        metadata["dpbayes"] = {"figure": {"caption": shown.caption, "label": "fig-one"}}
    output = {"output_type": "display_data", "data": bundle, "metadata": metadata}
    ran = {"cell_type": "code", "id": "one", "metadata": {}, "source": "1", "execution_count": 1}
    cell = {**ran, "outputs": [output]}
    path = folder / "part" / "one.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    shells = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    told = [without_findings(with_figure(cell)), *finding_boxes(cell)]
    path.write_text(json.dumps({"cells": told, **shells}))
    page = export.html_page(path, folder, ROOT)
    found = [MARKS.fullmatch(html.unescape(tex)) for _, tex in SHOWN.findall(page)]
    return [plain(next(filter(None, one.groups()))) for one in found if one]


def test_every_formula_of_findings_and_captions_reaches_the_export_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "mathjax", lambda: "<script></script>")
    outputs = [shown for name in NOTEBOOKS for shown in computed(name)]
    assert len(outputs) > 20
    for shown in outputs:
        text = shown.sentence if isinstance(shown, ShownFinding) else shown.caption
        wanted = [plain(tex) for tex in re.findall(r"\$([^$]+)\$", text)]
        assert wanted
        assert exported_output(shown, tmp_path) == wanted, text


def test_no_formula_of_a_code_cell_is_overlooked() -> None:
    """Each text with a formula is part of one that was read, on whichever side of a condition."""
    for name in NOTEBOOKS:
        shown = computed(name)
        texts = [one.sentence if isinstance(one, ShownFinding) else one.caption for one in shown]
        read = {plain(tex) for text in texts for tex in re.findall(r"\$([^$]+)\$", text)}
        nodes = [node for cell in cells(name) for node in ast.walk(ast.parse(source_of(cell)))]
        written = [
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "$" in node.value
        ]
        for text in written:
            assert text.count("$") % 2 == 0, f"{name}: a formula cut in two: {text}"
            formulas = re.findall(r"\$([^$]+)\$", text)
            assert {plain(with_ones(tex)) for tex in formulas} <= read, f"{name}: {text}"


def test_both_sides_of_a_condition_are_read() -> None:
    sentence = "'At $n$ ' + ('it is $2^n$' if a else f'{b} and $x$' if c else 'no formula') + '.'"
    read = texts_of(ast.parse(sentence, mode="eval").body)
    assert read == ["At $n$ it is $2^n$.", "At $n$ 1 and $x$.", "At $n$ no formula."]


def plain(tex: str) -> str:
    return re.sub(r"\s+", " ", tex).strip()


def test_every_formula_reaches_the_export_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "mathjax", lambda: "<script></script>")  # two megabytes a page
    formulas = {name: written(name) for name in NOTEBOOKS}
    assert sum(map(len, formulas.values())) > 400
    for name, tex in formulas.items():
        if tex:
            assert exported(name, tmp_path) == tex, name


def test_book_and_export_have_one_typesetter_and_no_macros() -> None:
    options = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    assert options["mathjax_path"].endswith("mathjax/tex-svg.js")
    assert options["mathjax3_config"] == {"options": {"enableMenu": False}}
    assert "macros" not in export.TYPESETTING
    assert "enableMenu: false" in export.TYPESETTING
    script = (ROOT / "book/_extra/mathjax/tex-svg.js").read_text("utf-8")
    assert script.replace("</script", "<\\/script") in export.mathjax()
