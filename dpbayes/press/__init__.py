"""Running the book's notebooks: their parameters, one run, and the page of one run.

The command line and the build of the book share these modules, so a value is refused by both or by
neither. They need the standard library alone until a notebook is really run.
"""
