"""Expand a checklist to prompts: cases, the people in a question, and its true answer."""
