"""Logs of other tools: what they asked, and what models replied.

formats tells which tool wrote a file and opens it with that tool's module → replies (log) → matching to the
queries of a run → replay, the model that answers them.
"""
