"""What stands at a place of a dump, and where a thing is mentioned."""
