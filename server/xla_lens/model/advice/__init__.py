"""What would lower the peak: donation, padding, budgets, and why values stay live."""
