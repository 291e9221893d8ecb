"""Places in a dump: what the text at a byte means (`mentions`), the bytes of rows (`places`), and stable names of
things and pages (`entities`, `pages`).
"""
