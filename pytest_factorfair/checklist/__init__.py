"""Load checklists of any benchmark from YAML to a layout: locate → source → overlay → selection → loading.

The benchmark defines what a checklist may contain; this package has the fields, rules and templates that all
benchmarks share, and builds queries from prompts.
"""
