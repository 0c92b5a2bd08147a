"""Run Zeek, where it is installed, on a capture, in a separate process and temporary folder.

The result has the paths of the logs that describe traffic.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from cartography.traffic.readers.line_blocks import Source
from cartography.traffic.readers.log_kinds import FIELDS
from core.errors import BadInput

# A gigabyte takes Zeek some ten seconds; what takes longer than this is stuck.
TIME_LIMIT_S = 3600.0
_NAMES = ("zeek", "bro")
_CAPTURE = "capture.pcap"


def find_zeek() -> str | None:
    """Where Zeek is, if it is installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def run_zeek(
    program: str, path: Path, folder: Path, time_limit_s: float = TIME_LIMIT_S
) -> list[Path]:
    """Read a capture by Zeek in an empty folder; raises ``BadInput`` when it fails or takes too
    long. A packed capture is unpacked there, and removed afterwards."""
    folder.mkdir(parents=True)
    capture = folder / _CAPTURE
    with capture.open("wb") as file:
        file.writelines(Source(path).chunks())
    errors = folder / "errors.txt"
    # Cards that fill in checksums on their own leave them wrong in captures, hence -C.
    command = [program, "-C", "-r", _CAPTURE, "LogAscii::use_json=F"]
    try:
        _run(command, folder, errors, time_limit_s)
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"{path}: zeek took longer than {time_limit_s:g} s") from error
    finally:
        capture.unlink()
    logs = [folder / f"{kind}.log" for kind in FIELDS]
    found = [log for log in logs if log.is_file()]
    if not found:
        stated = errors.read_text(errors="replace").strip().splitlines()
        raise BadInput(f"{path}: zeek wrote no log of traffic{': ' + stated[-1] if stated else ''}")
    return found


def _run(command: list[str], folder: Path, errors: Path, time_limit_s: float) -> None:
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
    try:
        process.wait(time_limit_s)
    finally:
        # Whatever it started goes with it, also when this process is interrupted.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
