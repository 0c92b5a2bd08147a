"""Forms of access logs: recognise a log by its first lines, and read the clients of a block."""

import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cartography.access_logs import shapes
from cartography.traffic.error_counts import ErrorCounts
from cartography.traffic.readers.line_blocks import Block
from core.errors import BadInput

_KERNELS = "cartography.access_logs.kernels"
# Lines by which a log is recognised.
_SAMPLE_LINES = 200
_SAMPLE_BYTES = 1024 * 1024
# What is wrong with a line, in the order of the codes of ``kernels``.
REASONS = (
    "",
    "comment",
    "no client at its place",
    "no time at its place",
    "no request in quotes",
    "no status of three digits",
    "not as many columns as the head names",
    "not a JSON object",
    "no field of the client",
    "the client is not an IP address",
)
_COMMENT = 1
# Fields of JSON logs that hold the client's address, the likeliest first.
_JSON_KEYS = (
    "remote_addr",
    "client_ip",
    "clientip",
    "client_addr",
    "remote_ip",
    "remote_address",
    "ClientIP",
    "ClientHost",
    "c-ip",
    "ip",
)
_NO_KEY = np.zeros(1, np.uint8)


@dataclass(frozen=True, slots=True)
class LogForm:
    """A form of lines: its name, and the arguments of the compiled reader."""

    name: str
    shape: tuple[int, int, int, int]
    key: str = ""

    def read(self, block: Block) -> "Clients":
        """Read the client of each line of a block."""
        kernels: Any = importlib.import_module(_KERNELS)
        text = np.frombuffer(block.data + bytes(kernels.READ_BYTES), np.uint8)
        halves = np.zeros((2, len(block.lines)), np.uint64)
        reasons = np.zeros(len(block.lines), np.uint8)
        key = np.frombuffer(self.key.encode(), np.uint8) if self.key else _NO_KEY
        kernels.read_lines(text, self.shape, key, halves, reasons)
        return Clients(halves, reasons, block.lines)


@dataclass(frozen=True, slots=True)
class Clients:
    """Addresses of a block's lines as halves (2, n) uint64, and codes of ``REASONS`` (n,)."""

    halves: NDArray[np.uint64]
    reasons: NDArray[np.uint8]
    lines: NDArray[np.int64]

    def sound(self) -> NDArray[np.uint64]:
        """Return the addresses of sound lines, (2, m) uint64."""
        good = self.reasons == 0
        return self.halves if good.all() else np.ascontiguousarray(self.halves[:, good])

    def count_wrong(self, into: ErrorCounts) -> None:
        """Count the wrong lines by reason."""
        for code in range(_COMMENT + 1, len(REASONS)):
            lines = self.lines[self.reasons == code]
            if len(lines):
                into.add(REASONS[code], lines[:10].tolist(), len(lines))

    @property
    def n_comments(self) -> int:
        return int((self.reasons == _COMMENT).sum())

    def first_wrong(self) -> tuple[int, str] | None:
        """Return line and reason of the first wrong line."""
        wrong = np.flatnonzero(self.reasons > _COMMENT)
        if not len(wrong):
            return None
        return int(self.lines[wrong[0]]), REASONS[self.reasons[wrong[0]]]


def recognise(block: Block) -> LogForm:
    """Return the form of most of the first lines; raise ``BadInput`` naming line and reason."""
    sample = _sample(block)
    best, found, most = None, None, -1
    for form in _candidates(sample):
        clients = form.read(sample)
        n_sound = int((clients.reasons == 0).sum())
        if n_sound > most:
            best, found, most = form, clients, n_sound
    if best is None or found is None:
        raise BadInput("the log holds no lines but comments")
    wrong = found.first_wrong()
    if wrong and 2 * most < len(sample.lines) - found.n_comments:
        names = ", ".join(dict.fromkeys(NAMES.values()))
        raise BadInput(
            f"{wrong[1]}, read as {best.name}; access logs of these forms are read: {names}",
            line=wrong[0],
        )
    return best


NAMES = {
    "common": "common or combined",
    "vhost": "combined with a virtual host first",
    "alb": "AWS load balancer",
    "columns": "CloudFront (#Fields)",
    "json": "JSON objects",
}


def _sample(block: Block) -> Block:
    """Return the first lines; of a log of one line, that line."""
    at = 0
    for count in range(len(block.lines)):
        after = block.data.find(b"\n", at) + 1
        if not after or count == _SAMPLE_LINES or (count and after > _SAMPLE_BYTES):
            break
        at = after
    at = at or len(block.data)
    return Block(block.data[:at], block.lines[: max(block.data.count(b"\n", 0, at), 1)])


def _candidates(sample: Block) -> Iterator[LogForm]:
    lines = sample.data.splitlines()
    rows = [line for line in lines if not line.startswith(b"#")]
    if not rows:
        return
    fields = next((line for line in lines if line.startswith(b"#Fields:")), None)
    if fields is not None:
        yield _columns(fields, rows[0], int(sample.lines[lines.index(fields)]))
        return
    if rows[0].lstrip().startswith(b"{"):
        yield LogForm(NAMES["json"], (shapes.JSON, 0, 0, 0), _json_key(rows))
        return
    yield LogForm(NAMES["common"], (shapes.COMBINED, 0, 0, 0))
    yield LogForm(NAMES["alb"], (shapes.BALANCER, 3, 0, 0))
    yield LogForm(NAMES["alb"], (shapes.BALANCER, 2, 0, 0))
    yield LogForm(NAMES["vhost"], (shapes.COMBINED, 1, 0, 0))


def _columns(fields: bytes, row: bytes, line: int) -> LogForm:
    names = fields.removeprefix(b"#Fields:").split()
    if b"c-ip" not in names:
        raise BadInput("the head names no field c-ip, the client's address", line=line)
    sign = b"\t" if b"\t" in row else b" "
    return LogForm(NAMES["columns"], (shapes.COLUMNS, names.index(b"c-ip"), len(names), sign[0]))


def _json_key(rows: list[bytes]) -> str:
    """Return the client's field in the first sound object; the usual one where it has none."""
    for row in rows:
        try:
            document = json.loads(row)
        except ValueError:
            continue
        if isinstance(document, dict):
            return next((key for key in _JSON_KEYS if key in document), _JSON_KEYS[0])
    return _JSON_KEYS[0]
