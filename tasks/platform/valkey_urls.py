"""Where the two Valkeys are: the centre's own, and the one that vantage points reach."""

import os
from pathlib import Path
from urllib.parse import quote

from core.errors import Unavailable
from core.paths import data_folder

CENTRE_USER = "centre"
LINKS_URL = "NEPHOSCOPE_LINKS_URL"


def links_folder() -> Path:
    """Where secret, certificates and memory of the embedded links' broker lie."""
    return data_folder() / "links"


def links_url() -> str:
    """``NEPHOSCOPE_LINKS_URL``, or the embedded server's socket; raises ``Unavailable``."""
    given = os.environ.get(LINKS_URL)
    if given:
        return given
    return url_of(links_folder())


def url_of(folder: Path) -> str:
    """The embedded server that lies in a folder; raises ``Unavailable`` where there is none."""
    secret, place = (_read(folder / name) for name in ("secret", "socket-path"))
    if not place:
        raise Unavailable("there is no links' broker; make run starts one, or set its URL")
    return f"unix://{CENTRE_USER}:{quote(secret, safe='')}@{place}"


def client_url(url: str) -> str:
    """A broker's URL as the Redis client spells it."""
    plain = url.replace("redis+socket://", "unix://")
    return plain.replace("virtual_host=", "db=")


def authority() -> str:
    """The certificate that vantage points trust at the broker; empty for public authorities."""
    return (links_folder() / "ca.pem").read_text() if (links_folder() / "ca.pem").is_file() else ""


def _read(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""
