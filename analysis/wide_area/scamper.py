"""scamper: traces and multipath traces as JSON lines become a table of paths.

A multipath trace becomes one path per flow; where a flow was not sent to a hop that had one
router only, that router stands in its path.
"""

import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.matrices import open_text
from core.errors import BadInput
from lake.measurements import table_of

Row = dict[str, Any]
Hop = dict[str, Any]
_ROUND_S = 900
# Hops of one path and flows of one trace that are taken in; IP knows no more hops.
_MAX_TTL, _MAX_FLOWS = 255, 4096
_SILENT = (None, "", "*")


def read_scamper(paths: Iterable[Path], round_s: int = _ROUND_S) -> tuple[pa.Table, int]:
    """A table of paths, and how many lines could not be read; raises ``BadInput`` for a file that
    does not begin with JSON."""
    rows: list[Row] = []
    malformed = 0
    for path in paths:
        for number, line in _lines(path):
            try:
                rows += _read_line(line, number, round_s)
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
                malformed += 1
    return table_of("paths", rows), malformed


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; where a packed file is cut, the last one is none."""
    number = 0
    try:
        with open_text(path) as stream:
            for number, line in enumerate(stream, 1):
                yield number, line
    except (EOFError, zlib.error, OSError) as error:
        if number == 0:
            raise BadInput(f"{path.name} cannot be read: {error}") from error
        yield number + 1, "the rest is cut"


def _read_line(line: str, number: int, round_s: int) -> list[Row]:
    if not line.strip():
        return []
    try:
        found = json.loads(line)
    except ValueError as error:
        if number == 1:
            raise BadInput("this is no JSON", line=number) from error
        raise
    kind = found.get("type") if isinstance(found, dict) else None
    if kind == "trace":
        return [_row(found, round_s, 0, list(_hops_of_trace(found)))]
    if kind == "tracelb":
        flows = _hops_of_flows(found)
        return [_row(found, round_s, flow, hops) for flow, hops in flows.items()]
    return []


def _row(found: Row, round_s: int, flow: int, hops: list[Hop]) -> Row:
    seconds = int(found["start"]["sec"])
    reached = any(hop["address"] == found["dst"] for hop in hops)
    return {
        "round": seconds // round_s,
        "vantage": str(found["src"]),
        "target": str(found["dst"]),
        "at": seconds * 1_000_000 + int(found["start"].get("usec", 0)),
        "probe": f"{found['type']}-{found.get('method', '')}",
        "status": "OK" if reached else "TIMEOUT",
        "source": str(found["src"]),
        "destination": str(found["dst"]),
        "flow": flow,
        "reached": reached,
        "hops": hops,
    }


def _hops_of_trace(found: Row) -> Iterator[Hop]:
    replies: dict[int, list[Hop]] = {}
    for hop in found.get("hops", ()):
        ttl = int(hop["probe_ttl"])
        replies.setdefault(ttl, []).append(_hop(ttl, hop.get("addr"), hop.get("rtt")))
    last = max([*replies, int(found.get("hop_count", 0))], default=0)
    for ttl in range(int(found.get("firsthop", 1)), min(last, _MAX_TTL) + 1):
        yield from replies.get(ttl, [_hop(ttl, None, None)])


def _hops_of_flows(found: Row) -> dict[int, list[Hop]]:
    """The hops of each flow that was seen anywhere."""
    seen = list(_replies(found))
    routers: dict[int, set[str]] = {}
    flows: dict[int, dict[int, Hop]] = {}
    for flow, hop in seen:
        if hop["address"] is not None:
            routers.setdefault(hop["ttl"], set()).add(hop["address"])
        if flow is not None and len(flows) < _MAX_FLOWS:
            flows.setdefault(flow, {}).setdefault(hop["ttl"], hop)
    last = max((hop["ttl"] for _, hop in seen), default=0)
    first = int(found.get("firsthop", 1))
    ttls = range(first, last + 1)
    return {
        flow: [own.get(t) or _hop(t, _only(routers.get(t)), None) for t in ttls]
        for flow, own in sorted(flows.items() or [(0, {})])
    }


def _replies(found: Row) -> Iterator[tuple[int | None, Hop]]:
    """All replies of a multipath trace with their flow; routers that links begin at have none."""
    for node in found.get("nodes", ()):
        ttl = _ttl_of(node)
        if ttl is not None:
            yield None, _hop(ttl, node.get("addr"), None)
        for step in node.get("links", ()):
            for link in step:
                for probe in link.get("probes", ()):
                    rtts = [r.get("rtt") for r in probe.get("replies", ())]
                    hop = _hop(int(probe["ttl"]), link.get("addr"), rtts[0] if rtts else None)
                    yield int(probe["flowid"]), hop


def _ttl_of(node: Row) -> int | None:
    """The hop of a router: one before that of the probes that went on from it."""
    for step, links in enumerate(node.get("links", ())):
        for link in links:
            for probe in link.get("probes", ()):
                return int(probe["ttl"]) - 1 - step
    return None


def _only(routers: set[str] | None) -> str | None:
    return next(iter(routers)) if routers and len(routers) == 1 else None


def _hop(ttl: int, address: Any, rtt: Any) -> Hop:
    if not 0 <= ttl <= _MAX_TTL:
        raise ValueError("no such hop")
    known = None if address in _SILENT else str(address)
    return {"ttl": ttl, "address": known, "rtt_ms": None if rtt is None else float(rtt)}
