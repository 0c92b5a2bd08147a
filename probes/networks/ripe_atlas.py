"""Client of the RIPE Atlas API v2: request a measurement and convert results to probe records.

Every result costs credits of the account of the API key; a one-off costs twice as much.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.clock import Clock, SystemClock
from core.errors import BadInput
from probes.networks.failed_results import LONGEST_REASON, failed_result
from probes.networks.web_client import Api, MalformedAnswer, address_family
from probes.records import ProbeStatus

URL = "https://atlas.ripe.net"
NETWORK = "atlas"
# One-offs take a minute or more until probes have received them.
POLL_S = 15.0
TYPES = {"icmp-echo": "ping", "traceroute": "traceroute"}
# States of a measurement from which no more results come, with what they mean.
_ENDED = {
    4: "",
    5: "it was stopped by force",
    6: "no suitable probe",
    7: "the network could not do it",
    8: "",
    10: "it was denied",
}
# A larger payload is refused.
_MOST_OCTETS = 2_048
Row = dict[str, Any]
failure = partial(failed_result, NETWORK)


@dataclass(frozen=True, slots=True)
class Balance:
    """Credits of the key's account."""

    credits: int
    spent_a_day: int


def client(key: str, url: str = URL, clock: Clock | None = None) -> Api:
    """The API; without a key only what is public can be read."""
    headers = {"Authorization": f"Key {key}"} if key else {}
    return Api(url, headers, clock or SystemClock())


def balance(api: Api) -> Balance:
    """What may be spent; raises as ``Api.get``."""
    document = api.get("/api/v2/credits/").document
    try:
        spent = document.get("estimated_daily_expenditure") or 0
        return Balance(int(document["current_balance"]), int(spent))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise MalformedAnswer("RIPE Atlas’ balance cannot be read") from None


def credits_for(probe: str, options: Mapping[str, Any]) -> int:
    """Credits of one one-off result: packets for a ping, ten times as many for a traceroute."""
    packets = _packets(probe, options)
    large = _size(options) // 1500 + 1
    return 2 * packets * large * (10 if probe == "traceroute" else 1)


def _packets(probe: str, options: Mapping[str, Any]) -> int:
    """Packets of a ping, or of each hop; defaults are those of the product's probes."""
    usual = 3 if probe == "traceroute" else 5
    wanted = options.get("attempts" if probe == "traceroute" else "count", usual)
    return min(16, max(1, int(wanted)))


def places(api: Api, country: str = "", limit: int = 100, asn: int = 0) -> list[Row]:
    """Probes that are connected now, with where they stand; raises as ``Api.get``."""
    fields = "id,asn_v4,country_code,geometry,is_anchor"
    query = f"/api/v2/probes/?status=1&fields={fields}&page_size={min(max(limit, 1), 500)}"
    query += f"&country_code={country.upper()}" if country else ""
    document = api.get(query + (f"&asn_v4={asn}" if asn else "")).document
    rows = document.get("results") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise MalformedAnswer("RIPE Atlas’ probes cannot be read")
    return [_place(r) for r in rows if isinstance(r, dict) and isinstance(r.get("id"), int)]


def _place(row: Mapping[str, Any]) -> Row:
    where = (row.get("geometry") or {}).get("coordinates") or (None, None)
    return {
        "probe": row["id"],
        "country": str(row.get("country_code") or ""),
        "asn": int(row.get("asn_v4") or 0),
        "lat": where[1],
        "lon": where[0],
    }


def request_for(
    probe: str, target: Mapping[str, Any], options: Mapping[str, Any], place: Mapping[str, Any]
) -> Row:
    """The body that creates a one-off of one probe (``place['probe']``); raises ``BadInput``."""
    kind = TYPES.get(probe)
    if kind is None:
        raise BadInput(f"RIPE Atlas has no {probe}; it has {', '.join(TYPES)}", field="probe")
    if not place.get("probe"):
        raise BadInput("a vantage point of RIPE Atlas needs the number of its probe", field="probe")
    return {
        "definitions": [{**_definition(target), "type": kind, **_details(kind, options, target)}],
        "probes": [{"requested": 1, "type": "probes", "value": str(place["probe"])}],
        "is_oneoff": True,
    }


def _definition(target: Mapping[str, Any]) -> Row:
    """What all kinds have; a name is looked up where it is measured, as our own probes do."""
    own = address_family(str(target["host"]))
    family = own or (6 if target.get("family") == 6 else 4)
    return {
        "target": target["host"],
        "af": family,
        "description": "Nephoscope",
        **({} if own else {"resolve_on_probe": True}),
    }


def _details(kind: str, options: Mapping[str, Any], target: Mapping[str, Any]) -> Row:
    packets = {"packets": _packets("traceroute" if kind == "traceroute" else "", options)}
    if kind == "ping":
        return {**packets, **({"size": _size(options)} if "size" in options else {})}
    protocol = str(options.get("protocol", "udp")).upper()
    port = {"port": int(target.get("port") or 80)} if protocol == "TCP" else {}
    hops = {"max_hops": int(options["max_ttl"])} if "max_ttl" in options else {}
    return {**packets, **port, **hops, "protocol": protocol, "paris": 16}


def _size(options: Mapping[str, Any]) -> int:
    return min(_MOST_OCTETS, max(1, int(options.get("size", 48))))


def create(api: Api, body: Mapping[str, Any]) -> str:
    """Create a measurement and give its number; raises as ``Api.post``."""
    document = api.post("/api/v2/measurements/", body).document
    found = document.get("measurements") if isinstance(document, dict) else None
    if not isinstance(found, list) or not found or not isinstance(found[0], int):
        raise MalformedAnswer("RIPE Atlas did not number the measurement")
    return str(found[0])


def cancel(api: Api, name: str) -> None:
    """Stop a measurement, so that it costs nothing more; raises as ``Api.get``."""
    api.delete(f"/api/v2/measurements/{name}/")


def fetch(api: Api, name: str, etag: str = "") -> tuple[Row | None, str]:
    """State and results as they are now, ``None`` when they are as before; raises as ``get``."""
    answer = api.get(f"/api/v2/measurements/{name}/results/?format=json", etag)
    if answer.document is None:
        return None, answer.etag or etag
    if not isinstance(answer.document, list):
        raise MalformedAnswer("RIPE Atlas’ results cannot be read")
    document: Row = {"results": answer.document, "state": None}
    if not answer.document:
        # Nothing yet: only then it is worth asking whether anything will come.
        about = api.get(f"/api/v2/measurements/{name}/?fields=status").document
        state = about.get("status") if isinstance(about, dict) else None
        document["state"] = state.get("id") if isinstance(state, dict) else None
    return document, answer.etag


def is_done(measurement: Mapping[str, Any]) -> bool:
    """Whether a one-off of one probe will not change any more."""
    return bool(measurement["results"]) or measurement.get("state") in _ENDED


def results(measurement: Mapping[str, Any], probe: str, host: str) -> Iterator[Row]:
    """One result per probe, in the product's form; what cannot be read is marked so."""
    if not measurement["results"]:
        why = _ENDED.get(measurement.get("state") or -1)
        if why is not None:
            head = {"probe": probe, "version": 1, "at": 0.0, "target": {"host": host}}
            reason = why or "the probe gave no result"
            yield failure(head, ProbeStatus.NETWORK, reason)
    for entry in measurement["results"]:
        head = {"probe": probe, "version": 1, "at": 0.0, "target": {"host": host}}
        try:
            head["at"] = float(entry["timestamp"])
            yield {**head, "method": NETWORK, **_result(probe, entry)}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            yield failure(head, ProbeStatus.MALFORMED, "RIPE Atlas’ result cannot be read")


def _result(probe: str, entry: Mapping[str, Any]) -> Row:
    address = str(entry.get("dst_addr") or "")
    if not address:
        reason = entry.get("error") or "; ".join(_errors(entry["result"]))
        return failure({}, ProbeStatus.NO_NAME, str(reason or "the name has no address"))
    if probe == "traceroute":
        return {"address": address, **_trace(entry, address)}
    packets = [p for p in entry["result"] if not _is_second(p)]
    values = [float(p["rtt"]) for p in packets if p.get("rtt") is not None]
    sent = max(int(entry.get("sent") or 0), len(packets))
    errors = _errors(packets)
    status = ProbeStatus.OK if values else ProbeStatus.TIMEOUT
    if errors and not values:
        status = ProbeStatus.UNREACHABLE
    reason = "; ".join(errors)[:LONGEST_REASON]
    return {
        "address": address,
        "status": str(status),
        "reason": reason,
        "sent": sent,
        "values": values,
    }


def _is_second(packet: Mapping[str, Any]) -> bool:
    """Whether it answers a packet that was answered already; it adds no value then."""
    repeats = packet.get("dup")
    return repeats is True or (type(repeats) is int and repeats != 0)


def _errors(packets: Any) -> list[str]:
    """Errors that the probe itself reports."""
    errors = (p.get("error") for p in packets if isinstance(p, Mapping))
    return list(dict.fromkeys(str(e) for e in errors if e))


def _trace(entry: Mapping[str, Any], address: str) -> Row:
    errors = _errors(entry["result"])
    replies = [
        r
        for hop in entry["result"]
        if "hop" in hop
        for r in _replies(hop, int(entry.get("paris_id") or 0), address)
    ]
    reached = any(r["kind"] == "target" for r in replies)
    status = ProbeStatus.OK if reached else ProbeStatus.TIMEOUT
    if errors and not any(r["address"] for r in replies):
        status = ProbeStatus.UNREACHABLE
    return {
        "status": str(status),
        "reason": "; ".join(errors)[:LONGEST_REASON],
        "sent": len(replies),
        "values": [],
        "replies": replies,
        "source": str(entry.get("src_addr") or entry.get("from") or ""),
    }


def _replies(hop: Mapping[str, Any], flow: int, target: str) -> Iterator[Row]:
    packets: list[Row] = hop.get("result") or [{}]
    for packet in packets:
        if "late" in packet or _is_second(packet):
            continue
        address = packet.get("from")
        kind = "silent" if address is None else "target" if address == target else "hop"
        yield {
            "ttl": int(hop["hop"]),
            "flow": flow,
            "address": address,
            "rtt_ms": packet.get("rtt"),
            "kind": kind,
        }
