"""A store with all its tables: migrated once a run, and copied to wherever one is wanted.

It is a file of SQLite, or a database of the PostgreSQL server that ``tests.services`` started.
"""

import fcntl
import functools
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests import forks, services

NAME = "nephoscope.sqlite3"
_TEMPLATE = "migrated"
# Of a busy machine; a lock that is held for longer is an error.
_LOCKED_S = 600
Query = Callable[..., list[Any]]


@functools.cache
def migrated_store() -> Path:
    """A file that all processes of a run share; copy it, and change nothing in it."""
    folder = forks.start_server()
    path = folder / NAME
    with (folder / "store.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            making = folder / "store"
            making.mkdir(exist_ok=True)
            _migrate(forks.bare_environment(making))
            (making / NAME).rename(path)
    return path


def copy_store(folder: Path) -> Path:
    """Give a data folder a migrated store unless it has one; returns the folder."""
    if not services.DATABASE_URL or (folder / NAME).exists():
        return copy_file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _create_database(folder)
    return folder


def copy_file(folder: Path) -> Path:
    """As ``copy_store``, always as a file: whoever copies the folder copies the store with it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / NAME).exists():
        shutil.copy(migrated_store(), folder / NAME)
    return folder


def settings_of(folder: Path) -> dict[str, str]:
    """The settings of a process that uses the store of a data folder."""
    url = _url_of(folder)
    return {"DATABASE_URL": url} if url else {}


@contextmanager
def connect(folder: Path) -> Iterator[Query]:
    """A function that runs a query with ``?`` for each value on a folder's store; its rows."""
    url = _url_of(folder)
    with connect_to(url) if url else open_file(folder / NAME) as run:
        yield run


def dump(folder: Path) -> bytes:
    """Everything that a folder's store holds."""
    url = _url_of(folder)
    if not url:
        return b"".join(path.read_bytes() for path in folder.glob(f"{NAME}*"))
    named = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with connect_to(url) as run:
        rows = [run(f'SELECT * FROM "{table}"') for (table,) in run(named)]
    return repr(rows).encode()


@contextmanager
def open_file(path: Path) -> Iterator[Query]:
    """As ``connect``, for a file of SQLite."""
    with closing(sqlite3.connect(path, timeout=_LOCKED_S)) as found, found:
        yield lambda query, *values: found.execute(query, values).fetchall()


@contextmanager
def connect_to(url: str) -> Iterator[Query]:
    """As ``connect``, for a database of PostgreSQL."""
    import psycopg

    def run(query: str, *values: Any) -> list[Any]:
        words = query.replace("%", "%%").replace("?", "%s") if values else query
        done = found.execute(words, values or None)
        return done.fetchall() if done.description else []

    with psycopg.connect(url) as found:
        yield run


def _url_of(folder: Path) -> str:
    """The URL of a folder's database; empty where it is a file."""
    if not services.DATABASE_URL or (folder / NAME).exists():
        return ""
    return _url(f"site_{zlib.crc32(str(folder).encode()):08x}")


def _url(name: str) -> str:
    return f"{services.DATABASE_URL.rpartition('/')[0]}/{name}"


def _create_database(folder: Path) -> None:
    name = _url_of(folder).rpartition("/")[2]
    with (forks.start_server() / "store.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _create(_TEMPLATE, "template0"):
            own = forks.bare_environment(folder) | {"DATABASE_URL": _url(_TEMPLATE)}
            _migrate(own)
        _create(name, _TEMPLATE)


def _create(name: str, template: str) -> bool:
    """Create a database unless there is one."""
    import psycopg

    with psycopg.connect(services.DATABASE_URL, autocommit=True) as server:
        known = server.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if not known:
            server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return not known


def _migrate(environment: dict[str, str]) -> None:
    command = [sys.executable, str(forks.ROOT / "manage.py"), "migrate", "--verbosity", "0"]
    forks.run(command, env=environment, check=True)
