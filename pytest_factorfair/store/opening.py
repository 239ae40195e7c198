"""Open a response store by its URL; any other database is rejected and left unchanged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

import sqlalchemy
from sqlalchemy import event, false, insert, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from pytest_factorfair import process
from pytest_factorfair.errors import StoreError, nearest
from pytest_factorfair.redaction import redacted, shown_url
from pytest_factorfair.store.schema import BATCH_METADATA, FORMAT, META, METADATA, VERSION, insert_new

TIMEOUT = 30  # seconds that a connection waits for another process's commit
DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
}
_ADVICE = "give sqlite:///FILE or a postgresql+psycopg:// URL"
_ASIDE = "move the file away, then run the same command"
_ANOTHER = "name another with --factorfair-store"
_LOCK = 0x666F6661  # our number for PostgreSQL's advisory lock; arbitrary


def parsed(url: str) -> URL:
    """Parse a store's URL, and check it as far as possible without opening anything."""
    try:
        parsed_url = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(f"'{shown_url(url)}' is not the URL of a response store: {_ADVICE}") from None
    if ":///" in url and _is_file(parsed_url):  # the literal path, because SQLAlchemy decodes percent signs
        parsed_url = parsed_url.set(database=url.partition(":///")[2].partition("?")[0])
    if parsed_url.drivername not in DRIVERS:
        hint = nearest(parsed_url.drivername, DRIVERS)
        raise StoreError(f"a response store cannot be kept in '{parsed_url.drivername}'{hint}; {_ADVICE}")
    if _is_file(parsed_url) and (parsed_url.database or ":memory:") == ":memory:":
        raise StoreError(f"'{shown_url(url)}' names no file, but responses must be kept: {_ADVICE}")
    if _is_file(parsed_url) and parsed_url.query:
        raise StoreError(f"'{shown_url(url)}': the file of a response store takes no options: {_ADVICE}")
    return parsed_url.set(drivername=DRIVERS[parsed_url.drivername])


def location(url: URL) -> str:
    """The name of a store in messages: the file, or the URL without user, password and options."""
    return url.database or "" if _is_file(url) else redacted(url.render_as_string())


def file(url: URL) -> Path | None:
    """The file of a store; None if the store is not a file."""
    return Path(url.database or "") if _is_file(url) else None


def opened(url: URL, *, read_only: bool) -> sqlalchemy.Engine:
    """Open a database, and create our tables if it is empty.

    Raises:
        StoreError: the database cannot be opened or created, is another program's, or has another version.
    """
    try:
        if _is_file(url):
            return _opened_file(Path(url.database or ""), read_only=read_only)

        def make_or_check(connection: sqlalchemy.Connection) -> None:
            exclusively(connection)
            if not inspect(connection).get_table_names():
                _make(connection)
            _check(connection, location(url))
            if not read_only:
                BATCH_METADATA.create_all(connection)

        waiting = {} if "connect_timeout" in url.query else {"connect_timeout": TIMEOUT}
        return _tried(sqlalchemy.create_engine(url, connect_args=waiting), make_or_check)
    except StoreError:
        raise
    except ImportError:
        raise StoreError(
            f"{location(url)}: needs psycopg: pip install 'pytest-factorfair[postgres]'"
        ) from None
    except (SQLAlchemyError, OSError) as error:
        raise StoreError(f"{explained(location(url), 'cannot be opened', error)}; {_ANOTHER}") from error


def verify(database: sqlalchemy.Engine, where: str) -> None:
    """Check every page of a store's file; a server is not checked.

    Raises:
        StoreError: the file is damaged.
        OperationalError: the file cannot be read now.
    """
    if database.dialect.name != "sqlite":
        return
    try:
        with database.connect() as connection:
            damage = connection.exec_driver_sql("PRAGMA quick_check(1)").scalars().one()
    except OperationalError:
        raise
    except SQLAlchemyError as error:
        raise StoreError(f"{explained(where, 'is damaged', error)}; {_ASIDE}") from error
    if damage != "ok":
        words = " ".join(damage.split())
        raise StoreError(f"{where}: the response store is damaged: {words}; {_ASIDE}")


def exclusively(connection: sqlalchemy.Connection) -> None:
    """Lock out other processes that would create tables or start a run; a file is locked already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def entries(database: sqlalchemy.Engine, *names: str) -> dict[str, str]:
    """Read the entries with these names from a store's metadata."""
    with database.connect() as connection:
        rows = connection.execute(select(META.c.name, META.c.value).where(META.c.name.in_(names)))
        return {row.name: row.value for row in rows}


def entered(database: sqlalchemy.Engine, new: Mapping[str, str]) -> dict[str, str]:
    """Add entries to a store's metadata, unless another process was first; return those in the store."""
    with database.begin() as connection:
        rows = [{"name": name, "value": value} for name, value in new.items()]
        connection.execute(insert_new(database.dialect.name, META), rows)
    return entries(database, *new)


def _is_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _opened_file(path: Path, *, read_only: bool) -> sqlalchemy.Engine:
    if not path.exists():
        if read_only:
            raise StoreError(f"{path}: no such response store; run once without reuse=only")
        process.make_folder(path.parent)
        _make_file(path)
    elif not path.is_file():  # such as a FIFO, on which SQLite would hang
        raise StoreError(f"{path}: not a regular file, so not a response store; {_ANOTHER}")
    options = {"mode": "ro"}
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        options["immutable"] = "1"  # otherwise SQLite creates files next to it, even for reading
    reading = _connected(_uri(path, options))
    _tried(reading, lambda connection: _check(connection, str(path)))
    if read_only:
        return reading
    reading.dispose()

    def check_writable(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # fails if the file is not writable
        BATCH_METADATA.create_all(connection)

    # rw, so that connecting fails if the file has been removed; the default would create an empty file
    return _tried(_connected(_uri(path, {"mode": "rw"})), check_writable)


def _tried(database: sqlalchemy.Engine, check: Callable[[sqlalchemy.Connection], None]) -> sqlalchemy.Engine:
    """Return the database if a connection passes the check; otherwise close it."""
    try:
        with database.begin() as connection:
            check(connection)
    except BaseException:
        database.dispose()
        raise
    return database


def _uri(path: Path, options: dict[str, str]) -> URL:
    return URL.create(
        "sqlite", database=f"file:{quote(str(path.absolute()))}", query={**options, "uri": "true"}
    )


def _connected(url: URL, *, timeout: float | None = None) -> sqlalchemy.Engine:
    waiting = {"timeout": TIMEOUT if timeout is None else timeout}
    # Parameters are named, as in PostgreSQL's driver.
    database = sqlalchemy.create_engine(url, connect_args=waiting, paramstyle="named")

    @event.listens_for(database, "connect")
    def _prepare(connection: sqlalchemy.engine.interfaces.DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # By default, a text that is not UTF-8 makes the statement fail; like this, its row can be named.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()

    return database


def _make_file(path: Path) -> None:
    """Create a database under another name, and link it into place only when it is complete."""

    def make(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        _make(connection)

    with process.draft(path) as aside:
        aside.mkdir()
        target = aside / path.name
        try:
            _tried(_connected(URL.create("sqlite", database=str(target)), timeout=0), make).dispose()
        except OperationalError as error:
            if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            # No other process knows this file, so "busy" means that the file system has no locks.
            raise StoreError(
                f"{path}: the file system of its folder has no file locks; {_ANOTHER}"
            ) from error
        target.chmod(target.stat().st_mode & process.FILE_MODE)  # SQLite gives its logs the same permissions
        for log in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            if not path.exists():  # SQLite would replay the log of a removed file into the new one
                log.unlink(missing_ok=True)
        try:
            os.link(target, path)
        except FileExistsError:
            return  # another process was first
        except OSError:  # no hard links; "x" never replaces a file
            with contextlib.suppress(FileExistsError), open(path, "xb", opener=process.private) as file:
                file.write(target.read_bytes())


def _make(connection: sqlalchemy.Connection) -> None:
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(
        insert(META), [{"name": "format", "value": FORMAT}, {"name": "version", "value": VERSION}]
    )


def _check(connection: sqlalchemy.Connection, where: str) -> None:
    """Reject a database that is not a response store of this version."""
    meta_values: dict[str, str] = {}
    if META.name in inspect(connection).get_table_names():
        columns = {column["name"] for column in inspect(connection).get_columns(META.name)}
        if {"name", "value"} <= columns:
            rows = connection.execute(select(META.c.name, META.c.value))
            meta_values = {row.name: row.value for row in rows}
    if meta_values.get("format") != FORMAT:
        raise StoreError(f"{where}: not a response store; it is left as it is: {_ANOTHER}")
    if meta_values.get("version") != VERSION:
        raise StoreError(
            f"{where}: a response store of version {meta_values.get('version')}, this release reads version "
            f"{VERSION}; {_ANOTHER}, or use the release that wrote it",
        )
    for statement in _reads(connection.dialect.name):
        connection.exec_driver_sql(statement)  # fails if a table or a column is missing


@cache
def _reads(dialect: str) -> tuple[str, ...]:
    """Statements that read all columns and no row, compiled only once."""
    language = import_module(f"sqlalchemy.dialects.{dialect}").dialect()
    return tuple(
        str(select(table).where(false()).compile(dialect=language)) for table in METADATA.tables.values()
    )


def explained(location: str, failure: str, error: Exception) -> StoreError:
    """Convert a driver's error to a StoreError of one line: location, failure, and the driver's message."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    words = redacted(" ".join(str(cause).split())) or type(cause).__name__
    return StoreError(f"{location}: the response store {failure}: {words}")
