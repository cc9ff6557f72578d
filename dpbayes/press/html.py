"""One executed notebook as one HTML file that needs nothing else: figures and mathematics inside.

The page is read with the book's own Markdown parser. What only the whole book can resolve, such as
a reference to another page, is shown as its text.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_string
from docutils.parsers.rst import Directive, directives, roles
from myst_nb.docutils_ import Parser

from dpbayes.press.quotes import own, quoted, sentence, split_finding, split_quote
from dpbayes.press.tables import TableDirective
from dpbayes.press.titles import called
from dpbayes.press.traces import PACKAGE

TARGET = re.compile(r"^(?P<title>.*?)\s*<(?P<target>[^<>]+)>$", re.DOTALL)
PLAIN_ROLES = ("prf:ref", "numref", "ref", "eq", "doc", "term", "cite", "cite:t", "cite:p")
PROOF_BLOCKS = (
    "definition", "theorem", "lemma", "proposition", "corollary", "proof", "example", "remark",
    "algorithm", "assumption", "conjecture", "axiom", "property", "observation",
)  # fmt: skip
STYLESHEETS = ("minimal.css", "plain.css")
SETTINGS = {
    "nb_execution_mode": "off",
    "nb_merge_streams": True,
    "image_loading": "embed",
    "embed_stylesheet": True,
    "output_encoding": "unicode",
    "report_level": 4,
    "halt_level": 5,
    "_disable_config": True,
    "myst_enable_extensions": [
        "amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath", "tasklist",
    ],
}  # fmt: skip
MATHJAX = re.compile(r"<script[^>]*MATHJAX[^>]*></script>")
TYPESETTING = (
    "MathJax = {tex: {inlineMath: [['\\\\(', '\\\\)']]}, svg: {fontCache: 'local'},"
    " options: {enableMenu: false}}"
)
# A browser looks for the encoding in the first kilobyte of a page, and guesses without it.
CHARSET = '<head>\n<meta charset="utf-8">'
PHONE = (
    "<style>svg, img { max-width: 100%; height: auto; } pre { overflow-x: auto; }\n"
    "table { display: block; max-width: 100%; overflow-x: auto; }\n"
    ".literal > span.pre { white-space: pre-wrap; overflow-wrap: anywhere; }\n"
    "html mjx-assistive-mml { width: 1px !important; }</style>\n"
    "</head>"
)


def html_page(notebook: Path, results: Path, checkout: Path | None = None) -> str:
    """Return an executed notebook as HTML; quoted numbers are looked up below ``results``.

    The titles of what it refers to are those of ``checkout``, the folder of book and notebooks.
    """
    register(results, notebook.relative_to(results).with_suffix("").as_posix(), checkout)
    typesetter = mathjax()
    with tempfile.TemporaryDirectory() as images:
        page = publish_string(
            notebook.read_text(encoding="utf-8"),
            source_path=str(notebook),
            parser=Parser(),
            writer_name="html5",
            settings_overrides={
                **SETTINGS,
                "nb_output_folder": images,
                "stylesheet_path": [*STYLESHEETS],  # the parser adds its own to the list it gets
                "math_output": "MathJax MATHJAX" if typesetter else "MathML",
            },
        )
    text = str(page).replace("<head>", CHARSET, 1).replace("</head>", PHONE, 1)
    return MATHJAX.sub(lambda _: typesetter, text)


def mathjax() -> str:
    """Return the book's typesetter as a script to stand in a page; nothing where it is not."""
    for place in (PACKAGE / "press", PACKAGE.parent / "book" / "_extra"):
        script = place / "mathjax" / "tex-svg.js"
        if script.is_file():
            source = script.read_text(encoding="utf-8").replace("</script", "<\\/script")
            return f"<script>{TYPESETTING}</script>\n<script>{source}</script>"
    return ""


def register(results: Path, own_name: str, checkout: Path | None) -> None:
    """Tell docutils the book's roles and directives in their plain form, for one notebook."""
    for name in PLAIN_ROLES:
        roles.register_local_role(name, naming_role(checkout, f"results/{own_name}"))
    roles.register_local_role("download", link_role)
    roles.register_local_role("result", quoting_role(results, own_name))
    roles.register_local_role("finding", finding_role(results, own_name))

    class ResultTable(TableDirective):
        """A table from the results beside this page."""

        def own_name(self) -> str:
            return own_name

        def file(self, name: str, stem: str) -> Path:
            path = results / name / f"{stem}.csv"
            if not path.is_file():
                raise ValueError(f"no {name}/{stem}.csv beside this page")
            return path

    directives.register_directive("result-table", ResultTable)
    for block in PROOF_BLOCKS:
        directives.register_directive(f"prf:{block}", ProofBlock)


class ProofBlock(Directive):
    """A numbered block of the book, without its number."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "label": directives.unchanged,
        "class": directives.class_option,
        "nonumber": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Return the block as an admonition under its own name."""
        kind = self.name.rpartition(":")[2].capitalize()
        title = f"{kind} ({self.arguments[0]})" if self.arguments else kind
        block = nodes.admonition("", nodes.title("", title))
        self.state.nested_parse(self.content, self.content_offset, block)
        return [block]


def split_target(text: str) -> tuple[str, str]:
    """Return title and target of ``title <target>``; a lone target is its own title."""
    match = TARGET.match(text)
    return (match["title"], match["target"]) if match else (text, text)


def naming_role(checkout: Path | None, page: str) -> Any:
    """Return the role that shows what a reference leads to is called."""

    def role(name: str, rawtext: str, text: str, *_: Any, **__: Any) -> tuple[list[Any], list[Any]]:
        title, target = split_target(text)
        shown = called(checkout, page, target) if title == target else title
        return [nodes.emphasis(rawtext, f"({shown})" if name == "cite:p" else shown)], []

    return role


def link_role(
    name: str, rawtext: str, text: str, *_: Any, **__: Any
) -> tuple[list[Any], list[Any]]:
    """Return a link to a file beside the page."""
    title, target = split_target(text)
    return [nodes.reference(rawtext, title, refuri=target)], []


def quoting_role(results: Path, own_name: str) -> Any:
    """Return the role that quotes a recorded number, where its result is at hand."""

    def role(
        name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any
    ) -> tuple[list[Any], list[Any]]:
        try:
            notebook, key, form = split_quote(own(text, own_name))
            return [nodes.Text(quoted(results / notebook / "numbers.json", key, form))], []
        except (ValueError, OSError):
            return [nodes.literal(rawtext, text)], []

    return role


def finding_role(results: Path, own_name: str) -> Any:
    """Return the role that quotes a finding, where its result is at hand."""

    def role(
        name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any
    ) -> tuple[list[Any], list[Any]]:
        try:
            notebook, key = split_finding(own(text, own_name))
            shown = sentence(results / notebook / "findings.json", key)
        except (ValueError, OSError):
            return [nodes.literal(rawtext, text)], []
        children, messages = inliner.parse(shown, lineno, None, nodes.inline())
        return list(children), list(messages)

    return role
