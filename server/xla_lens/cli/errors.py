"""What goes wrong in commands."""


class CannotRun(Exception):
    """A command cannot do what it was asked for. Says in one line why."""
