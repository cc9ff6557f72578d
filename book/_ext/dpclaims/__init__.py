"""The Sphinx extension behind the page of claims: it stops the build when evidence is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from dpclaims.ledger import check_evidence, read_claims
from dpclaims.page import Claims, ClaimsSummary, claims_file


class ClaimsError(ExtensionError):
    """The build stops: the file of claims is broken or a claim has no evidence."""

    category = "Claims error"


def check(app: Sphinx) -> None:
    """Read the claims and look up every number they rest on; the notebooks have run by now."""
    source = Path(app.srcdir)
    path = claims_file(source)
    if not path.is_file():
        raise ClaimsError(f"no claims at {path}")
    try:
        check_evidence(read_claims(path), source / "results")
    except ValueError as error:
        raise ClaimsError(str(error)) from error


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    app.connect("builder-inited", check)
    app.add_directive("claims", Claims)
    app.add_directive("claims-summary", ClaimsSummary)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
