"""What `xla-lens run` puts into the Python of the program that it runs."""
