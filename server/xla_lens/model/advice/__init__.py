"""Where memory can be saved: why a value is live (`alive`), the peak without some values (`edits`, `budget`), padding
and donation, and what to do about all of that (`advise`, `rules`).
"""
