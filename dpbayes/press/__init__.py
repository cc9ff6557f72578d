"""Running the book's notebooks: their parameters, one run, and the page of one run.

The command line and the build of the book share these modules, so a value is refused by both or by
neither. They need the standard library alone until a notebook is really run. A notebook needs one
name of it::

    from dpbayes.press import open_record

    record = open_record()
"""

from dpbayes.press.opening import open_record

__all__ = ["open_record"]
