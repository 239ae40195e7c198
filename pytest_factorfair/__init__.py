"""pytest-factorfair."""
