"""Client of the Globalping API v1: request a measurement and convert results to probe records.

A test costs one credit beyond the free ones of the hour. A measurement that failed is a result
with its reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from core.clock import Clock, SystemClock
from core.errors import BadInput
from probes.networks.failed_results import failed_result
from probes.networks.web_client import Api, MalformedAnswer, is_address
from probes.records import ProbeStatus

URL = "https://api.globalping.io"
NETWORK = "globalping"
# The network's own guidelines: not more often than twice a second.
POLL_S = 1.0
TYPES = {"icmp-echo": "ping", "tcp-ping": "ping", "traceroute": "traceroute", "http": "http"}
_MOST_PACKETS = 16
# As many as the product's own pings send where a schedule gives no number.
DEFAULT_PACKETS = 5
# Words of a failed test's own text, and what they mean here.
_HINTS = (
    ("not allowed", ProbeStatus.FORBIDDEN),
    ("private ip", ProbeStatus.FORBIDDEN),
    ("enotfound", ProbeStatus.NO_NAME),
    ("not known", ProbeStatus.NO_NAME),
    ("no address", ProbeStatus.NO_NAME),
    ("timed out", ProbeStatus.TIMEOUT),
    ("timeout", ProbeStatus.TIMEOUT),
    ("refused", ProbeStatus.REFUSED),
    ("unreachable", ProbeStatus.UNREACHABLE),
    ("certificate", ProbeStatus.TLS),
)
Row = dict[str, Any]
failure = partial(failed_result, NETWORK)


@dataclass(frozen=True, slots=True)
class Limits:
    """Tests that may be created now: of the free ones of the hour, and by credits."""

    free: int
    free_limit: int
    reset_s: int
    credits: int | None


def client(token: str = "", url: str = URL, clock: Clock | None = None) -> Api:
    """The API; without a token, with the limits of an address."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return Api(url, headers, clock or SystemClock())


def limits(api: Api) -> Limits:
    """What may be spent now; raises as ``Api.get``."""
    document = api.get("/v1/limits").document
    try:
        create = document["rateLimit"]["measurements"]["create"]
        credit = (document.get("credits") or {}).get("remaining")
        return Limits(
            int(create["remaining"]), int(create["limit"]), int(create.get("reset") or 0), credit
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise MalformedAnswer("Globalping’s limits cannot be read") from None


def places(api: Api) -> list[Row]:
    """Where probes stand now, by city and network, with how many; raises as ``Api.get``."""
    document = api.get("/v1/probes").document
    found: dict[tuple[str, str, int], Row] = {}
    for entry in document if isinstance(document, list) else ():
        place = entry.get("location") if isinstance(entry, dict) else None
        if not isinstance(place, dict) or not place.get("country"):
            continue
        key = (str(place["country"]), str(place.get("city") or ""), int(place.get("asn") or 0))
        row = found.setdefault(key, {**_place(place), "probes": 0})
        row["probes"] += 1
    return sorted(found.values(), key=lambda r: (-r["probes"], r["country"], r["city"], r["asn"]))


def _place(place: Mapping[str, Any]) -> Row:
    texts = {k: str(place.get(k) or "") for k in ("continent", "country", "city", "network")}
    return {
        **texts,
        "asn": int(place.get("asn") or 0),
        "lat": place.get("latitude"),
        "lon": place.get("longitude"),
    }


def request_for(
    probe: str, target: Mapping[str, Any], options: Mapping[str, Any], place: Mapping[str, Any]
) -> Row:
    """The body that creates a test of one probe at a place; raises ``BadInput``.

    ``place`` has country, city and asn, as far as they are to be the same.
    """
    kind = TYPES.get(probe)
    if kind is None:
        raise BadInput(f"Globalping has no {probe}; it has {', '.join(TYPES)}", field="probe")
    where = {k: place[k] for k in ("country", "city", "asn", "magic") if place.get(k)}
    return {
        "type": kind,
        "target": target["host"],
        "locations": [{**where, "limit": 1}],
        "measurementOptions": _options(probe, target, options),
    }


def _options(probe: str, target: Mapping[str, Any], options: Mapping[str, Any]) -> Row:
    # The family of an address is implied, and must not be given.
    is_open = target.get("family") in (4, 6) and not is_address(str(target["host"]))
    version = {"ipVersion": target["family"]} if is_open else {}
    packets = {"packets": min(_MOST_PACKETS, max(1, int(options.get("count", DEFAULT_PACKETS))))}
    port = int(target.get("port") or 0)
    if probe == "icmp-echo":
        return {**packets, **version}
    if probe == "tcp-ping":
        return {**packets, "protocol": "TCP", "port": port or 80, **version}
    if probe == "traceroute":
        protocol = str(options.get("protocol", "udp")).upper()
        return {
            "protocol": protocol,
            **({"port": port or 80} if protocol == "TCP" else {}),
            **version,
        }
    return {**_request(target, bool(options.get("tls")), port), **version}


def _request(target: Mapping[str, Any], tls: bool, port: int) -> Row:
    path, _, query = str(target.get("path") or "/").partition("?")
    wanted = {"path": path, "method": "GET", **({"query": query} if query else {})}
    own = port or (443 if tls else 80)
    return {"request": wanted, "protocol": "HTTPS" if tls else "HTTP", "port": own}


def create(api: Api, body: Mapping[str, Any]) -> str:
    """Create a test and give its name; raises as ``Api.post``."""
    document = api.post("/v1/measurements", body).document
    name = document.get("id") if isinstance(document, dict) else None
    if not isinstance(name, str) or not name.isalnum():
        raise MalformedAnswer("Globalping did not name the measurement")
    return name


def cancel(api: Api, name: str) -> None:
    """Nothing: a test takes seconds, and the network ends none."""


def fetch(api: Api, name: str, etag: str = "") -> tuple[Row | None, str]:
    """The measurement as it is now, or ``None`` when it is as before; raises as ``Api.get``."""
    answer = api.get(f"/v1/measurements/{name}", etag)
    if answer.document is not None and not isinstance(answer.document, dict):
        raise MalformedAnswer("Globalping’s measurement cannot be read")
    return answer.document, answer.etag or etag


def is_done(measurement: Mapping[str, Any]) -> bool:
    """Whether it will not change any more."""
    return measurement.get("status") != "in-progress"


def results(measurement: Mapping[str, Any], probe: str, host: str) -> Iterator[Row]:
    """One result per probe, in the product's form; what cannot be read is marked so."""
    at = _moment(measurement)
    results = measurement.get("results")
    for entry in results if isinstance(results, list) else ():
        head = {"probe": probe, "version": 1, "at": at, "target": {"host": host}}
        try:
            yield {**head, "method": NETWORK, **_result(probe, entry["result"], measurement)}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            yield failure(head, ProbeStatus.MALFORMED, "Globalping’s result cannot be read")


def _moment(measurement: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(measurement["createdAt"])).timestamp()
    except (KeyError, ValueError):
        return 0.0


def _result(probe: str, result: Mapping[str, Any], measurement: Mapping[str, Any]) -> Row:
    state = str(result["status"])
    address = str(result.get("resolvedAddress") or "")
    if state == "in-progress":
        return failure({}, ProbeStatus.TIMEOUT, "no result in time")
    if state == "offline":
        return failure({}, ProbeStatus.NETWORK, "the probe went offline")
    if state != "finished":
        return _failed(result, address)
    if probe == "traceroute":
        return {"address": address, **_trace(result, address)}
    return {"address": address, **_times(probe, result, measurement)}


def _failed(result: Mapping[str, Any], address: str) -> Row:
    text = " ".join(str(result.get("rawOutput") or "the test failed").split())
    status = _status_of(text)
    if status == ProbeStatus.NETWORK and result.get("failureSource") == "target":
        status = ProbeStatus.UNREACHABLE
    return failure({"address": address}, status, text)


def _status_of(text: str) -> ProbeStatus:
    low = text.lower()
    return next((status for word, status in _HINTS if word in low), ProbeStatus.NETWORK)


def _times(probe: str, result: Mapping[str, Any], measurement: Mapping[str, Any]) -> Row:
    if probe == "http":
        total = result["timings"].get("total")
        values, sent = ([] if total is None else [float(total)]), 1
    else:
        timings = result.get("timings") or []
        values = [float(t["rtt"]) for t in timings if t.get("rtt") is not None]
        asked = (measurement.get("measurementOptions") or {}).get("packets") or 0
        stats = result.get("stats") or {}
        sent = max(int(stats.get("total") or 0), len(values), int(asked))
    status = ProbeStatus.OK if values else ProbeStatus.TIMEOUT
    return {"status": str(status), "reason": "", "sent": sent, "values": values}


def _trace(result: Mapping[str, Any], address: str) -> Row:
    replies = [
        reply for ttl, hop in enumerate(result["hops"], 1) for reply in _replies(ttl, hop, address)
    ]
    reached = any(r["kind"] == "target" for r in replies)
    status = ProbeStatus.OK if reached else ProbeStatus.TIMEOUT
    return {
        "status": str(status),
        "reason": "",
        "sent": len(replies),
        "values": [],
        "source": "",
        "replies": replies,
    }


def _replies(ttl: int, hop: Mapping[str, Any], target: str) -> Iterator[Row]:
    address = hop.get("resolvedAddress") or None
    kind = "silent" if address is None else "target" if address == target else "hop"
    times = [t.get("rtt") for t in hop.get("timings") or ()] or [None]
    for rtt in times:
        yield {"ttl": ttl, "flow": 0, "address": address, "rtt_ms": rtt, "kind": kind}
