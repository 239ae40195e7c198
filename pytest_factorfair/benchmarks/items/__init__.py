"""Items: questions with options of their own, such as BBQ's and those of difference awareness.

layout → checklist (cases, queries, what respondents know) → votes → metrics → benchmark; importers: published
files of other benchmarks → checklists.
"""
