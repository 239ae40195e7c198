"""Tell by its content which tool wrote a log, and open it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pytest_factorfair.logs.log import Log


def open_log(path: Path, columns: Mapping[str, str] = MappingProxyType({})) -> Log:
    """Open a log for reading; ``columns`` are names of columns or keys, by what they hold.

    Raises:
        InputError: the file cannot be read, or nothing is known that writes such files.
    """
    raise NotImplementedError
