"""A run without pytest: what it asks, what it holds, and what it sums up."""
