"""From answers to counts: tallies by letter and group, and bounds for missing answers."""
