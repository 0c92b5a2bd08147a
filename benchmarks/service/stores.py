"""A PostgreSQL and a data folder that stay between runs, filled with a world's survey."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services import run_postgresql

ROOT = Path(__file__).resolve().parents[2]
WORLD = "imc2013"


@contextmanager
def filled_store(folder: Path, scale: str) -> Iterator[dict[str, str]]:
    """Run the PostgreSQL of a folder; yield the settings of a site with the world's survey.

    An empty folder is filled once: some eight CPU minutes at scale 1/1.
    """
    server, data = folder / "postgresql", folder / "data"
    for path in (folder, server, data):
        path.mkdir(parents=True, exist_ok=True)
    with run_postgresql(server) as url:
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("NEPHOSCOPE_")},
            "DATABASE_URL": url,
            "NEPHOSCOPE_DATA": str(data),
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
            "REDIS_URL": "redis://127.0.0.1:1/0",
        }
        if not (folder / "filled").exists():
            for words in (["migrate"], ["testbed", "observe", WORLD, "--scale", scale]):
                subprocess.run(
                    [sys.executable, "manage.py", *words], cwd=ROOT, env=environment, check=True
                )
            (folder / "filled").touch()
        yield environment
