"""XLA's out-of-memory messages, found in logs and read into dataclasses."""
