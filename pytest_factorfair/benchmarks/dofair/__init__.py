"""DoFaiR: pictures of people of historical events, compared with the groups that took part.

layout → checklist (cases, queries, who may be painted) → crowds → metrics → benchmark → reporting; importing:
the authors' tables → a checklist.
"""
