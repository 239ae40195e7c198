"""Database errors, said in one line."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from pytest_factorfair.errors import StoreError
from pytest_factorfair.redaction import redacted


def explained(place: str, what: str, error: Exception) -> StoreError:
    """The one line for an error of the driver: where, what, and the driver's own words."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    words = redacted(" ".join(str(cause).split())) or type(cause).__name__
    return StoreError(f"{place}: the response store {what}: {words}")
