"""Load checklists of any protocol from YAML to a layout: locate → source → overlay → selection → loading.

The protocol defines what a checklist may contain; this package has the fields, rules and templates that all
protocols share, and builds queries from prompts.
"""
