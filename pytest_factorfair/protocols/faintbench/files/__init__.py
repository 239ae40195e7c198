"""Checklist files: layout, validation rules, and the values they build."""
