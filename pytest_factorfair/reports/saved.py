"""A report.json read back into the summary it was written from."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import Summary
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.json_report import SCHEMA, record

DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""What looking into a damaged report ends in."""

GZIP = b"\x1f\x8b"
"""What such an archive begins with."""


def summary(path: str, *, name: str) -> Summary:
    """The summary of a report; its records lack only the choices, which are not in the file.

    ``name`` is how messages call the file.

    Raises:
        InputError: one line: the file is missing, unreadable, damaged or not a report of this version.
    """
    from pydantic import TypeAdapter  # half a second

    report = dict(opened(path, name=name))
    try:
        usage = dict(report.pop("usage"))
        rows = report | {
            "seconds": usage.pop("seconds"),
            "usage": usage,
            "gates": [_verdict(row) for row in report["gates"]],
            "cases": [record(row) for row in report["cases"]],
        }
        del rows["schema"]
        return TypeAdapter(Summary).validate_python(rows)
    except DAMAGE as error:
        raise damaged(name, error) from None


def opened(path: str, *, name: str) -> Mapping[str, Any]:
    """The content of a report; of this version, but not looked into any further.

    Raises:
        InputError: one line: the file is missing, unreadable or not a report of this version.
    """
    text = content(path, name=name)
    try:
        report = json.loads(text)
    except ValueError as error:
        raise InputError(f"{name}: not a report.json: {' '.join(str(error).split())}") from None
    schema = report.get("schema") if isinstance(report, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{name}: not a report.json: its schema is {schema!r}, '{SCHEMA}' is needed")
    found: Mapping[str, Any] = report
    return found


def content(path: str, *, name: str) -> bytes:
    """What is in a report's file, unpacked if it is an archive: a committed baseline is one.

    Raises:
        InputError: one line: the file is missing, unreadable or a damaged archive.
    """
    try:
        found = Path(path).read_bytes()
        return gzip.decompress(found) if found.startswith(GZIP) else found
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name}: a damaged archive: {error}") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None


def damaged(name: str, error: Exception) -> InputError:
    """What is told of a report in which something is missing or is of another kind."""
    told = " ".join(str(error).split())
    return InputError(f"{name}: a damaged report: {type(error).__name__}: {told}")


def _verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "gate": row["expression"], "judgement": row["verdict"]}
