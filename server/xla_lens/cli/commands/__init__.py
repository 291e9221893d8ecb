"""The commands: each module has the help, the arguments and the start of one.

- `HELP` is the line in the list of commands.
- `add_arguments` adds the description and the arguments to the parser of the command.
- `run` does the work and returns the exit status.

A module imports what reads or analyses dumps in `run`, because that takes 0.2 s, which help and errors of arguments do
not have to wait for.
"""
