"""Text as files, databases and other processes take it."""

from __future__ import annotations


def utf8(text: str) -> str:
    """The text as UTF-8 can hold it: half a surrogate pair becomes "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
