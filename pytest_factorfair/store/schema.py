"""The tables of a store, and prepared statements for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Delete,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    delete,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Select
    from sqlalchemy.dialects.sqlite import Insert

FORMAT = "pytest-factorfair responses"
VERSION = "5"

METADATA = MetaData()

META = Table(
    "meta",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

# Prompt, identity and body are JSON texts, because databases do not accept every text that a model writes. A
# picture is the name of its file, or ""; its size in bytes tells whether the file is truncated.
RESPONSES = Table(
    "responses",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("model", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("identity", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("picture", String(80), nullable=False),
    Column("picture_size", BigInteger, nullable=False),
    Column("reusable", Boolean, nullable=False),
    Column("created", String(32), nullable=False),
)

# Detections; ``detector`` is a hash of everything that can change them.
DETECTIONS = Table(
    "detections",
    METADATA,
    Column("picture", String(80), primary_key=True),
    Column("detector", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)

# The shards of a run; ``run`` is the hash of the fingerprint. Fingerprint and usage are JSON texts.
# ``session`` is the session that asks the shard now, whose usage is still in its accounts, or "".
SHARDS = Table(
    "shards",
    METADATA,
    Column("run", String(64), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("began", String(32), nullable=False),
    Column("finished", Boolean, nullable=False),
    Column("usage", Text, nullable=False),
    Column("session", String(32), nullable=False),
)

# The process that asks for a key; no other process may ask for it while this owner is alive.
CLAIMS = Table(
    "claims",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("owner", String(32), nullable=False),
)
OWNERS = Table(
    "owners",
    METADATA,
    Column("owner", String(32), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("until", Float, nullable=False),
)

# These tables are created whenever a store is opened for writing: those of earlier versions lack them.
BATCH_METADATA = MetaData()

# Batches sent to services; ``batches.BatchRow`` explains the columns.
BATCHES = Table(
    "batches",
    BATCH_METADATA,
    Column("name", String(32), primary_key=True),
    Column("service", Text, nullable=False),
    Column("account", String(12), nullable=False),
    Column("model", Text, nullable=False),
    Column("identity", Text, nullable=False),
    Column("form", Text, nullable=False),
    Column("lines", Integer, nullable=False),
    Column("file_id", Text, nullable=False, default=""),
    Column("batch_id", Text, nullable=False, default=""),
    Column("state", String(16), nullable=False),
    Column("created", Float, nullable=False),
    Column("submitted", Float),
    Column("expires", Float),
    Column("held", Float),
    Column("price_in", Float),
    Column("price_out", Float),
    Column("price_answer", Float),
    Column("replace", Boolean, nullable=False),
    Column("cause", Text, nullable=False, default=""),
    Column("collector", String(32), nullable=False),
)
# The primary key allows one outstanding request per key.
BATCH_ITEMS = Table(
    "batch_items",
    BATCH_METADATA,
    Column("key", String(64), primary_key=True),
    Column("batch", String(32), nullable=False, index=True),
    Column("prompt", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("tries", Integer, nullable=False),
)

# These tables are created by the first run with limits that processes share.
RUN_METADATA = MetaData()

# The limits that several controllers share; NULL means no limit.
RUNS = Table(
    "runs",
    RUN_METADATA,
    Column("name", Text, primary_key=True),
    Column("max_calls", BigInteger),
    Column("max_cost", Float),
    Column("max_minutes", Float),
    Column("max_rpm", BigInteger),
    Column("deadline", Float),
    Column("next_call", Float, nullable=False, default=0.0),
    Column("calls", BigInteger, nullable=False, default=0),
    Column("in_flight", Integer, nullable=False, default=0),
    Column("spent", Float, nullable=False, default=0.0),
    Column("held", Float, nullable=False, default=0.0),
    Column("dearest", Float),
    Column("ended", Text),
)
# The usage of each process. A session is one controller with its workers, named after the controller.
ACCOUNTS = Table(
    "process_accounts",
    RUN_METADATA,
    Column("owner", String(32), primary_key=True),
    Column("session", String(32), nullable=False),
    Column("run", Text, nullable=False),
    Column("calls", BigInteger, nullable=False, default=0),
    Column("in_flight", Integer, nullable=False, default=0),
    Column("tokens_in", BigInteger, nullable=False, default=0),
    Column("tokens_out", BigInteger, nullable=False, default=0),
    Column("spent", Float, nullable=False, default=0.0),
    Column("held", Float, nullable=False, default=0.0),
    Column("unpriced", Integer, nullable=False, default=0),
    Column("estimated", Integer, nullable=False, default=0),
    Column("ended", Text),
)
# The state of each endpoint of a run; ``Health`` explains the columns.
ENDPOINTS = Table(
    "endpoints",
    RUN_METADATA,
    Column("run", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("closed_until", Float, nullable=False, default=0.0),
    Column("probe_at", Float),
    Column("probes", Integer, nullable=False, default=0),
    Column("throttled", Integer, nullable=False, default=0),
    Column("waited", Float, nullable=False, default=0.0),
    Column("failed_calls", Integer, nullable=False, default=0),
    Column("failing", Integer, nullable=False, default=0),
    Column("rejected", Integer, nullable=False, default=0),
    Column("kind", Text, nullable=False, default=""),
    Column("cause", Text, nullable=False, default=""),
    Column("since", Float),
    Column("answered", Boolean, nullable=False, default=False),
    Column("episode", Integer, nullable=False, default=0),
)

COLLECTED = "collected"
"""The state of a batch whose answers are stored."""

UNBATCH = delete(BATCH_ITEMS).where(BATCH_ITEMS.c.key == bindparam("key_"))
"""Deletes the item of a key, which is answered or asked again."""


class PreparedStatement:
    """A statement for many rows, compiled only once; SQLAlchemy would compile it for each row."""

    def __init__(self, statement: Insert | Delete, dialect: Dialect) -> None:
        self._text = cache(lambda: str(statement.compile(dialect=dialect)))

    def execute(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> int:
        """Execute the statement for each row (at least one); return the number of changed rows."""
        return connection.exec_driver_sql(self._text(), rows).rowcount


class Lookup:
    """A query for several ``keys``, compiled only once; SQLAlchemy would compile it for each execution."""

    def __init__(self, statement: Select[Any], dialect: Dialect) -> None:
        self._compiled = cache(lambda: statement.compile(dialect=dialect))
        self._text = lru_cache(maxsize=64)(self._expanded)

    def rows(self, connection: Connection, keys: Sequence[str]) -> Sequence[Sequence[Any]]:
        """Return the rows for these keys (at least one)."""
        text, names = self._text(len(keys))
        return connection.exec_driver_sql(text, dict(zip(names, keys, strict=True))).all()

    def _expanded(self, number: int) -> tuple[str, tuple[str, ...]]:
        """The statement for a number of keys, and the names of its parameters."""
        state = self._compiled().construct_expanded_state({"keys": [""] * number})
        return state.statement, tuple(state.parameters)


@cache
def insert_new(dialect: str, table: Table) -> Insert:
    """A statement that inserts a row unless there is one with the same key."""
    return _insert(dialect, table).on_conflict_do_nothing()


def upsert_all(dialect: str, table: Table) -> Insert:
    """A statement that inserts a row, or replaces the one with the same key."""
    statement = _insert(dialect, table)
    values = {name: column for name, column in statement.excluded.items() if name not in table.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)


def upsert(dialect: str, *, replace: bool) -> Insert:
    """A statement that inserts a response; with ``replace``, it also replaces a reusable one."""
    statement = _insert(dialect, RESPONSES)
    values = {column.name: statement.excluded[column.name] for column in RESPONSES.c if column.name != "key"}
    return statement.on_conflict_do_update(
        index_elements=[RESPONSES.c.key],
        set_=values,
        where=None if replace else RESPONSES.c.reusable.is_not(True),
    )


def _insert(dialect: str, table: Table) -> Insert:
    """The insert construct of this dialect; the other dialect is not imported."""
    statement: Insert = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    return statement
