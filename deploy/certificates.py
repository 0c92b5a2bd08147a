"""Create this installation's certificate authority and the TLS certificate of its gate.

Made by the system's ``openssl``; the authority's own certificate travels to each vantage point
when it joins, so that no public authority is needed.
"""

import ipaddress
import secrets
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_DAYS = "3650"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class NoCertificate(Exception):
    """``openssl`` is not there, or refused; the message names which."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """TLS files of the gate: the authority that vantage points trust, certificate, and key."""

    authority: Path
    certificate: Path
    key: Path


def ensure(folder: Path, names: Iterable[str]) -> Certificates:
    """The files in ``folder``, made where they are not; raises ``NoCertificate``.

    The authority is kept, so that vantage points that joined still trust a gate with changed host
    names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = Certificates(folder / "ca.pem", folder / "gate.pem", folder / "gate.key")
    if not found.authority.exists():
        _create_authority(folder, found.authority)
    wanted = _alternatives(names)
    names_file = folder / "gate.names"
    if (
        not found.certificate.exists()
        or not names_file.exists()
        or names_file.read_text() != wanted
    ):
        _create_certificate(folder, found, wanted)
        names_file.write_text(wanted)
    return found


def _alternatives(names: Iterable[str]) -> str:
    kinds = sorted({_kind(name) for name in (*names, "localhost", "127.0.0.1")})
    return ",".join(kinds)


def _kind(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"DNS:{name}"


def _create_authority(folder: Path, path: Path) -> None:
    _openssl(
        *("req", "-x509", *_CURVE, "-days", _DAYS, "-subj", "/CN=Nephoscope links"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        *("-keyout", str(folder / "ca.key"), "-out", str(path)),
    )
    (folder / "ca.key").chmod(0o600)


def _create_certificate(folder: Path, files: Certificates, alternatives: str) -> None:
    request, extensions = folder / "gate.csr", folder / "gate.ext"
    _openssl(
        *("req", *_CURVE, "-subj", "/CN=Nephoscope gate"),
        *("-keyout", str(files.key), "-out", str(request)),
    )
    files.key.chmod(0o600)
    extensions.write_text(f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth\n")
    _openssl(
        *("x509", "-req", "-in", str(request), "-days", _DAYS, "-extfile", str(extensions)),
        *("-CA", str(files.authority), "-CAkey", str(folder / "ca.key")),
        *("-set_serial", f"0x{secrets.token_hex(8)}", "-out", str(files.certificate)),
    )


def _openssl(*arguments: str) -> None:
    try:
        done = subprocess.run(
            ["openssl", *arguments], capture_output=True, text=True, check=False, umask=0o077
        )
    except FileNotFoundError as error:
        raise NoCertificate("openssl is not installed; vantage points need it here") from error
    if done.returncode:
        raise NoCertificate(f"openssl: {done.stderr.strip()[-300:]}")
