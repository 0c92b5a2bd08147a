"""The Valkey that vantage points reach: apart from the centre's own, closed to everyone unnamed.

It listens on a socket only; ``deploy.gate`` lets vantage points in over TLS.
"""

import socket
import sys
from pathlib import Path

from core.files import read_or_create_secret, write_text
from deploy import broker, certificates

NAME = "links"
USER = "centre"
# A results message has at most 4 MB; no client can store a larger text, nor fill the machine's
# memory.
_LARGEST_TEXT = "5mb"
_MEMORY = "512mb"
# What all connections may hold together; the largest is closed first. Incomplete commands on many
# connections would else use the memory that messages need.
_MEMORY_OF_CONNECTIONS = "128mb"
_OWN = {"localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1", "::1": "[::1]"}


def secret_of(data: Path) -> str:
    """The centre's password, made once and readable for the owner only."""
    path = data / NAME / "secret"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    return read_or_create_secret(path)


def command(data: Path) -> list[str]:
    """The server's command line; only the centre may run commands until it has set access lists."""
    secret, plain = secret_of(data), broker.command(data, NAME)
    users = data / NAME / "users.acl"
    if not users.exists():
        lines = ["user default off nopass -@all", f"user {USER} on >{secret} ~* &* +@all"]
        write_text(users, "\n".join(lines) + "\n", private=True)
    (data / NAME / "socket-path").write_text(str(broker.socket_path(data, NAME)))
    return [
        *plain,
        *("--aclfile", str(users)),
        *("--proto-max-bulk-len", _LARGEST_TEXT),
        *("--client-query-buffer-limit", "16mb"),
        *("--maxmemory-clients", _MEMORY_OF_CONNECTIONS),
        *("--maxmemory", _MEMORY),
        *("--maxmemory-policy", "noeviction"),
        *("--maxclients", "4000"),
        # Access lists name keys, not databases: with more than one, each key would exist in all.
        *("--databases", "1"),
        # Closes idle connections; waiting for work does not count as idle.
        *("--timeout", "300"),
    ]


def answers(data: Path) -> bool:
    """Whether the server takes commands: one that reads its memory back refuses all but names."""
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(1)
            sock.connect(str(broker.socket_path(data, NAME)))
            sock.sendall(f"AUTH {USER} {secret_of(data)}\r\nPING\r\n".encode())
            reply = b""
            while reply.count(b"\r\n") < 2 and (more := sock.recv(256)):
                reply += more
    except OSError:
        return False
    return b"+PONG" in reply


def gate_command(data: Path, host: str, port: int) -> list[str]:
    """The command line of the TLS gate; raises ``NoCertificate``.

    ``host`` is how vantage points call it. Under a name of this machine's own it is open to this
    machine alone, under any other to all.
    """
    found = certificates.ensure(data / NAME, [host.strip("[]")])
    listen = _OWN.get(host.strip("[]"), "")
    return [
        *(sys.executable, "-m", "deploy.gate"),
        *("--listen", f"{listen}:{port}"),
        *("--to", str(broker.socket_path(data, NAME))),
        *("--certificate", str(found.certificate)),
        *("--key", str(found.key)),
    ]
