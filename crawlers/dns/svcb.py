"""Service bindings (SVCB and HTTPS, RFC 9460) from wire form to text."""

import base64
import socket
import struct
from collections.abc import Callable

from core.errors import NephoscopeError
from crawlers.dns.name_codec import quote

_KEYS = {
    0: "mandatory",
    1: "alpn",
    2: "no-default-alpn",
    3: "port",
    4: "ipv4hint",
    5: "ech",
    6: "ipv6hint",
    7: "dohpath",
    8: "ohttp",
    10: "docpath",
}
_MANDATORY, _ALPN, _NO_DEFAULT_ALPN = 0, 1, 2
_NEEDS_VALUE = frozenset((0, 1, 3, 4, 5, 6))


class InvalidRecordData(NephoscopeError):
    """Record data with valid lengths that breaks a rule of its type."""


def service_text(priority: int, target: str, parameters: bytes) -> str:
    """A service binding as text; raises ``Unruly``, and ``ValueError`` for lengths that lie."""
    values = split_parameters(parameters)
    if values and not priority:
        raise InvalidRecordData("parameters in alias mode")
    _check_keys(values)
    return " ".join([f"{priority} {target}", *(_parameter(k, v) for k, v in values.items())])


def split_parameters(data: bytes) -> dict[int, bytes]:
    """Values by key, as they stand; raises ``Unruly``, and ``ValueError`` for a false length."""
    values: dict[int, bytes] = {}
    offset, last, ordered = 0, -1, True
    while offset < len(data):
        key, length = struct.unpack_from("!HH", data, offset) if len(data) - offset > 3 else (0, 0)
        after = offset + 4 + length
        if after > len(data):
            raise ValueError("service parameter runs past its record")
        ordered = ordered and key > last
        values[key], offset, last = data[offset + 4 : after], after, key
    if not ordered:
        raise InvalidRecordData("service parameters out of order")
    return values


def _check_keys(values: dict[int, bytes]) -> None:
    if any(not values[key] for key in _NEEDS_VALUE & values.keys()):
        raise InvalidRecordData("service parameter without a value")
    if _NO_DEFAULT_ALPN in values and _ALPN not in values:
        raise InvalidRecordData("no-default-alpn without alpn")
    wanted = _numbers(values.get(_MANDATORY, b""))
    if _MANDATORY in wanted or not values.keys() >= set(wanted):
        raise InvalidRecordData("a mandatory service parameter is missing")


def _parameter(key: int, value: bytes) -> str:
    name = _KEYS.get(key) or f"key{key}"
    text = _VALUES.get(key, quote)(value)
    return f'{name}="{text}"' if value else name


def _numbers(value: bytes) -> list[int]:
    if len(value) % 2:
        raise InvalidRecordData("odd length of a list of keys")
    keys = [number for (number,) in struct.iter_unpack("!H", value)]
    if keys != sorted(set(keys)):
        raise InvalidRecordData("mandatory keys out of order")
    return keys


def _mandatory(value: bytes) -> str:
    return ",".join(_KEYS.get(key) or f"key{key}" for key in _numbers(value))


def _strings(value: bytes) -> str:
    strings, offset = [], 0
    while offset < len(value):
        after = offset + 1 + value[offset]
        if after > len(value) or after == offset + 1:
            raise InvalidRecordData("empty or cut string in a list")
        strings.append(value[offset + 1 : after])
        offset = after
    # Escaped twice: once for the list, once for the string that contains the list.
    escaped = (s.replace(b"\\", b"\\\\").replace(b",", b"\\,") for s in strings)
    return quote(b",".join(escaped))


def _nothing(value: bytes) -> str:
    if value:
        raise InvalidRecordData("value where none is allowed")
    return ""


def _port(value: bytes) -> str:
    if len(value) != 2:
        raise InvalidRecordData("port is not 2 bytes")
    return str(value[0] << 8 | value[1])


def _addresses(family: socket.AddressFamily, size: int) -> Callable[[bytes], str]:
    def write(value: bytes) -> str:
        if len(value) % size:
            raise InvalidRecordData("address hints of a wrong length")
        parts = (value[i : i + size] for i in range(0, len(value), size))
        return ",".join(socket.inet_ntop(family, part) for part in parts)

    return write


def _hello(value: bytes) -> str:
    if len(value) < 6 or value[0] << 8 | value[1] != len(value) - 2:
        raise InvalidRecordData("no list of ECH configurations")
    return base64.b64encode(value).decode()


_VALUES: dict[int, Callable[[bytes], str]] = {
    0: _mandatory,
    1: _strings,
    2: _nothing,
    3: _port,
    4: _addresses(socket.AF_INET, 4),
    5: _hello,
    6: _addresses(socket.AF_INET6, 16),
    8: _nothing,
    10: _strings,
}
