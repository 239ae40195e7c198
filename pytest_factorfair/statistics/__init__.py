"""Statistics that know no benchmark: estimates, bounds, jackknives, corrections for several claims."""
