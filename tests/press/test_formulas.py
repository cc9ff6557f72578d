"""The formulas of an exported notebook are those of the book: the same TeX, the same typesetter."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from dpbayes.press import html as export
from dpbayes.press.parameters import load, source_of
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
