"""What a notebook shows of its results: tables, figures with their captions, findings.

Each shows itself in any viewer. A figure's caption and alternative text and a finding's sentence
also stand in the output's metadata under ``dpbayes``, where the press finds them again when it sets
the page.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpbayes.press.quotes import cell, in_words

SHOWN_ROWS = 12
MARKUP = ((r"`([^`]+)`", "code"), (r"\*\*([^*]+)\*\*", "strong"), (r"\*([^*]+)\*", "em"))
ROLE = re.compile(r"\{[a-z:]+\}`([^`<]+?)(?:\s*<[^`<>]*>)?`")
Bundle = tuple[dict[str, str], dict[str, Any]]


@dataclass(frozen=True)
class ShownTable:
    """A table as a notebook shows it: the first rows, and how many there are."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return f"table of {len(self.rows)} rows: {', '.join(self.columns)}"

    def _repr_html_(self) -> str:
        head = _html_row("th", map(in_words, self.columns))
        body = "".join(_html_row("td", map(_rounded, row)) for row in self.rows[:SHOWN_ROWS])
        hidden = len(self.rows) - SHOWN_ROWS
        more = f"<p>… and {hidden} more rows in the CSV file</p>" if hidden > 0 else ""
        return f'<table class="dataframe"><thead>{head}</thead><tbody>{body}</tbody></table>{more}'


@dataclass(frozen=True)
class ShownNumbers:
    """Recorded numbers as a notebook shows them; the book's pages have them in their text."""

    values: Mapping[str, float]

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value:.10g}" for name, value in self.values.items())

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        rows = "".join(_html_row("td", (n, f"{v:.10g}")) for n, v in self.values.items())
        bundle = {"text/plain": repr(self), "text/html": f"<table>{rows}</table>"}
        return bundle, {"dpbayes": {"numbers": True}}


@dataclass(frozen=True)
class ShownFigure:
    """A figure as a notebook shows it: its SVG with the alternative text, then its caption."""

    svg: str = field(repr=False)
    alt: str
    caption: str = ""
    label: str = ""

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        bundle = {"image/svg+xml": self.svg, "text/plain": self.alt}
        return bundle, {"image/svg+xml": {"alt": self.alt}}

    def _ipython_display_(self) -> None:
        bundle, metadata = self._repr_mimebundle_()
        if self.caption:
            alt = html.escape(self.alt, quote=True)
            labelled = self.svg.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
            bundle["image/svg+xml"] = labelled
            metadata["dpbayes"] = {"figure": {"caption": self.caption, "label": self.label}}
        show(bundle, metadata)
        if self.caption:
            text = without_roles(self.caption)
            caption = {"text/markdown": f"*Figure.* {text}", "text/plain": text}
            show(caption, {"dpbayes": {"caption-of": self.label}})


@dataclass(frozen=True)
class ShownFinding:
    """A finding as a notebook shows it: one sentence, marked as computed."""

    name: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        text = without_roles(self.sentence)
        bundle = {
            "text/plain": f"Finding: {text}",
            "text/markdown": f"> **Finding.** {text}",
            "text/html": f'<blockquote class="finding"><p><strong>Finding.</strong> '
            f"{_html_text(text)}</p></blockquote>",
        }
        return bundle, {"dpbayes": {"finding": {"name": self.name, "sentence": self.sentence}}}

    def show(self) -> None:
        """Show the finding as an output of the cell that is running."""
        show(*self._repr_mimebundle_())


def show(bundle: dict[str, str], metadata: dict[str, Any]) -> None:
    """Show a bundle as an output of the cell that is running; nothing outside a notebook."""
    python = sys.modules.get("IPython")
    if python is not None and python.get_ipython() is not None:
        sys.modules["IPython.display"].display(bundle, metadata=metadata, raw=True)


def without_roles(text: str) -> str:
    """Return text for a viewer that knows no roles of the book: a reference becomes its words.

    >>> without_roles("By {prf:ref}`the theorem <thm-smooth>`, `n` is small; {doc}`limits`.")
    'By the theorem, `n` is small; limits.'
    """
    return ROLE.sub(r"\1", text)


def _rounded(text: str) -> str:
    if text in ("nan", "inf", "-inf"):
        return cell(text, "")
    try:
        return f"{float(text):.6g}" if "." in text or "e" in text else text
    except ValueError:
        return text


def _html_row(tag: str, cells: Iterable[Any]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _html_text(text: str) -> str:
    """Return a sentence of Markdown as HTML; mathematics stays for the viewer to set."""
    parts = re.split(r"(\$[^$]+\$)", text)
    for place in range(0, len(parts), 2):
        parts[place] = html.escape(parts[place], quote=False)
        for pattern, tag in MARKUP:
            parts[place] = re.sub(pattern, rf"<{tag}>\1</{tag}>", parts[place])
    parts[1::2] = [html.escape(part, quote=False) for part in parts[1::2]]
    return "".join(parts)
