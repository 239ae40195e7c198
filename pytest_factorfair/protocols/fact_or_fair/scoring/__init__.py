"""From counts to scores: the paper's formulas, the curve, variances, and reference scores."""
