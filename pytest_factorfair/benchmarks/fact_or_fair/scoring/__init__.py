"""Compute scores from counts: the paper's formulas, the curve, variances, and reference scores."""
