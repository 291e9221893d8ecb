"""Which value, and which line of the program, each live byte belongs to."""
