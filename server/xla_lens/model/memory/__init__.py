"""Live bytes over time: the curve and the peak of each memory space."""
