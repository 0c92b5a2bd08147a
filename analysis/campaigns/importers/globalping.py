"""Import measurements of the Globalping API as tables of samples and paths."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from analysis.campaigns.importers.imported_tables import Imported, build_imported, read_objects

Row = dict[str, Any]
_ERRORS = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
_ROUND_S = 900
# Packets per hop that are imported; the network sends no more.
_MAX_PACKETS = 16
_STATUS = {"failed": "NETWORK", "offline": "NOT_PERMITTED", "in-progress": "TIMEOUT"}


def read_globalping(paths: Iterable[Path], round_s: int = _ROUND_S) -> Imported:
    """Read files of measurements, one per line or in a list; raise ``BadInput`` if not JSON."""
    reasons: Counter[str] = Counter()
    found = (item for path in paths for item in read_objects(path, reasons))
    return convert(found, round_s, reasons)


def convert(
    measurements: Iterable[Any], round_s: int = _ROUND_S, reasons: Counter[str] | None = None
) -> Imported:
    """Convert measurements as decoded from the API; a failed probe is a row with its reason."""
    samples: list[Row] = []
    paths: list[Row] = []
    places: dict[str, Row] = {}
    lost = Counter[str]() if reasons is None else reasons
    for measurement in measurements:
        try:
            head = _head(measurement, round_s)
            results = list(measurement["results"])
        except _ERRORS:
            lost["odd"] += 1
            continue
        for number, result in enumerate(results):
            try:
                row = {**head, **_result(measurement["type"], result, number)}
            except _ERRORS:
                lost["odd"] += 1
                continue
            (paths if "hops" in row else samples).append(row)
            places.setdefault(row["vantage"], _place(result["probe"]))
    return build_imported(samples, paths, lost)._replace(places=places)


def _head(measurement: Mapping[str, Any], round_s: int) -> Row:
    at = datetime.fromisoformat(str(measurement["createdAt"]))
    return {
        "round": int(at.timestamp()) // round_s,
        "target": str(measurement["target"]),
        "probe": f"globalping-{measurement['type']}",
        "at": at,
    }


def _result(kind: str, entry: Mapping[str, Any], number: int) -> Row:
    result = entry["result"]
    status = _STATUS.get(str(result["status"]), "OK")
    head = {"vantage": _vantage(entry["probe"], number), "status": status}
    if kind in ("traceroute", "mtr"):
        return head | _path(result)
    return head | _sample(kind, result, status)


def _vantage(probe: Mapping[str, Any], number: int) -> str:
    """Return a name of a probe: location, network, and its number within the measurement."""
    place = "/".join(str(probe.get(k) or "?") for k in ("country", "city", "asn"))
    return f"globalping-{place}/{number}"


def _place(probe: Mapping[str, Any]) -> Row:
    """Return the location and network of a probe, without impossible coordinates."""
    lat, lon = (_degrees(probe.get(k), most) for k, most in (("latitude", 90), ("longitude", 180)))
    texts = {k: str(probe.get(k) or "")[:80] for k in ("city", "country", "continent")}
    known = {"lat": lat, "lon": lon} if lat is not None and lon is not None else {}
    asn = probe.get("asn")
    network = str(probe.get("network") or "")[:120]
    return {**texts, **known, "provider": network, "asn": asn if isinstance(asn, int) else None}


def _degrees(value: Any, most: float) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and -most <= value <= most else None


def _sample(kind: str, result: Mapping[str, Any], status: str) -> Row:
    timings = result.get("timings") or []
    if isinstance(timings, Mapping) or "hops" in result:
        # HTTP and DNS measurements: one exchange, with its phases in ``detail``.
        values, detail = _exchange(timings, result.get("hops") or ())
        sent = 1
    else:
        values = [float(t["rtt"]) for t in timings if t.get("rtt") is not None]
        sent = max(int((result.get("stats") or {}).get("total") or 0), len(timings))
        detail = ""
    lost = status == "OK" and not values
    reason = str(result.get("rawOutput", ""))[:200] if status != "OK" else ""
    return {
        "status": "TIMEOUT" if lost else status,
        "sent": sent,
        "values": values,
        "detail": detail,
        "reason": reason,
    }


def _exchange(timings: Any, steps: Iterable[Mapping[str, Any]]) -> tuple[list[float], str]:
    """Return total time and phases as JSON; an iterative DNS resolution is the sum of its steps."""
    if isinstance(timings, Mapping) and timings:
        total, parts = timings.get("total"), dict(timings)
    else:
        each = {str(n): float(s["timings"]["total"]) for n, s in enumerate(steps, 1)}
        total, parts = (sum(each.values()) if each else None), each
    return [] if total is None else [float(total)], json.dumps(parts, sort_keys=True)


def _path(result: Mapping[str, Any]) -> Row:
    destination = str(result.get("resolvedAddress") or "")
    hops = [
        hop for ttl, entry in enumerate(result.get("hops") or (), 1) for hop in _hops(ttl, entry)
    ]
    reached = any(hop["address"] == destination for hop in hops) and destination != ""
    return {"destination": destination, "hops": hops, "reached": reached}


def _hops(ttl: int, entry: Mapping[str, Any]) -> list[Row]:
    """Return one row per packet; only the number of unanswered packets is known."""
    address = entry.get("resolvedAddress") or None
    rtts = [t.get("rtt") for t in entry.get("timings") or ()]
    sent = min(int((entry.get("stats") or {}).get("total") or 0), _MAX_PACKETS)
    unanswered = [None] * max(sent - len(rtts), 0 if rtts else 1)
    answered = [{"ttl": ttl, "address": address, "rtt_ms": rtt} for rtt in rtts]
    # A reply without a round-trip time, as traceroute prints at times, is still a reply.
    silent = address if not rtts and not sent else None
    return answered + [{"ttl": ttl, "address": silent, "rtt_ms": rtt} for rtt in unanswered]
