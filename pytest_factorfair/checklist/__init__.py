"""Checklists: YAML to a validated layout, whatever the protocol: locate → source → overlay → loading.

A checklist's protocol decides what it may contain; this room has the fields, rules and templates that all
share, and turns prompts into queries.
"""
