"""Whatever is opened, edited and asked, the server answers, and rightly: random dumps, edits and requests.

`texts` damages dumps, `positions` is a second, plain implementation of texts and their positions, `params` makes up the
parameters of requests, and `games` plays them against the server.
"""
