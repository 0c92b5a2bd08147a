"""Clients' addresses hidden so that two of them share as long a prefix as they did before.

The construction is that of Xu, Fan, Ammar and Moon (ICNP 2002, "Crypto-PAn"): bit i is flipped by a
keyed function of the i bits before it. Here that function is HMAC-SHA256, as no cipher is at hand.
"""

import hmac
import secrets
import socket
from functools import lru_cache
from pathlib import Path

from core.errors import BadInput

KEY_BYTES = 32
_KEPT_NODES = 1 << 16
_KEPT_ADDRESSES = 1 << 17


class Pseudonymizer:
    """One key's mapping of addresses: one to one within each family, prefixes kept."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise BadInput(f"a key has at least {KEY_BYTES} bytes, and this one has {len(key)}")
        self._key = key
        self._flips = lru_cache(maxsize=_KEPT_NODES)(self._read_flips)
        self.hide = lru_cache(maxsize=_KEPT_ADDRESSES)(self._hide)

    def hide_packed(self, packed: bytes) -> bytes:
        """The pseudonym of four or sixteen bytes."""
        out = bytearray()
        for at, byte in enumerate(packed):
            out.append(_flip(byte, self._flips(len(packed), packed[:at])))
        return bytes(out)

    def _hide(self, packed: bytes) -> str:
        hidden = self.hide_packed(packed)
        return socket.inet_ntop(socket.AF_INET if len(hidden) == 4 else socket.AF_INET6, hidden)

    def _read_flips(self, family_bytes: int, prefix: bytes) -> int:
        """One bit for each of the 255 shorter prefixes that begin with these bytes: one digest
        serves all bits of a byte."""
        message = bytes([family_bytes, len(prefix)]) + prefix
        return int.from_bytes(hmac.digest(self._key, message, "sha256"))


def _flip(byte: int, flips: int) -> int:
    out = 0
    for depth in range(8):
        before = byte >> (8 - depth)
        # The node of ``before`` among those of all depths: 1, 2, 4, … of them.
        node = (1 << depth) - 1 + before
        bit = (byte >> (7 - depth)) & 1
        out = out << 1 | (bit ^ (flips >> node & 1))
    return out


def read_key(path: Path, output: Path) -> bytes:
    """The key in a file; raises ``BadInput`` when it is unsafe: too short, or beside the output."""
    place = path.resolve()
    if place.is_relative_to(output.resolve()):
        raise BadInput(
            f"the key {path} is in the folder of the results; keep it elsewhere",
            field="key-file",
        )
    try:
        data = place.read_bytes()
    except OSError as error:
        raise BadInput(
            f"cannot read {path}: {error.strerror}; make one with: "
            f"(umask 077; head -c {KEY_BYTES} /dev/urandom > FILE)",
            field="key-file",
        ) from error
    if place.stat().st_mode & 0o077:
        raise BadInput(f"{path} is open to others; chmod 600 it", field="key-file")
    return data


def generate_key() -> bytes:
    """Generate a random key for one import; it is never stored."""
    return secrets.token_bytes(KEY_BYTES)
