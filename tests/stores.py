"""A store with all its tables: migrated once a run, and copied to wherever one is wanted."""

import fcntl
import functools
import shutil
import sys
from pathlib import Path

from tests import forks

NAME = "nephoscope.sqlite3"


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
            command = [sys.executable, str(forks.ROOT / "manage.py"), "migrate", "--verbosity", "0"]
            forks.run(command, env=forks.bare_environment(making), check=True)
            (making / NAME).rename(path)
    return path


def copy_store(folder: Path) -> Path:
    """Give a data folder a migrated store unless it has one; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / NAME).exists():
        shutil.copy(migrated_store(), folder / NAME)
    return folder
