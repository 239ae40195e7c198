"""FACT-OR-FAIR: statistics about groups, asked for as facts and as choices among people.

An answer passes its modules in this order: files, asking, counting, scoring, metrics, printing. ``checklist``
holds the values they share, ``benchmark`` is the interface to all else.
"""
