"""One HTTP GET with the time of each step; a hostile server is bounded in time and in octets."""

import http.client
import io
import socket
import ssl
from typing import Any, NamedTuple

from core.clock import Clock
from probes.net.deadlines import status_of_error
from probes.net.ssrf_guard import Endpoint
from probes.records import ProbeStatus, Target

# Octets that are read at once; a transfer at 10 Gbit/s needs some 5,000 such reads a second.
_CHUNK = 1 << 18


class Limits(NamedTuple):
    """When a transfer is ended whatever it does; ``octets`` includes the head of the answer."""

    seconds: float
    octets: int


class _TooLarge(Exception):
    pass


class Exchange(io.RawIOBase):
    """One GET: moments (monotonic seconds) at which its steps ended, as far as it came.

    It is at the same time the file that the answer is read from, so that the first octet and the
    limits are seen where octets come in.
    """

    def __init__(self, endpoint: Endpoint, limits: Limits, clock: Clock) -> None:
        self._endpoint, self._limits, self._clock = endpoint, limits, clock
        self._sock: socket.socket | None = None
        self.status, self.reason, self.tls = ProbeStatus.NETWORK, "", ""
        self.started = self.ended = clock.monotonic()
        self.connected: float | None = None
        self.secured: float | None = None
        self.first_byte: float | None = None
        self.http_status: int | None = None
        # Octets of the body, and all that came in.
        self.octets = self.received = 0

    def get(self, target: Target, tls: ssl.SSLContext | None) -> None:
        """Do it; what goes wrong is noted in ``status`` and ``reason``."""
        try:
            self._get(target, tls)
        except ssl.SSLError as error:
            self._note(ProbeStatus.TLS, str(error.reason or error))
        except _TooLarge:
            self._note(ProbeStatus.TOO_LARGE, f"more than {self._limits.octets} octets")
        except OSError as error:
            self._note(status_of_error(error), error.strerror or str(error))
        except (http.client.HTTPException, ValueError) as error:
            self._note(ProbeStatus.MALFORMED, type(error).__name__)
        finally:
            self.ended = self._clock.monotonic()
            if self._sock is not None:
                self._sock.close()

    def since(self, moment: float | None, start: float | None) -> float | None:
        """Milliseconds from ``start`` to ``moment``, where both came."""
        return None if moment is None or start is None else (moment - start) * 1e3

    def readable(self) -> bool:
        return True

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        """What the reader of answers asks a socket for."""
        return io.BufferedReader(self, _CHUNK)

    def readinto(self, buffer: Any) -> int:
        """Read what came in; raises ``OSError``, ``_TooLarge`` and ``TimeoutError``."""
        assert self._sock is not None
        self._sock.settimeout(self._left_s())
        got = self._sock.recv_into(buffer)
        if self.first_byte is None:
            self.first_byte = self._clock.monotonic()
        self.received += got
        if self.received > self._limits.octets:
            raise _TooLarge
        return got

    def _get(self, target: Target, tls: ssl.SSLContext | None) -> None:
        self._sock = sock = socket.socket(self._endpoint.domain, socket.SOCK_STREAM)
        sock.settimeout(self._left_s())
        sock.connect(self._endpoint.sockaddr)
        self.connected = self._clock.monotonic()
        # Otherwise a request behind the handshake of TLS waits for an acknowledgement of that.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            sock.settimeout(self._left_s())
            self._sock = secured = tls.wrap_socket(sock, server_hostname=target.host)
            self.secured, self.tls = self._clock.monotonic(), secured.version() or ""
        self._sock.sendall(_request(target, self._endpoint))
        # http.client wants a socket, and asks it for nothing but a file.
        answer = http.client.HTTPResponse(self, method="GET")  # type: ignore[arg-type]
        answer.begin()
        self.http_status = answer.status
        while got := len(answer.read1(_CHUNK)):
            self.octets += got
        if answer.length:
            self._note(ProbeStatus.RESET, f"{answer.length} octets are missing")
        elif answer.status != http.HTTPStatus.OK:
            self._note(ProbeStatus.HTTP, f"status {answer.status}")
        else:
            self.status = ProbeStatus.OK

    def _note(self, status: ProbeStatus, reason: str) -> None:
        self.status, self.reason = status, reason

    def _left_s(self) -> float:
        left = self.started + self._limits.seconds - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError("not finished in time")
        return left


def _request(target: Target, endpoint: Endpoint) -> bytes:
    """Raise ``ValueError`` for a path or host that would end its line."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    text = f"{target.path}{host}"
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("the path or host holds what no request line may")
    return (
        f"GET {target.path} HTTP/1.1\r\nHost: {host}:{endpoint.port}\r\n"
        "User-Agent: nephoscope\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"
    ).encode("ascii")
