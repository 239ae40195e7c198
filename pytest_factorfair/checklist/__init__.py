"""Checklists: YAML to a validated layout, whatever the protocol: locate → source → overlay → loading.

What a checklist may say is up to its protocol; this room has the fields, rules and templates that all share,
and makes queries of prompts.
"""
