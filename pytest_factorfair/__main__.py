"""``python -m pytest_factorfair``: the command ``factorfair``."""

import sys

from pytest_factorfair.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
