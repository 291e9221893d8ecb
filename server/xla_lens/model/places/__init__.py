"""Places in a dump: what the text at a byte means (`mentions`), where a thing is mentioned (`occurrences`), the bytes
of rows and blocks (`places`, `blocks`), and stable names of things and pages (`entities`, `pages`).
"""
