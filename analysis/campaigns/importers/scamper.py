"""scamper: pings, traces and multipath traces as JSON become tables of samples and of paths.

A multipath trace becomes one path per flow; where a flow was not sent to a hop that had one
router only, that router stands in its path.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from analysis.campaigns.importers.imported_tables import Imported, imported, read_objects

Row = dict[str, Any]
Hop = dict[str, Any]
_ROUND_S = 900
# Hops of one path and flows of one trace that are taken in; IP knows no more hops.
_MAX_TTL, _MAX_FLOWS = 255, 4096
_SILENT = (None, "", "*")
# Lines that frame measurements, and hold none.
_FRAMES = ("cycle-start", "cycle-stop", "cycle-def")
# Replies of the target itself: to an echo of either family, and to a packet to a closed port.
_ECHO_REPLIES = ((0, 0), (129, 0))
_CLOSED_PORTS = ((3, 3), (1, 4))
# An IPv4 address as IPv6 writes it, as speed-test servers do.
_MAPPED = "::ffff:"
_ERRORS = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def read_scamper(paths: Iterable[Path], round_s: int = _ROUND_S) -> Imported:
    """Samples, paths and what could not be read; raises ``BadInput`` for a file without JSON."""
    rows: dict[str, list[Row]] = {"samples": [], "paths": []}
    reasons: Counter[str] = Counter()
    for path in paths:
        for told in read_objects(path, reasons):
            found = _measurement(told)
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
    return imported(rows["samples"], rows["paths"], reasons)


def _measurement(told: Any) -> Row:
    """The measurement of a line; where it stands with its frame in one object, what is in that."""
    if not isinstance(told, dict):
        return {"type": ""}
    if "type" in told:
        return told
    inner = [v for v in told.values() if isinstance(v, dict) and str(v.get("type")) in _READERS]
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
    """The first answer of the target to each packet; what others say of it is no round trip."""
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
    return {"ttl": ttl, "address": _address(address), "rtt_ms": None if rtt is None else float(rtt)}


def _address(told: Any) -> str | None:
    """An address as everybody writes it."""
    if told in _SILENT:
        return None
    text = str(told)
    return text[len(_MAPPED) :] if text.startswith(_MAPPED) and "." in text else text
