"""FAIntbench's human check: pictures of a run that people label, and its scores from their labels.

reports → draw → pools → sample → sheet and key
sheet and key → records (of people, of the detector) → scores → compare
"""
