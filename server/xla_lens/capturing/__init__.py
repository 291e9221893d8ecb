"""Programs of this process: compile a function for its dump, have a backend write dumps, and what became of it.

The functions of this package import jax when they are called, not before, and XLA Lens does not depend on it.
"""
