"""Statistics independent of any benchmark: estimates, bounds, jackknives, multiple testing."""
