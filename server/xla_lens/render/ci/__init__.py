"""Findings and violated limits in the formats that continuous integration (CI) systems read."""
