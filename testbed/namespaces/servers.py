"""Servers of the instances: HTTP(S) objects of any size, echo over TCP and UDP, DNS, game queries.

Runs as a separate process: the sockets, opened in the namespaces of the instances, are listed by
file descriptor in one JSON line on standard input; ends with its owner.
"""

import asyncio
import json
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

HTTP, HTTPS, ECHO, NAMES, GAME = 80, 443, 7, 53, 27_960
# (port, kind of socket, what answers there).
SERVICES = (
    (HTTP, socket.SOCK_STREAM, "http"),
    (HTTPS, socket.SOCK_STREAM, "https"),
    (ECHO, socket.SOCK_STREAM, "echo"),
    (ECHO, socket.SOCK_DGRAM, "echo"),
    (NAMES, socket.SOCK_DGRAM, "names"),
    (GAME, socket.SOCK_DGRAM, "game"),
)
_GET = re.compile(rb"^GET /octets/(\d{1,9})(?:\?wait_ms=(\d{1,5}))? HTTP/1\.[01]\r\n")
_BLOCK = b"n" * 65_536
_MAX_HEAD = 8192


async def _http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """``GET /octets/N`` gives N octets, after ``?wait_ms=``; anything else is not found."""
    head = await reader.readuntil(b"\r\n\r\n")
    found = _GET.match(head)
    if found and found[2]:
        await asyncio.sleep(int(found[2]) / 1e3)
    size = int(found[1]) if found else 0
    status = b"200 OK" if found else b"404 Not Found"
    writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, size))
    while size > 0:
        writer.write(_BLOCK[:size])
        size -= len(_BLOCK)
        await writer.drain()


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


_STREAMS = {"http": _http, "https": _http, "echo": _echo}


@cache
def _tls() -> ssl.SSLContext | None:
    """Return a context with a new certificate that nothing trusts; ``None`` without ``openssl``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = (str(Path(folder) / name) for name in ("key.pem", "certificate.pem"))
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        words += ["-nodes", "-subj", "/CN=lab", "-days", "2", "-keyout", key, "-out", certificate]
        try:
            subprocess.run(words, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        context.load_cert_chain(certificate, key)
    return context


def answer_name(question: bytes, address: str) -> bytes:
    """An answer with the instance's own address to any question for addresses."""
    end = question.find(b"\0", 12) + 5
    if len(question) < 17 or end < 17 or question[2] & 0x80:
        return b""
    kind = struct.unpack_from("!H", question, end - 4)[0]
    packed = ip_address(address).packed
    fits = kind == (1 if len(packed) == 4 else 28)
    head = question[:2] + struct.pack("!HHHHH", 0x8580, 1, int(fits), 0, 0)
    record = struct.pack("!HHHIH", 0xC00C, kind, 1, 60, len(packed)) + packed
    return head + question[12:end] + (record if fits else b"")


def answer_game(question: bytes, _address: str) -> bytes:
    """Answer a status query of a game server."""
    known = question.startswith(b"\xff\xff\xff\xffgetstatus")
    return b"\xff\xff\xff\xffstatusResponse\n\\mapname\\lab\n" if known else b""


_DATAGRAMS = {"echo": lambda data, _: data, "names": answer_name, "game": answer_game}


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, what: str, address: str) -> None:
        self._what, self._address = what, address

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        reply = _DATAGRAMS[self._what](data, self._address)
        if reply:
            self._transport.sendto(reply, addr)


async def _serve(sockets: list[dict[str, Any]]) -> None:
    loop = asyncio.get_running_loop()
    for spec in sockets:
        sock = socket.socket(fileno=spec["number"])
        sock.setblocking(False)
        if sock.type == socket.SOCK_STREAM:
            client = _closing(_STREAMS[spec["what"]])
            context = _tls() if spec["what"] == "https" else None
            await asyncio.start_server(client, sock=sock, limit=_MAX_HEAD, ssl=context)
        else:
            kind = partial(_Datagrams, spec["what"], spec["address"])
            await loop.create_datagram_endpoint(kind, sock=sock)
    gone = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), gone.set)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await gone.wait()


def _closing(handle: Any) -> Any:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    return client


def open_service(address: str, port: int, kind: int) -> socket.socket:
    """A socket that serves, in the namespace of the caller; raises ``OSError``."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    if kind == socket.SOCK_STREAM:
        sock.listen(64)
    return sock


def main() -> None:
    """Serve until the owner is gone."""
    asyncio.run(_serve(json.loads(sys.stdin.readline())))


if __name__ == "__main__":
    main()
