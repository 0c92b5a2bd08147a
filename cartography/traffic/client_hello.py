"""Parse a client's first bytes: the host of an HTTP request, or the name of a TLS ClientHello."""

import re
import struct

_REQUEST = re.compile(rb"(?:GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH|CONNECT) \S+ HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r\n]*)", re.IGNORECASE)
_RECORD, _HELLO, _SERVER_NAME, _HOST_NAME = 0x16, 1, 0, 0
# A hello with the keys of today's exchanges has two kilobytes.
MOST_BYTES = 16 * 1024


def parse_host_header(payload: bytes) -> str | None:
    """The Host of a request that begins here; an empty text where it names none."""
    if not _REQUEST.match(payload):
        return None
    found = _HOST.search(payload.partition(b"\r\n\r\n")[0])
    return found[1].decode("latin-1").strip() if found else ""


def is_client_hello(payload: bytes) -> bool:
    """Return whether bytes begin like a TLS ClientHello."""
    return len(payload) > 5 and payload[0] == _RECORD and payload[1] == 3 and payload[5] == _HELLO


def parse_server_name(data: bytes) -> str | None:
    """The server name of a hello, an empty text where it names none; ``None`` while it is not
    whole."""
    message = _join_records(data)
    if len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4]):
        return None
    try:
        return _find_name(message)
    except (struct.error, IndexError):
        return ""


def _join_records(data: bytes) -> bytes:
    """The messages of the records, which may cut a hello anywhere."""
    out, at = bytearray(), 0
    while at + 5 <= len(data) and data[at] == _RECORD:
        size = int.from_bytes(data[at + 3 : at + 5])
        out += data[at + 5 : at + 5 + size]
        at += 5 + size
    return bytes(out)


def _find_name(message: bytes) -> str:
    at = 4 + 2 + 32
    at += 1 + message[at]
    at += 2 + struct.unpack_from("!H", message, at)[0]
    at += 1 + message[at]
    end = at + 2 + struct.unpack_from("!H", message, at)[0]
    at += 2
    while at + 4 <= end:
        kind, size = struct.unpack_from("!HH", message, at)
        if kind == _SERVER_NAME and size >= 5 and message[at + 6] == _HOST_NAME:
            (length,) = struct.unpack_from("!H", message, at + 7)
            return message[at + 9 : at + 9 + length].decode("latin-1")
        at += 4 + size
    return ""
