"""Notebooks run with checked parameters, in forks of warm processes; what came out, set on pages.

::

    notebooks   found by name, read
    parameters  declared in a cell, checked before anything runs
    run         one run in a fork, many in a pool
    stale       what a result was made from, and what has changed since
    page        an executed notebook as a reader sees it
    sweep       one notebook at every point of a grid
    verify      the numbers of a build against the reference
"""
