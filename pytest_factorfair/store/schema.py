"""The tables, and the two ways of writing a response into them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, Column, Delete, Float, Integer, MetaData, String, Table, Text

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

# Prompt, identity and body are JSON texts: what a model writes need not be what a database takes as text.
# A picture is the name of its file, "" without one; its size in bytes tells a whole file from a cut one.
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

# What a detector reads in a picture; ``detector`` is the hash of all that can change it.
DETECTIONS = Table(
    "detections",
    METADATA,
    Column("picture", String(80), primary_key=True),
    Column("detector", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)

# What each shard of a run has asked; ``run`` is the hash of the fingerprint. That and usage are JSON texts.
# ``session`` is the one that asks it now, "" if none does; what that has asked is still in its accounts.
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

# Which process is asking for which key: no other may ask for it while its owner is alive.
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

# The rows of runs are made by the first run on a store, so that a store which was filled before has none.
RUN_METADATA = MetaData()

# What several controllers may use together; NULL means no limit.
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
# What each process has asked. A session is one controller with its workers, and has the controller's name.
ACCOUNTS = Table(
    "accounts",
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
    Column("ended", Text),
)
# How the calls to each endpoint of a run fare; ``Health`` says what the columns mean.
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


class Prepared:
    """A statement for many rows, compiled once: SQLAlchemy would compile it again for each row."""

    def __init__(self, statement: Insert | Delete, dialect: Dialect) -> None:
        self._text = cache(lambda: str(statement.compile(dialect=dialect)))

    def execute(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> int:
        """Execute it for each row, of which there is at least one; return how many rows it changed."""
        return connection.exec_driver_sql(self._text(), rows).rowcount


class Lookup:
    """A statement about several ``keys``, kept as text: SQLAlchemy would compile it at every execution."""

    def __init__(self, statement: Select[Any], dialect: Dialect) -> None:
        self._compiled = cache(lambda: statement.compile(dialect=dialect))
        self._text = lru_cache(maxsize=64)(self._expanded)

    def rows(self, connection: Connection, keys: Sequence[str]) -> Sequence[Sequence[Any]]:
        """The rows for these keys, of which there is at least one."""
        text, names = self._text(len(keys))
        return connection.exec_driver_sql(text, dict(zip(names, keys, strict=True))).all()

    def _expanded(self, number: int) -> tuple[str, tuple[str, ...]]:
        """The statement for this many keys, and their names."""
        state = self._compiled().construct_expanded_state({"keys": [""] * number})
        return state.statement, tuple(state.parameters)


@cache
def insert_new(dialect: str, table: Table) -> Insert:
    """Insert a row where there is none of the same key."""
    return _insert(dialect, table).on_conflict_do_nothing()


def upsert_all(dialect: str, table: Table) -> Insert:
    """Insert a row over the one of the same key."""
    statement = _insert(dialect, table)
    values = {name: column for name, column in statement.excluded.items() if name not in table.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)


def upsert(dialect: str, *, replace: bool) -> Insert:
    """Insert a response; over a reusable one only where ``replace`` says so."""
    statement = _insert(dialect, RESPONSES)
    values = {column.name: statement.excluded[column.name] for column in RESPONSES.c if column.name != "key"}
    return statement.on_conflict_do_update(
        index_elements=[RESPONSES.c.key],
        set_=values,
        where=None if replace else RESPONSES.c.reusable.is_not(True),
    )


def _insert(dialect: str, table: Table) -> Insert:
    """The insert of this dialect; both have what is used here, and the other one is not imported."""
    statement: Insert = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    return statement
