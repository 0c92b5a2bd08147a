"""Globalping: measurements as its API gives them become tables of samples and paths."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from core.errors import BadInput
from lake.measurements import table_of

Row = dict[str, Any]
_ROUND_S = 900
_STATUS = {"failed": "NETWORK", "offline": "NOT_PERMITTED", "in-progress": "TIMEOUT"}


class Imported(NamedTuple):
    """Samples of pings and page loads, paths of traceroutes, and what could not be read."""

    samples: pa.Table
    paths: pa.Table
    malformed: int


def read_globalping(paths: Iterable[Path], round_s: int = _ROUND_S) -> Imported:
    """Files of one measurement or a list of them; raises ``BadInput`` for what is no JSON."""
    found: list[Mapping[str, Any]] = []
    for path in paths:
        try:
            loaded = json.loads(path.read_bytes())
        except ValueError as error:
            raise BadInput(f"{path.name} is no JSON: {error}") from error
        found += loaded if isinstance(loaded, list) else [loaded]
    return convert(found, round_s)


def convert(measurements: Iterable[Mapping[str, Any]], round_s: int = _ROUND_S) -> Imported:
    """Measurements as the API's own objects; a probe that failed is a row with its reason."""
    samples: list[Row] = []
    paths: list[Row] = []
    malformed = 0
    for measurement in measurements:
        try:
            head = _head(measurement, round_s)
            results = list(measurement["results"])
        except (KeyError, TypeError, ValueError):
            malformed += 1
            continue
        for number, result in enumerate(results):
            try:
                row = {**head, **_result(measurement["type"], result, number)}
            except (KeyError, TypeError, ValueError, AttributeError):
                malformed += 1
                continue
            (paths if "hops" in row else samples).append(row)
    return Imported(table_of("samples", samples), table_of("paths", paths), malformed)


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
    """Probes have no name of their own: place and network, and the position of equals."""
    place = "/".join(str(probe.get(k) or "?") for k in ("country", "city", "asn"))
    return f"globalping-{place}/{number}"


def _sample(kind: str, result: Mapping[str, Any], status: str) -> Row:
    timings = result.get("timings") or []
    if isinstance(timings, Mapping):
        # Page loads and name queries: one exchange, whose steps are kept beside.
        total = timings.get("total")
        values = [] if total is None else [float(total)]
        detail = json.dumps(dict(timings), sort_keys=True)
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


def _path(result: Mapping[str, Any]) -> Row:
    destination = str(result.get("resolvedAddress") or "")
    hops = [
        hop for ttl, entry in enumerate(result.get("hops") or (), 1) for hop in _hops(ttl, entry)
    ]
    reached = any(hop["address"] == destination for hop in hops) and destination != ""
    return {"destination": destination, "hops": hops, "reached": reached}


def _hops(ttl: int, entry: Mapping[str, Any]) -> list[Row]:
    address = entry.get("resolvedAddress") or None
    rtts = [t.get("rtt") for t in entry.get("timings") or ()] or [None]
    return [{"ttl": ttl, "address": address, "rtt_ms": rtt} for rtt in rtts]
