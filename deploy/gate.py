"""TLS proxy for vantage points: TLS in front, a plain socket to Valkey behind it.

The embedded Valkey speaks no TLS. The gate knows no password and no command; who is who, and who
may do what, is decided by Valkey's own access lists behind it.
"""

import argparse
import asyncio
import contextlib
import resource
import signal
import ssl
import sys
from collections import Counter
from pathlib import Path

# A vantage point holds four connections; many may stand behind one address.
MOST_PER_ADDRESS = 1_000
MOST_CONNECTIONS = 3_500
_CHUNK_BYTES = 64 * 1024
_HANDSHAKE_S = 10.0
# The first command is the password: an unauthenticated connection is closed after this time.
_FIRST_WORD_S = 10.0


class Gate:
    """Counts who is inside, and carries octets both ways."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._inside: Counter[str] = Counter()
        self._guests: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to carry a connection, beside all others."""
        guest = asyncio.create_task(self.admit(reader, writer))
        self._guests.add(guest)
        guest.add_done_callback(self._guests.discard)

    async def admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until either side ends it."""
        address = writer.get_extra_info("peername")[0]
        full = self._inside.total() >= MOST_CONNECTIONS
        if full or self._inside[address] >= MOST_PER_ADDRESS:
            writer.transport.abort()
            return
        self._inside[address] += 1
        try:
            with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
                await self._carry(reader, writer)
        finally:
            self._inside[address] -= 1
            if not self._inside[address]:
                del self._inside[address]
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_FIRST_WORD_S):
            first = await reader.read(_CHUNK_BYTES)
        if not first:
            return
        inner_reader, inner_writer = await asyncio.open_unix_connection(self._socket_path)
        inner_writer.write(first)
        ways = {
            asyncio.create_task(_pump(reader, inner_writer)),
            asyncio.create_task(_pump(inner_reader, writer)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            inner_writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        writer.write(data)
        await writer.drain()


def context_of(certificate: str, key: str) -> ssl.SSLContext:
    """TLS 1.2 or newer, with the gate's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context


async def serve(options: argparse.Namespace) -> None:
    """Serve until stopped."""
    host, _, port = options.listen.rpartition(":")
    gate = Gate(options.to)
    server = await asyncio.start_server(
        gate.accept,
        host.strip("[]") or None,
        int(port),
        ssl=context_of(options.certificate, options.key),
        ssl_handshake_timeout=_HANDSHAKE_S,
        limit=_CHUNK_BYTES,
        backlog=512,
    )
    bound = server.sockets[0].getsockname()[1]
    if options.port_file:
        Path(options.port_file).write_text(str(bound))
    print(f"letting vantage points in on port {bound}", flush=True)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()


def main() -> int:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="deploy.gate", description=__doc__)
    parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="no host: all")
    parser.add_argument("--to", required=True, metavar="SOCKET")
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--port-file", help="write the port here, where 0 was asked for")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16_384), most))
    asyncio.run(serve(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
