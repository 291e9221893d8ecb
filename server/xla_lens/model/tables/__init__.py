"""The tables of a dump set, and how its files are joined into them."""
