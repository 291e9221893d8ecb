"""Fuzzing of the server with random dumps, edits and requests.

`texts` damages dumps, `positions` is an independent implementation of texts and positions, `params` generates
parameters of requests, and `games` combines them. `commands` runs commands on damaged dumps.
"""
