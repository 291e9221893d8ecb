"""What runs in the Python of the user's program."""
