"""What advice really saves: compile a changed program in a process of its own, and read the dump of that.

Nothing of the user's program runs, and it is not changed. jax is imported by the process that compiles only.
"""
