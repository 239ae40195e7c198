"""Compute scores from pictures: galleries, the paper's formulas, and the manifestation factor."""
