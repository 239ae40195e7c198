"""The persistent store of responses: SQLite by default, PostgreSQL by URL.

Only this package uses SQL. A response is stored once the future of ``Store.put`` is resolved.
"""

from pytest_factorfair.store.batches import BatchItem, BatchRow, Step, pending
from pytest_factorfair.store.durable.outage import PATIENCE
from pytest_factorfair.store.rows import CallTexts, Origin, check, keys
from pytest_factorfair.store.sharing.claims import ClaimResult
from pytest_factorfair.store.sharing.limits import SharedLimits
from pytest_factorfair.store.sharing.shards import ShardRow
from pytest_factorfair.store.store import Store
from pytest_factorfair.store.writer import Write

__all__ = [
    "PATIENCE",
    "BatchItem",
    "BatchRow",
    "CallTexts",
    "ClaimResult",
    "Origin",
    "ShardRow",
    "SharedLimits",
    "Step",
    "Store",
    "Write",
    "check",
    "keys",
    "pending",
]
