"""Import pings, traces and multipath traces of scamper (JSON) as samples and paths.

A multipath trace becomes one path per flow. A hop with a single router belongs to every flow, also
to those that did not probe it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from analysis.campaigns.importers.imported_tables import Imported, build_imported, read_objects

Row = dict[str, Any]
Hop = dict[str, Any]
_ROUND_S = 900
# Maximum TTL of a hop (8 bits in IP) and maximum flows of one trace that are imported.
_MAX_TTL, _MAX_FLOWS = 255, 4096
_SILENT = (None, "", "*")
# Record types without measurements.
_FRAMES = ("cycle-start", "cycle-stop", "cycle-def")
# (type, code) of ICMP and ICMPv6 replies of the target: echo reply, port unreachable.
_ECHO_REPLIES = ((0, 0), (129, 0))
_CLOSED_PORTS = ((3, 3), (1, 4))
# An IPv4-mapped IPv6 address (RFC 4291), as written by speed-test servers.
_MAPPED = "::ffff:"
_ERRORS = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def read_scamper(paths: Iterable[Path], round_s: int = _ROUND_S) -> Imported:
    """Read samples and paths; raise ``BadInput`` for a file without JSON."""
    rows: dict[str, list[Row]] = {"samples": [], "paths": []}
    reasons: Counter[str] = Counter()
    for path in paths:
        for line in read_objects(path, reasons):
            found = _measurement(line)
            kind = found.get("type")
            if kind is None or kind in _FRAMES:
                continue
            try:
                table, reader = _READERS[str(kind)]
            except KeyError:
                reasons["other_kind"] += 1
                continue
            try:
                rows[table] += reader(found, round_s)
            except _ERRORS:
                reasons["odd"] += 1
    return build_imported(rows["samples"], rows["paths"], reasons)


def _measurement(line: Any) -> Row:
    """Return the measurement of a line, also where it is nested in a wrapper object."""
    if not isinstance(line, dict):
        return {"type": ""}
    if "type" in line:
        return line
    inner = [v for v in line.values() if isinstance(v, dict) and str(v.get("type")) in _READERS]
    return inner[0] if inner else {}


def _trace(found: Row, round_s: int) -> list[Row]:
    return [_row(found, round_s, 0, list(_hops_of_trace(found)))]


def _tracelb(found: Row, round_s: int) -> list[Row]:
    flows = _hops_of_flows(found)
    return [_row(found, round_s, flow, hops) for flow, hops in flows.items()]


def _head(found: Row, round_s: int) -> Row:
    seconds = int(found["start"]["sec"])
    source, target = (str(_address(found[k])) for k in ("src", "dst"))
    return {
        "round": seconds // round_s,
        "vantage": source,
        "target": target,
        "at": seconds * 1_000_000 + int(found["start"].get("usec", 0)),
        "probe": f"{found['type']}-{found.get('method', '')}",
    }


def _row(found: Row, round_s: int, flow: int, hops: list[Hop]) -> Row:
    head = _head(found, round_s)
    reached = any(hop["address"] == head["target"] for hop in hops)
    return {
        **head,
        "status": "OK" if reached else "TIMEOUT",
        "source": head["vantage"],
        "destination": head["target"],
        "flow": flow,
        "reached": reached,
        "hops": hops,
    }


def _ping(found: Row, round_s: int) -> list[Row]:
    """Return the first reply of the target per packet; ICMP errors are not replies."""
    head = _head(found, round_s)
    first: dict[Any, float] = {}
    refused = False
    for reply in found.get("responses") or found.get("replies") or ():
        if _is_answer(reply, str(found.get("method", "")), head["target"]):
            first.setdefault(reply.get("seq"), float(reply["rtt"]))
        else:
            refused = True
    sent = max(int(found.get("ping_sent", 0)), len(first))
    status = "OK" if first else "UNREACHABLE" if refused else "TIMEOUT"
    return [{**head, "status": status, "sent": sent, "values": list(first.values())}]


def _is_answer(reply: Row, method: str, target: str) -> bool:
    kind = reply.get("icmp_type"), reply.get("icmp_code")
    if reply.get("rtt") is None:
        return False
    if kind[0] is None:
        return True
    wanted = _ECHO_REPLIES if method.startswith("icmp") else _CLOSED_PORTS
    return kind in wanted and (method.startswith("icmp") or _address(reply["from"]) == target)


_READERS = {
    "trace": ("paths", _trace),
    "tracelb": ("paths", _tracelb),
    "ping": ("samples", _ping),
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
    """Return the hops of each flow."""
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
    """Yield all replies of a multipath trace with their flow; None for the source of a link."""
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
    """Return the TTL of a router: one less than that of the probes on its outgoing links."""
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
    return {"ttl": ttl, "address": _address(address), "rtt_ms": None if rtt is None else float(rtt)}


def _address(value: Any) -> str | None:
    """Return an address without IPv4-mapped prefix; None for a missing reply."""
    if value in _SILENT:
        return None
    text = str(value)
    return text[len(_MAPPED) :] if text.startswith(_MAPPED) and "." in text else text
