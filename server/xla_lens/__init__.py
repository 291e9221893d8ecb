"""XLA Lens: where the memory goes in the buffer assignment dumps of the XLA compiler."""
