"""The service of two analysts that the tests of the curator's service ask."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from dpbayes.queries import QueryServer
from dpbayes.queries.service import Analyst, Service, new_token, token_digest
from dpbayes.releasing.opening import open_account

ANNA, BEN = new_token(), new_token()


def served(cells: Path, tick: float = 0.002) -> Service:
    """Return a service of six cells, over the account in a folder; Anna may spend 1/2, Ben 1/5."""
    account = open_account(cells / "a.account")
    ledger = cells / "ledger.sqlite"
    server = QueryServer(np.arange(1, 7) * 100, 10.0, ledger=ledger, account=account)
    analysts = (
        Analyst("anna", token_digest(ANNA), Fraction(1, 2)),
        Analyst("ben", token_digest(BEN), Fraction(1, 5)),
    )
    return Service(server, account, analysts, tick=tick)
