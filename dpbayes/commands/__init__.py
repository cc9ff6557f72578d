"""The commands of the command line, one module a command."""


class Refused(Exception):
    """A command could not do what was asked; the message says why and the exit status
    is 1.
    """
