"""Memory over time: live bytes and peaks of spaces (`over_time`) and allocations (`allocation_history`), overlaps
(`sweep`), and the peak that XLA prints (`printed_peak`).
"""
