"""An emulated capture: a week of connections of a campus to the names of the demo's world."""

import tempfile
from pathlib import Path
from typing import Any

from tasks.traffic import log_import
from testbed.files.zeek_logs import CLIENTS, build_logs
from testbed.world.model import World

NAME = "emulated-campus-week"


def import_capture(world: World) -> dict[str, Any]:
    """Import the logs, placed by the world's own ranges; replaces an earlier import."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, text in build_logs(world).items():
            paths.append(Path(folder) / name)
            paths[-1].write_text(text, encoding="utf-8")
        chosen = log_import.ImportOptions(
            name=NAME, networks=(CLIENTS,), as_of=world.as_of, reader="own", world=world.id
        )
        return log_import.import_logs(paths, chosen)
