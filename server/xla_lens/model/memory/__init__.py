"""Memory over time: live bytes and peaks of spaces (`over_time`) and allocations (`allocation_history`), overlaps
(`sweep`), the peak that XLA prints (`printed_peak`), and what no dump shows (`unseen`).
"""
