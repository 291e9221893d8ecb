"""What changed between two dumps: which values correspond, and where the change of each peak comes from."""
