"""The directive ``{result-table}`` shows a recorded CSV file as a numbered table to download.

::

    :::{result-table} accuracy/growth::means
    :name: tab-growth
    :columns: n, ilapMech
    :header: records, released as integers
    :format: d, .3f
    Mean distance by number of records.
    :::
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbayes.press.tables import TableDirective
from dpbook.quotes import own_name, result_file

logger = logging.getLogger(__name__)


class ResultTable(TableDirective, SphinxDirective):
    """A table of a notebook, from the file it recorded."""

    def file(self, name: str, stem: str) -> Path:
        """Return the recorded file, which the page then depends on."""
        return result_file(self.env, name, f"{stem}.csv")

    def own_name(self) -> str | None:
        """Return the notebook whose page this is, which may leave out its own name."""
        return own_name(self.env)

    def complain(self, problem: str) -> list[nodes.Node]:
        """Warn, which stops a strict build."""
        where = self.get_location()
        logger.warning("result-table: %s", problem, location=where, type="dpbook")
        return []

    def below(self, name: str, stem: str) -> list[nodes.Node]:
        """Return the link to the file with all digits."""
        link = addnodes.download_reference(
            "",
            "",
            nodes.literal("", f"{stem}.csv", classes=["xref", "download"]),
            refdoc=self.env.docname,
            reftarget=f"/results/{name}/{stem}.csv",
            refdomain="",
            reftype="download",
            refexplicit=False,
            refwarn=False,
        )
        text = nodes.Text("All digits: ")
        return [nodes.paragraph("", "", text, link, classes=["table-download"])]
