"""Options and settings: command line, environment and pyproject become one frozen Settings."""
