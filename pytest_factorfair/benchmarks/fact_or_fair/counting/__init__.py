"""Count answers: tallies by letter and group, and bounds for missing answers."""
