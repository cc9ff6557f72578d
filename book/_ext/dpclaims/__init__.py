"""The Sphinx extension behind the verdict board: it stops the build when evidence is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from dpclaims.document import DocumentClaims
from dpclaims.ledger import check_evidence, read_claims
from dpclaims.page import Claims, ClaimsSummary, ErrataList, claims_file, errata

BOARD = "claims/claims"


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
        claims = read_claims(path)
        check_evidence(claims, source / "results")
    except ValueError as error:
        raise ClaimsError(str(error)) from error
    known = errata(source)
    missing = [label for claim in claims for label in claim.errata if label not in known]
    if missing:
        raise ClaimsError(f"no misprint is called {', '.join(missing)} on the page of errata")


def add_filter(app: Sphinx, page: str, *_: Any) -> None:
    """Load the filter of the claims on their own page only."""
    if page == BOARD:
        app.add_js_file("claims.js")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    app.connect("builder-inited", check)
    app.connect("html-page-context", add_filter)
    app.add_directive("claims", Claims)
    app.add_directive("claims-summary", ClaimsSummary)
    app.add_directive("document-claims", DocumentClaims)
    app.add_directive("errata-list", ErrataList)
    app.add_css_file("claims.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
