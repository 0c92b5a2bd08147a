"""Who a vantage point is: its name, its way to the links' broker and its limits, in a file."""

import contextlib
import fcntl
import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from core.errors import BadInput, NephoscopeError
from core.files import write_text

_FILE = "identity.json"


class AlreadyRunning(NephoscopeError):
    """Another process works under this identity."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the site gave in exchange for a one-time token."""

    name: str
    site: str
    host: str
    port: int
    user: str
    password: str
    # What to trust at the broker, as PEM; empty for the authorities of the system.
    authority: str = ""
    limits: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The broker's address with user and password, as Redis clients read it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"rediss://{quote(self.user)}:{quote(self.password, safe='')}@{host}:{self.port}/0"

    def key(self, part: str) -> str:
        """One of this vantage point's keys."""
        return f"v:{self.name}:{part}"


def folder_of(chosen: str = "") -> Path:
    """Where an identity lies: the chosen folder, or one below the user's home."""
    return Path(chosen) if chosen else Path.home() / ".nephoscope-vantage"


def save(identity: Identity, folder: Path) -> None:
    """Write an identity, readable for its owner only; the authority lies beside it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_text(folder / "authority.pem", identity.authority, private=True)
    write_text(folder / _FILE, json.dumps(asdict(identity), indent=1), private=True)


def load(folder: Path) -> Identity | None:
    """The identity of a folder, ``None`` where there is none; raises ``BadInput`` for a bad one."""
    path = folder / _FILE
    if not path.is_file():
        return None
    try:
        return Identity(**json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise BadInput(f"{path} is damaged: {error}; join again with a new token") from error


def tls_options(identity: Identity, folder: Path) -> dict[str, Any]:
    """TLS options for Redis clients that trust this broker's authority alone."""
    trusted = {"ssl_ca_certs": str(folder / "authority.pem")} if identity.authority else {}
    return {"ssl_cert_reqs": "required", "ssl_check_hostname": True, **trusted}


def instance_of(folder: Path) -> str:
    """Distinguishes this machine's process from one of a copied folder elsewhere."""
    machine = "".join(
        path.read_text() for path in map(Path, _MACHINE_FILES) if path.is_file()
    ) or str(uuid.getnode())
    seed = f"{machine}|{os.uname().nodename}|{folder.resolve()}"
    return hashlib.sha256(seed.encode()).hexdigest()[:16]


_MACHINE_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


@contextlib.contextmanager
def lock_identity(folder: Path) -> Iterator[None]:
    """Hold the identity for this process; raises ``AlreadyRunning``."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AlreadyRunning(
                f"a vantage process already runs from {folder}; stop it, or choose another folder"
            ) from error
        yield
