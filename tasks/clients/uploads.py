"""Read client weights from a file in any known form: logs, analytics tables, probes or lists."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from analysis.impact.client_weights import read_audience
from analysis.impact.clients.analytics import is_analytics, read_analytics
from analysis.impact.clients.probe_selections import parse_json, read_probes
from core.errors import BadInput
from core.files import GZIP_MAGIC, CutStream, DamagedStream, inflate, unpack
from tasks.clients import access_logs

# How the requests of logs are counted.
KINDS = access_logs.KINDS
DEFAULT_KIND = "city"
# Tables and lists, unpacked.
MAX_TABLE_BYTES = 16 * 1024 * 1024
# Of a log, unpacked: who has no account keeps a web worker busy for less long.
MAX_LOG_BYTES_ANONYMOUS = 64 * 1024 * 1024
_SAMPLE_BYTES = 65_536
# An address or a time of a log in the first lines, which no table or list of clients has.
_LOG = re.compile(
    rb"^#(?:Version|Fields):|\b(?:[0-9]{1,3}[.]){3}[0-9]{1,3}\b|\b[0-9a-fA-F]{1,4}::?[0-9a-fA-F]{1,4}:"
    rb"|\[[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ClientWeights:
    """Weights by client, what they count, and what of the file is not in them."""

    form: str
    weights: dict[str, float]
    unit: str = "weight"
    # The amount, in the same unit, of clients without a place.
    unplaced: float = 0.0
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return a JSON document; the heaviest clients come first."""
        rows = sorted(self.weights.items(), key=lambda row: (-row[1], row[0]))
        return {**asdict(self), "weights": dict(rows), "total": sum(self.weights.values())}

    def about(self) -> dict[str, Any]:
        """Return the document without the weights."""
        return {n: v for n, v in self.as_json().items() if n != "weights"}


def max_log_bytes(*, is_anonymous: bool) -> int:
    """Return how large a log may be, unpacked."""
    return MAX_LOG_BYTES_ANONYMOUS if is_anonymous else access_logs.MAX_UPLOAD_BYTES


def read_upload(
    data: bytes, name: str, by: str = DEFAULT_KIND, max_log_bytes: int | None = None
) -> ClientWeights:
    """Read a file of any form; raise ``BadInput`` naming line and reason.

    ``by`` is the kind of cell by which requests of logs are counted. Of a log no address is kept.
    """
    if by not in KINDS:
        raise BadInput(f"{by!r} is not one of {', '.join(KINDS)}", field="by")
    sample = _first_bytes(data)
    if not sample.strip():
        raise BadInput("the file is empty")
    if sample.lstrip().startswith((b"[", b"{")) and not _is_json_lines(sample):
        probes = read_probes(parse_json(unpack(data, MAX_TABLE_BYTES)))
        return ClientWeights("probe selection", probes, "probes")
    if is_analytics(sample):
        table = read_analytics(unpack(data, MAX_TABLE_BYTES))
        return ClientWeights("analytics table", table.weights, table.column, table.unplaced)
    if sample.lstrip().startswith(b"{") or _LOG.search(sample):
        return _log(access_logs.count_upload(data, name, max_log_bytes), by)
    return ClientWeights("list", read_audience(unpack(data, MAX_TABLE_BYTES)))


def _log(found: Mapping[str, Any], by: str) -> ClientWeights:
    weights = dict(found["weights"][by])
    notes = list(access_logs.summary_lines(found))
    if not weights:
        raise BadInput("no client of the log could be placed: " + "; ".join(notes))
    if by == "network" and found["tables"]["routes"] is None:
        raise BadInput("networks need a route table; count by city or country", field="by")
    unplaced = float(found["unmatched"] + found["withheld"])
    return ClientWeights(
        f"access log: {found['files'][0]['form']}", weights, "requests", unplaced, notes
    )


def _is_json_lines(sample: bytes) -> bool:
    """Return whether the first line is an object of a log, not the document of an API."""
    try:
        first = json.loads(sample.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and not {"results", "probes"} & set(first)


def _first_bytes(data: bytes) -> bytes:
    """Return the first plain bytes of a file."""
    found = bytearray()
    if not data.startswith(GZIP_MAGIC):
        return data[:_SAMPLE_BYTES]
    with suppress(CutStream, DamagedStream):
        for piece in inflate(iter([data[: 4 * _SAMPLE_BYTES]])):
            found += piece
            if len(found) >= _SAMPLE_BYTES:
                break
    return bytes(found[:_SAMPLE_BYTES])
