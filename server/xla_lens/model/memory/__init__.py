"""Memory over time: live bytes and peaks of spaces (`over_time`) and allocations (`allocation_history`), overlaps
(`sweep`), the peak that XLA prints (`printed_peak`), and what no dump shows (`unseen`).

What takes memory, and what would be left: why a value is live (`alive`), padding, donation, the peak without some
values (`edits`), and which values to remove to fit a budget (`budget`).
"""
