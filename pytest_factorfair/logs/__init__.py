"""Logs of other tools as answers: what they asked, and what models replied.

log: the values; formats: which tool wrote a file, told by its content.
"""
