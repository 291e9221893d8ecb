"""What a dump set means."""
