"""What a run will ask, cost and decide, computed before its first call."""
