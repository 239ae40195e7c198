"""Reports in the forms of other tools: model cards, trackers, and evidence."""
