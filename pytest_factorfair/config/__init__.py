"""Options and settings: combine command line, environment and pyproject.toml in one frozen ``Settings``."""
