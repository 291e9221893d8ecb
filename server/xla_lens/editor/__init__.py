"""What editors show: hovers, hints, lenses, outlines, tokens, pages, the memory of Python lines."""
