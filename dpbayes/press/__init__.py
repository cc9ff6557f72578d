"""Running the book's notebooks: their parameters, one run, and the page of one run.

The command line and the build of the book share these modules, so a value is refused by both or by
neither. They need the standard library alone until a notebook is really run. A notebook needs one
name of it, another one where it writes a probability that may be close to one, and a third where it
sets numbers beside each other that may be nearly equal::

    from dpbayes.press import apart, one_minus, open_record

    record = open_record()
"""

from dpbayes.press.opening import open_record
from dpbayes.press.quotes import apart, one_minus

__all__ = ["apart", "one_minus", "open_record"]
