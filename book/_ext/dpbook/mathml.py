"""Formulas as MathML, made by docutils when the book is built: browsers set them
without a script.

The font ``_extra/fonts/math.woff2`` has the sizes and the metrics that MathML asks for.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

INSTEAD = (
    (r"\\dots(?=\s*[+*<=])", r"\\cdots "),
    (r"\\dots\b", r"\\ldots "),
    (r"\\([td]?frac)\s*(\d)(\d)", r"\\\1{\2}{\3}"),
    (r"\\([td]?frac)\s*(\d)(?=\{)", r"\\\1{\2}"),
    (r"\\tag\{\$(.*?)\$\}", r"\\qquad (\1)"),
    (r"\\Big(?=\s*[(\[])", r"\\Bigl"),
    (r"\\Big(?=\s*[)\]])", r"\\Bigr"),
)
"""What the converter does not know, and what it does."""

TIGHT = ' lspace="0" rspace="0"'
SET = (
    (r"\s*\n\s*| xmlns=\"[^\"]*\"", ""),
    (r"<mo>'</mo>", f"<mo{TIGHT}>′</mo>"),
    (r"<mo>(?=(?:min|max)</mo><mo[^>]*>[(\[])", f"<mo{TIGHT}>"),
    (r"<mo([^>]*)>(?=[|‖/()[\].⌊⌋⌈⌉]<)", rf"<mo\1{TIGHT}>"),
    (rf"<mo( class=\"mathopen\")?(?={TIGHT}>[‖⌊⌋⌈⌉]<)", r'<mo\1 stretchy="false"'),
    (  # what stands below a hat is an index
        (
            r"<munderover>(<mi>[^<]*</mi>)(.*?)(<mo"
            r' stretchy="false">[ˆ~]</mo>)</munderover>'
        ),
        r'<msub><mover accent="true">\1\3</mover>\2</msub>',
    ),
    (r' class="capital-greek"', ' mathvariant="normal"'),
    (r'<mtable class="ams-align">', '<mtable class="ams-align" displaystyle="true">'),
    # a thin space before the name of a function, and behind it where no bracket follows
    (
        r"(?:(?<=</m[ins]>)|(?<=</mo>)|(?<=</mfrac>)|(?<=</msu[bp]>))"
        r"(?<![=(+−|,[/≤≥<>]</mo>)(?=<mi>(?:ln|exp|sinh|cosh|tanh|coth)<)",
        '<mspace width="0.17em"/>',
    ),
    (
        r"(<mo>(?:&ApplyFunction;|\u2061)</mo>)(?=<m(?!o|row><mo))",
        r'\1<mspace width="0.17em"/>',
    ),
)
"""What the converter writes, and what looks as it should: the same spaces as in TeX."""


def mathml(tex: str, block: bool) -> str:
    r"""Return a formula as MathML.

    >>> mathml(r"\frac12", False)
    '<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>'
    """
    for fault, cure in INSTEAD:
        tex = re.sub(fault, cure, tex)
    made = str(tex2mathml(tex.strip(), block))
    for fault, cure in SET:
        made = re.sub(fault, cure, made)
    return made


def visit(writer: Any, node: Any) -> None:
    """Write a formula in the text or on lines of its own."""
    block = isinstance(node, nodes.math_block)
    tag = "div" if block else "span"
    writer.body.append(
        writer.starttag(node, tag, "", CLASS="math notranslate nohighlight")
    )
    if block and node["number"]:
        writer.body.append(
            f'<span class="eqno">({get_node_equation_number(writer, node)})'
        )
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    try:
        writer.body.append(mathml(node.astext(), block))
    except Exception as error:  # the converter's own are of several kinds
        # An exception of a writer in a process of its own may be lost; a warning stops
        # a strict build, too.
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        writer.body.append(html.escape(node.astext()))
    writer.body.append(f"</{tag}>\n" if block else f"</{tag}>")
    raise nodes.SkipNode
