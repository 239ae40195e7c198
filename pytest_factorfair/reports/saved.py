"""A report.json read back into the summary it was written from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import Summary
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.json_report import SCHEMA, record

DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""What looking into a damaged report ends in."""


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
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{name}: not a report.json: {' '.join(str(error).split())}") from None
    schema = report.get("schema") if isinstance(report, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{name}: not a report.json: its schema is {schema!r}, '{SCHEMA}' is needed")
    found: Mapping[str, Any] = report
    return found


def damaged(name: str, error: Exception) -> InputError:
    """What is told of a report in which something is missing or is of another kind."""
    told = " ".join(str(error).split())
    return InputError(f"{name}: a damaged report: {type(error).__name__}: {told}")


def _verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "gate": row["expression"], "judgement": row["verdict"]}
