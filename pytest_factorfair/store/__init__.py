"""The persistent store of responses: SQLite by default, PostgreSQL by URL.

Only this package uses SQL. A response is stored once the future of ``Store.put`` is resolved.
"""

from pytest_factorfair.store.durable.outage import PATIENCE
from pytest_factorfair.store.rows import CallTexts, Origin, Write, check, keys
from pytest_factorfair.store.sharing.claims import ClaimResult
from pytest_factorfair.store.store import Store

__all__ = [
    "PATIENCE",
    "CallTexts",
    "ClaimResult",
    "Origin",
    "Store",
    "Write",
    "check",
    "keys",
]
