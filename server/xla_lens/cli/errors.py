"""Errors of commands."""


class CannotRun(Exception):
    """A command cannot run. The message is one line: the input, the problem and the next step."""
